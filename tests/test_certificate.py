"""The certificate is a proof: its bounds hold at any w and any feasible duals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import reference
from tests.common.toys import separable, toy

import pegasos
from pegasos import _core
from pegasos.certificate import GapSums, certificate, certify
from pegasos.losses import named
from pegasos.problem import make_problem

MODES = ["none", "regularized", "free"]


def problem_of(seed, mode, *, C=1.0, scale=1.0, lanes=1, n=25):
    data = toy(n, 4, lanes, seed=seed, absent=0.2 if lanes > 1 else 0.0)
    return make_problem(
        data.X * scale, data.Y, C=C, intercept=mode, intercept_scaling=0.5,
        sample_weight=data.weight, positive=1.5,
    ), data.X * scale  # fmt: skip


def augmented(X, mode):
    return np.hstack([X, np.full((len(X), 1), 0.5)]) if mode == "regularized" else X


def reference_optimum(problem, X, mode, k=0):
    """Duals, penalised w, b and the value of the optimum of lane k."""
    A = augmented(X, mode)
    y, c, s = problem.labels[:, k], problem.costs()[:, k], problem.s[k]
    a, b = reference.optimum(A, y, c, s, free=mode == "free")
    w = (a * y) @ A / s
    b = b if mode == "free" else 0.0
    return a, w, b, reference.primal(A, y, c, s, problem.total_weight[k], w, b)


def padded(problem, w, mode):
    W = np.zeros(problem.weights_shape)
    W[: len(w), 0] = w
    return W


@given(
    seed=st.integers(0, 10_000),
    mode=st.sampled_from(MODES),
    C=st.sampled_from([1e-6, 1e-2, 1.0, 1e3, 1e8]),
    scale=st.sampled_from([1e-8, 1.0, 1e6]),
    share=st.floats(0, 1),
    wild=st.sampled_from([0.0, 1e-3, 1.0, 1e5]),
)
def test_gap_is_never_negative_beyond_its_rounding_bound(seed, mode, C, scale, share, wild):
    problem, X = problem_of(seed, mode, C=C, scale=scale)
    rng = np.random.default_rng(seed)
    W = np.zeros(problem.weights_shape)
    rows = X.shape[1] + (mode == "regularized")
    W[:rows] = wild * rng.standard_normal((rows, 1))
    a = problem.costs() * np.where(rng.uniform(size=(25, 1)) < share, 1, rng.uniform(size=(25, 1)))
    proof, _ = certify(problem, W, 0.5 * W[-1], lambda lo, hi: a[lo:hi])
    assert proof.gap[0] >= -proof.rounding[0]
    assert proof.dual[0] >= 0


@given(
    seed=st.integers(0, 10_000),
    mode=st.sampled_from(MODES),
    C=st.sampled_from([0.01, 1.0, 30.0]),
)
def test_bounds_bracket_the_optimum_and_meet_there(seed, mode, C):
    problem, X = problem_of(seed, mode, C=C)
    a, w, _, best = reference_optimum(problem, X, mode)
    W = padded(problem, w, mode)
    proof, _ = certify(problem, W, 0.5 * W[-1], lambda lo, hi: np.clip(
        a[lo:hi, None], 0, problem.costs(lo, hi)
    ))  # fmt: skip
    assert proof.primal[0] == pytest.approx(best, rel=1e-6)
    assert proof.dual[0] == pytest.approx(best, rel=1e-6)
    # At any other point the two sides stay on their sides.
    rng = np.random.default_rng(seed)
    far = W.copy()
    far[: len(w), 0] += 0.3 * rng.standard_normal(len(w))
    duals = problem.costs() * rng.uniform(size=(25, 1))
    proof, _ = certify(problem, far, 0.5 * far[-1], lambda lo, hi: duals[lo:hi])
    assert proof.dual[0] <= best * (1 + 1e-9)
    assert proof.primal[0] >= best * (1 - 1e-9)


def exact_bounds(problem, w, a):
    """P(w) and max over theta of D(theta a) in rational arithmetic, from the same float64 data."""
    X = [[Fraction(v) for v in row] for row in problem_rows(problem)]
    y = problem.labels[:, 0].tolist()
    c = [Fraction(v) for v in problem.costs()[:, 0]]
    s, N = Fraction(problem.s[0]), Fraction(problem.total_weight[0])
    w, a = [Fraction(v) for v in w], [Fraction(v) for v in a]
    losses = (
        ci * max(Fraction(0), 1 - yi * sum(p * q for p, q in zip(w, row, strict=True)))
        for row, yi, ci in zip(X, y, c, strict=True)
    )
    primal = (s / 2 * sum(v * v for v in w) + sum(losses)) / N
    u = [sum(ai * yi * row[j] for row, yi, ai in zip(X, y, a, strict=True)) for j in range(len(w))]
    u2, total = sum(v * v for v in u), sum(a)
    theta = min(Fraction(1), s * total / u2) if u2 else Fraction(1)
    return primal, (theta * total - theta**2 * u2 / (2 * s)) / N


def problem_rows(problem):
    return np.random.default_rng(99).standard_normal((problem.n, problem.rows.d)).tolist()


@pytest.mark.parametrize("weight", [1e-165, 1e-30, 1.0, 1e100])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e6])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_rounding_bounds_the_error_against_exact_arithmetic(weight, C, size):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(12) % 2, 1, -1).astype(np.int8)[:, None]
    X = np.random.default_rng(99).standard_normal((12, 3))
    problem = make_problem(X, y, C=C / weight, intercept="none", sample_weight=np.full(12, weight))
    w = size * rng.standard_normal(3)
    a = problem.costs()[:, 0] * rng.uniform(size=12)
    W = np.zeros(problem.weights_shape)
    W[:3, 0] = w
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: a[lo:hi, None])
    primal, dual = exact_bounds(problem, w, a)
    error = abs(Fraction(proof.primal[0]) - primal) + abs(Fraction(proof.dual[0]) - dual)
    assert error <= Fraction(proof.rounding[0])
    assert proof.rounding[0] <= 1e-10 * proof.primal[0]


@pytest.mark.parametrize("far", [0.5, 1e10])
def test_rounding_counts_the_rows_that_may_lose(far):
    # Row 0 loses; the others are far from it, unless rounding may move them as far as that.
    X = np.array([[0.5], *[[1.0 + far + k / 7] for k in range(200)]])
    y = np.where(np.arange(201) % 2, -1, 1).astype(np.int8)
    X *= y[:, None]
    problem = make_problem(X, y[:, None], C=1e8, intercept="none")
    W = np.zeros(problem.weights_shape)
    W[0, 0] = 1.0 + 1 / 3
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: np.zeros((hi - lo, 1)))
    primal = (Fraction(problem.s[0]) / 2 * Fraction(W[0, 0]) ** 2
              + problem.cost[0] / 201 * (1 - Fraction(W[0, 0]) / 2)) / 201  # fmt: skip
    assert abs(Fraction(proof.primal[0]) - primal) <= Fraction(proof.rounding[0])
    all_rows = 2.0**-53 * 4 * 4 / 3 * np.abs(X).mean()
    assert (proof.rounding[0] >= all_rows) == (far == 1e10)


def test_one_large_row_does_not_count_for_all():
    # Its norm lets rounding move any row so far that all are counted, but by norms of their own.
    X = np.vstack([np.full((999, 1), 2.0), [[-2.0], [1e10]]])
    y = np.sign(X).astype(np.int8)
    problem = make_problem(X, y, C=1.0, intercept="none")
    W = np.zeros(problem.weights_shape)
    W[0, 0] = 1.0
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: np.zeros((hi - lo, 1)))
    terms = 4 * 2.0**-53 * np.abs(X).sum() / 1001  # of products of one value
    assert terms <= proof.rounding[0] <= 2 * terms


@pytest.mark.parametrize("mode", MODES)
def test_separable_rows_are_proven_at_a_large_c(mode):
    X, y = separable(2000, 40)
    result = pegasos.solve(X, y, C=1e4, intercept=mode, tol=1e-6, seed=0)
    assert result.stop_reason == "converged"
    assert result.certificate.rounding <= 1e-7 * result.certificate.dual


@pytest.mark.parametrize("mode", MODES)
def test_certificate_equals_the_formulas(mode):
    problem, X = problem_of(3, mode)
    A = augmented(X, mode)
    rng = np.random.default_rng(1)
    w = rng.standard_normal(A.shape[1])
    y, c, s, N = problem.labels[:, 0], problem.costs()[:, 0], problem.s[0], problem.total_weight[0]
    a = c * rng.uniform(size=25)
    W = padded(problem, w, mode)
    proof, b = certify(problem, W, 0.5 * W[-1], lambda lo, hi: a[lo:hi, None])
    if mode == "free":
        up, down = a[y > 0].sum(), a[y < 0].sum()
        a = a * np.where(y > 0, min(1, down / up), min(1, up / down))
        assert a @ y == pytest.approx(0, abs=1e-12)
        grid = np.linspace(b[0] - 3, b[0] + 3, 20_001)
        values = [reference.primal(A, y, c, s, N, w, v) for v in grid]
        assert proof.primal[0] <= min(values) + 1e-12
    assert proof.primal[0] == pytest.approx(
        reference.primal(A, y, c, s, N, w, b[0] if mode == "free" else 0.0), rel=1e-13
    )
    u = (a * y) @ A
    theta = np.linspace(0, 1, 100_001)
    values = (theta * a.sum() - theta**2 * (u @ u) / (2 * s)) / N
    assert proof.dual[0] == pytest.approx(values.max(), rel=1e-8)


def best_intercept(products, y, c, loss="hinge"):
    ones, rows = np.ones(1), _core.Rows.dense(np.zeros((len(y), 1)), 0.0)
    problem = _core.Problem(
        rows, labels=y[:, None], weight=c[:, None], positive=ones, negative=ones, s=ones, lam=ones,
        squared_norms=np.zeros(len(y)), loss=named(loss).name, threads=1,
    )  # fmt: skip
    b, sums = np.zeros(1), np.zeros((1, len(_core.GAP_SUMS)))
    _core.best_intercepts(problem, products[:, None], b, sums)
    return float(b[0])


@given(seed=st.integers(0, 10_000))
def test_best_intercept_of_the_squared_hinge_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    y = np.where(rng.uniform(size=n) < 0.5, 1, -1).astype(np.int8)
    y[:2] = 1, -1
    products, c = np.round(rng.standard_normal(n), 1), rng.uniform(0.1, 2, size=n)

    def loss(b):
        return (c * np.maximum(0, 1 - y * (products + b)) ** 2).sum()

    b = best_intercept(products, y, c, "squared_hinge")
    assert loss(b) <= min(loss(b + step) for step in (-1e-3, -1e-6, 1e-6, 1e-3)) + 1e-15


@pytest.mark.parametrize("ties", [False, True])
def test_best_intercept_of_many_rows(ties):
    rng = np.random.default_rng(0)
    n = 50_000
    y = np.where(rng.uniform(size=n) < 0.3, 1, -1).astype(np.int8)
    products = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, size=n)
    if ties:
        products[rng.uniform(size=n) < 0.9] = 0.25
    c = rng.uniform(0.1, 2, size=n)
    kinks = y - products
    order = np.argsort(kinks)
    slope = np.cumsum(c[order]) - c[y > 0].sum()
    assert best_intercept(products, y, c) == kinks[order[np.searchsorted(slope, 0)]]


@given(seed=st.integers(0, 10_000), unit=st.booleans())
def test_best_intercept_is_the_minimum_and_the_middle_of_it(seed, unit):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    y = np.where(rng.uniform(size=n) < 0.5, 1, -1).astype(np.int8)
    y[:2] = 1, -1
    products = np.round(rng.standard_normal(n), 1)
    c = np.ones(n) if unit else rng.uniform(0.1, 2, size=n)

    def loss(b):
        return (c * np.maximum(0, 1 - y * (products + b))).sum()

    b = best_intercept(products, y, c)
    kinks = np.sort(y - products)
    values = np.array([loss(k) for k in kinks])
    assert loss(b) <= values.min() + 1e-9
    flat = kinks[values <= values.min() + 1e-9]
    assert b == pytest.approx((flat[0] + flat[-1]) / 2, abs=1e-9)


def test_best_intercept_ignores_absent_rows_and_survives_one_class():
    products = np.array([0.0, 0.5, 100.0])
    ones = np.ones(3)
    assert best_intercept(products, np.array([1, -1, 0], np.int8), ones) == pytest.approx(-0.25)
    for y in ([1, 1, 0], [-1, -1, 0]):
        b = best_intercept(products, np.array(y, np.int8), ones)
        assert (np.maximum(0, 1 - np.array(y) * (products + b)) * np.abs(y)).sum() == 0
    assert best_intercept(products, np.zeros(3, np.int8), ones) == 0


@pytest.mark.parametrize("mode", MODES)
def test_sums_of_parts_merge_into_those_of_the_whole(mode):
    data = toy(40, 5, 3, seed=2, absent=0.3)
    whole = make_problem(data.X, data.Y, C=1.0, intercept=mode, sample_weight=data.weight)
    rng = np.random.default_rng(0)
    W = np.zeros(whole.weights_shape)
    W[:5, :3] = rng.standard_normal((5, 3))
    b = np.zeros(3)
    a = whole.costs() * rng.uniform(size=(40, 3))

    def sums(lo, hi):
        from pegasos import _core

        total = GapSums.zeros(whole)
        _core.add_gap_sums(
            whole.core, lo, hi, W, b, np.ascontiguousarray(a[lo:hi]), total.sums,
            total.U_positive, total.U_negative, None,
        )  # fmt: skip
        return total

    merged = sums(0, 7).merge(sums(7, 8)).merge(sums(8, 40))
    direct = certificate(whole, W, b, sums(0, 40))
    parts = certificate(whole, W, b, merged)
    np.testing.assert_allclose(parts.primal, direct.primal, rtol=1e-13)
    np.testing.assert_allclose(parts.dual, direct.dual, rtol=1e-13)


def test_nan_weights_are_never_certified():
    problem, _ = problem_of(0, "none")
    W = np.full(problem.weights_shape, np.nan)
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: np.zeros((hi - lo, 1)))
    assert np.isnan(proof.primal[0])
    assert not proof.relative_gap[0] <= 1e300


def test_relative_gap_is_infinite_without_a_bound_and_zero_when_both_are():
    assert pegasos.Certificate(1.0, 0.0, 0.0).relative_gap == np.inf
    assert pegasos.Certificate(0.0, 0.0, 0.0).relative_gap == 0.0
    assert pegasos.Certificate(1.0, 0.5, 0.0).relative_gap == 1.0


@pytest.mark.parametrize("solver", ["dual", "sgds", "pegasos"])
@pytest.mark.parametrize("mode", ["none", "regularized"])
def test_anyone_can_check_the_proof_of_a_result(solver, mode):
    data = toy(60, 5, seed=4)
    y = data.Y[:, 0]
    result = pegasos.solve(
        data.X, y, C=0.5, solver=solver, intercept=mode, max_epochs=30, seed=1,
        sample_weight=data.weight,
    )  # fmt: skip
    again = pegasos.certify(
        data.X, y, result.w, result.b, result.duals, C=0.5, intercept=mode,
        sample_weight=data.weight,
    )  # fmt: skip
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-12)


def test_the_certificate_knows_class_weights():
    data = toy(30, 4, seed=5)
    y = data.Y[:, 0]
    model = pegasos.LinearSVC(
        C=0.3, class_weight={-1: 0.5, 1: 2.0}, solver="dual", warm_start=True, random_state=0
    ).fit(data.X, y)
    again = pegasos.certify(
        data.X, y, model.coef_[0], model.intercept_, model._duals[0], C=0.3,
        intercept="free", positive=2.0, negative=0.5,
    )  # fmt: skip
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-12)


def test_duals_of_the_wrong_shape_are_refused():
    data = toy(10, 6, 3)
    with pytest.raises(ValueError, match="duals must be"):
        pegasos.certify(data.X, data.Y, np.zeros((3, 6)), duals=np.zeros((3, 10)), C=1.0)


def test_duals_outside_the_box_prove_nothing_and_are_refused():
    data = toy(10)
    y = data.Y[:, 0]
    duals = np.zeros(10)
    duals[4] = 1.5
    with pytest.raises(ValueError, match="row 4"):
        pegasos.certify(data.X, y, np.zeros(6), duals=duals, C=1.0)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_duals_whose_rows_cancel_bound_the_optimum_by_their_sum(share):
    X, y = np.ones((2, 1)), np.array([1, -1])
    Y = np.stack([y, -y, y], axis=1)
    proof = pegasos.certify(X, Y, np.zeros((3, 1)), duals=np.full((2, 3), share), C=1.0)
    np.testing.assert_array_equal(proof.dual, np.full(3, share))  # |w(a)| is 0
    np.testing.assert_array_equal(proof.primal, np.ones(3))
