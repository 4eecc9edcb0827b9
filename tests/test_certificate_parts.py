"""What a certificate says and is made of: verdicts, words, blocks, and the error analysis."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from tests.common.toys import toy

from pegasos import certificate as parts
from pegasos.certificate import Certificate, GaveUp, certify, relative_gap
from pegasos.problem import make_problem
from pegasos.sites.memory import Memory

MODES = ["none", "regularized", "free"]
LOSSES = ["hinge", "squared_hinge"]


@pytest.mark.parametrize(
    ("primal", "rounding", "tol", "proven", "exhausted"),
    [
        (1.5, 0.0, 0.5, True, True),
        (1.5, 0.5, 0.5, True, True),
        (1.5, 0.6, 0.5, False, True),  # proven by rounding alone is not proven
        (1.6, 0.0, 0.5, False, False),
        (1.5, 0.5, 0.0, False, True),
        (1.5, 0.4, 0.4, False, False),
        (1.5, 0.4, 0.5, True, True),
    ],
)
def test_a_gap_is_proven_by_more_than_rounding(primal, rounding, tol, proven, exhausted):
    proof = Certificate(primal, 1.0, rounding)
    assert proof.proves(tol) == proven
    assert proof.exhausted(tol) == exhausted
    both = Certificate(np.array([primal, 9.0]), np.ones(2), np.array([rounding, 0.0]))
    assert both.proves(tol).tolist() == [proven, False]
    assert both.exhausted(tol).tolist() == [exhausted, False]


def test_where_the_optimum_is_zero_rounding_has_no_room():
    assert Certificate(0.0, 0.0, 0.0).proves(0.1)
    assert not Certificate(0.0, 0.0, 0.01).proves(0.1)
    assert not Certificate(1.0, -1.0, 0.0).proves(1e300)


def test_bounds_hold_if_they_agree_up_to_rounding():
    assert Certificate(1.0, 1.25, 0.25).holds
    assert not Certificate(1.0, 1.25, 0.125).holds
    assert not Certificate(np.array([2.0, 1.0]), np.array([1.0, 1.25]), np.zeros(2)).holds


def test_words_are_those_of_the_worst_problem():
    one = Certificate(1.5, 1.0, 0.0)
    assert str(one) == "within 0.5 (relative) of the optimum: primal 1.5, dual 1, gap 0.5"
    two = Certificate(np.array([1.5, 6.0]), np.array([1.0, 2.0]), np.zeros(2))
    assert str(two) == (
        "within 2 (relative) of the optimum (worst of 2 problems): primal 6, dual 2, gap 4"
    )


def test_relative_gaps_leave_float64_in_silence():
    found = relative_gap(np.array([1e308, 3.0, np.inf, 1.0, 0.0, -1.0, 0.5]),
                         np.array([1e-308, 2.0, np.inf, -1.0, 0.0, 0.0, 0.5]))  # fmt: skip
    np.testing.assert_array_equal(found, [np.inf, 0.5, np.nan, np.inf, 0.0, np.inf, 0.0])


def test_lanes_are_taken_out_and_put_back():
    whole = Certificate(np.arange(1.0, 5.0), np.arange(4.0), np.arange(4.0) / 8)
    part = whole.lane([1, 3])
    assert (part.primal.tolist(), part.dual.tolist()) == ([2.0, 4.0], [1.0, 3.0])
    assert part.rounding.tolist() == [0.125, 0.375]
    changed = whole.replaced([0, 2], part)
    assert changed.primal.tolist() == [2.0, 2.0, 4.0, 4.0]
    assert changed.dual.tolist() == [1.0, 1.0, 3.0, 3.0]
    assert changed.rounding.tolist() == [0.125, 0.125, 0.375, 0.375]
    assert whole.primal.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_zero_is_certified_without_a_pass():
    data = toy(20, 4, 2, seed=1)
    problem = make_problem(data.X, data.Y, C=0.5, intercept="none", sample_weight=data.weight)
    W = np.zeros(problem.weights_shape)
    proof, _ = certify(problem, W, np.zeros(2), lambda lo, hi: np.zeros((hi - lo, 2)))
    at_once = Certificate.untrained(problem.cost / problem.total_weight)
    np.testing.assert_allclose(at_once.primal, proof.primal, rtol=1e-15)
    assert at_once.dual.tolist() == proof.dual.tolist() == [0.0, 0.0]
    assert (at_once.rounding > 0).all()
    assert (at_once.rounding <= 1e-15 * at_once.primal).all()
    assert 1e-10 < Certificate.untrained(np.array([1e6])).rounding[0] < 1e-9


def test_blocks_of_rows_hold_so_many_values():
    site = Memory(certified_values=100)
    data = toy(200, 5, 3)
    for X in (data.X, data.csr(), sparse.csr_array((200, 5))):
        for n_jobs, share in ((1, 1), (2, 8), (3, 12)):
            problem = make_problem(X, data.Y, C=1.0, intercept="none", n_jobs=n_jobs, site=site)
            assert problem.threads == n_jobs
            found = parts.blocks(problem)
            ends = [0, *(hi for _, hi in found)]
            assert found == list(pairwise(ends))
            assert ends[-1] == 200
            row = max(1.0, problem.rows.row_size) * problem.weights_shape[1]
            sizes = np.diff(ends)
            if sizes.size > 1:
                assert (sizes[:-1] * row <= share * 100).all()
                assert ((sizes[:-1] + 1) * row > share * 100).all()
    site = Memory(certified_values=1)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none", n_jobs=1, site=site)
    assert parts.blocks(problem) == [(row, row + 1) for row in range(200)]


def test_blocks_of_rows_hold_so_many_duals():
    data = toy(200, 5, 3)
    problem = make_problem(data.X, data.Y, C=1.0, site=Memory(certified_duals=100))
    assert parts.blocks(problem) == [(lo, lo + 25) for lo in range(0, 200, 25)]  # of four columns


def test_blocks_of_features_hold_so_many_values():
    def ranges(d, columns, give_up=parts.never):
        return list(parts.feature_blocks(np.broadcast_to(0.0, (d, columns)), give_up))

    most = 1 << 18
    assert ranges(10, 8) == [(0, 10)]
    assert ranges(most // 4 + 1, 8) == [
        (0, most // 8), (most // 8, most // 4), (most // 4, most // 4 + 1)
    ]  # fmt: skip
    assert ranges(2, most + 1) == [(0, 1), (1, 2)]
    with pytest.raises(GaveUp):
        ranges(10, 8, lambda: True)


@pytest.mark.parametrize("mode", MODES)
def test_giving_up_between_any_two_blocks_is_no_certificate(mode):
    data = toy(40, 6, 2, seed=3)
    X = sparse.csr_array(data.X)
    X.resize(40, 70_000)  # two blocks of features
    problem = make_problem(X, data.Y, C=1.0, intercept=mode)
    W = np.zeros(problem.weights_shape)
    W[:6, :2] = np.random.default_rng(0).normal(size=(6, 2))
    W[-2:, :2] = 0.5
    a = problem.costs() * 0.3
    whole, _ = certify(problem, W, np.zeros(2), lambda lo, hi: a[lo:hi])
    problem = replace(problem, site=Memory(certified_values=200))
    asked = []
    pieces, _ = certify(
        problem, W, np.zeros(2), lambda lo, hi: a[lo:hi], give_up=lambda: bool(asked.append(1))
    )
    np.testing.assert_allclose(pieces.primal, whole.primal, rtol=1e-13)
    np.testing.assert_allclose(pieces.dual, whole.dual, rtol=1e-13)
    assert len(asked) == len(parts.blocks(problem)) + 2 * 2
    for last in range(len(asked)):
        calls = iter(range(len(asked)))
        stopped = certify(
            problem, W, np.zeros(2), lambda lo, hi: a[lo:hi],
            give_up=lambda calls=calls, last=last: next(calls) == last,
        )  # fmt: skip
        assert stopped is None


def analysed(problem, A, w, b, a, *, shown_b):
    """P, D and the bound on their errors, of one lane in plain NumPy.

    ``b`` is what is added to A w; ``shown_b`` what the model says, which may be inside of w.

    To first order in e = 2^-53: a product of m numbers errs by m e |w| |x|, a sum by e times its
    terms' sizes and the number of roundings each goes through.
    """
    e = 2.0**-53
    y, c, s = problem.labels[:, 0].astype(float), problem.costs()[:, 0], problem.s[0]
    N, norms, squared = problem.total_weight[0], np.linalg.norm(A, axis=1), problem.loss.curved
    free = problem.intercept == "free"
    slack = np.maximum(0, 1 - y * (A @ w + b))
    loss = c @ (slack**2 if squared else slack)
    roundings = 4 + 1
    features = problem.rows.d + 3
    product = (problem.rows.longest + 3) * e * np.linalg.norm(w)
    # The hinge's slope is 1 where a row loses, or may: all rows, if products may err that much.
    reach = (product + 4 * e * np.linalg.norm(w)) * norms.max() + 4 * e * (1 + abs(shown_b))
    near = 1 - y * (A @ w + b) > -1e-6
    slopes = 2 * c * slack if squared else c * near
    slope, slope_norm = slopes.sum(), slopes @ norms
    if not squared and reach > 1e-6:
        slope, slope_norm = c.sum(), c.sum() * norms.max()
    error = product * slope_norm
    error += e * roundings * ((1 + abs(shown_b)) * slope + 2 * loss)
    error += e * (features + 3) * s / 2 * w @ w
    if squared:  # of a square, the second order too
        error += product**2 * norms.max() * (c @ norms)
    if free:
        up, down = a[y > 0].sum(), a[y < 0].sum()
        a_own = a * np.where(y > 0, min(up, down) / up, min(up, down) / down)
    else:
        a_own = a
    v = (a_own * y) @ A / s
    squares = (a_own**2 / (4 * c)).sum() if squared else 0.0
    theta = a_own.sum() / (s * v @ v + 2 * squares)
    theta = theta if squared else min(1.0, theta)
    dual = (theta * a_own.sum() - theta**2 * (s / 2 * v @ v + squares)) / N
    v_error = (np.count_nonzero(a) + 3) * e * (a @ norms) / s
    error += theta * roundings * e * (1 + abs(shown_b)) * a_own.sum()
    error += theta**2 * s / 2 * (2 * np.linalg.norm(v) * v_error + v_error**2)
    error += theta**2 * e * ((features + 3) * s / 2 * v @ v + (roundings + 4) * squares)
    return (s / 2 * w @ w + loss) / N, dual, error / N


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e15])
@pytest.mark.parametrize("given_b", [False, True])
def test_bounds_and_their_errors_are_those_of_the_analysis(mode, loss, size, given_b):
    data = toy(25, 4, seed=7)
    problem = make_problem(
        data.X, data.Y, C=0.7, intercept=mode, intercept_scaling=0.5 if mode == MODES[1] else 1.0,
        sample_weight=data.weight, positive=1.5, loss=loss,
    )  # fmt: skip
    A = np.hstack([data.X, np.full((25, 1), 0.5)]) if mode == "regularized" else data.X
    rng = np.random.default_rng(5)
    w = size * rng.normal(size=A.shape[1])
    a = problem.costs()[:, 0] * rng.uniform(size=25) * (rng.uniform(size=25) < 0.7)
    W = np.zeros(problem.weights_shape)
    W[: w.size, 0] = w
    b = {"none": 0.0, "regularized": 0.5 * w[-1], "free": 0.8}[mode]
    proof, found = certify(problem, W, [b], lambda lo, hi: a[lo:hi, None], as_is=given_b)
    assert (found[0] == b) == (given_b or mode != "free")
    added = found[0] if mode == "free" else 0.0
    primal, dual, error = analysed(problem, A, w, added, a, shown_b=found[0])
    assert proof.primal[0] == pytest.approx(primal, rel=1e-12)
    assert proof.dual[0] == pytest.approx(dual, rel=1e-12)
    assert proof.rounding[0] == pytest.approx(error, rel=1e-9, abs=0)


def test_an_intercept_may_be_a_whole_number():
    data = toy(25, 4, seed=7)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="free")
    W, a = np.zeros(problem.weights_shape), np.zeros((25, 1))
    one, b = certify(problem, W, np.array([1]), lambda lo, hi: a[lo:hi], as_is=True)
    assert b.dtype == np.float64
    assert one.primal[0] == pytest.approx(np.maximum(0, 1 - data.Y[:, 0]).mean())


def test_where_nothing_is_lost_the_second_order_is_left():
    data = toy(25, 4, seed=7)
    w = np.array([1e9, -2e9, 1e9, 3e9])
    y = np.where(data.X @ w > 0, 1, -1).astype(np.int8)[:, None]
    X = data.X + y * w / np.linalg.norm(w)
    problem = make_problem(X, y, C=1e18, intercept="none", loss="squared_hinge")
    W = np.zeros(problem.weights_shape)
    W[:4, 0] = w
    a = np.zeros(25)
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: a[lo:hi, None])
    product = (4 + 3) * 2.0**-53 * np.linalg.norm(w)
    norms = np.linalg.norm(X, axis=1)
    penalty = w @ w / 1e18 / 2
    assert proof.primal[0] == pytest.approx(penalty / 25, rel=1e-12)
    error = product**2 * norms.max() * norms.sum() + 2.0**-53 * (4 + 3 + 3) * penalty
    assert proof.rounding[0] == pytest.approx(error / 25, rel=1e-9, abs=0)


@pytest.mark.parametrize("loss", LOSSES)
def test_duals_of_one_class_prove_nothing_where_the_intercept_is_free(loss):
    data = toy(20, 4, seed=2)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="free", loss=loss)
    W = np.zeros(problem.weights_shape)
    for side in (1, -1):
        a = problem.costs() * (side == problem.labels)
        proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi, a=a: a[lo:hi])
        assert proof.dual[0] == 0
        assert 0 < proof.rounding[0] < 1e-12


def test_sums_beyond_float64_prove_zero_in_silence():
    data = toy(20, 4, seed=2)
    for loss in LOSSES:
        problem = make_problem(data.X * 1e150, data.Y, C=1e10, intercept="none", loss=loss)
        W = np.zeros(problem.weights_shape)
        a = problem.costs()
        proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi, a=a: a[lo:hi])
        assert proof.primal[0] == 1.0  # the mean loss of w = 0
        assert proof.dual[0] == 0
        assert np.isfinite(proof.rounding[0])
