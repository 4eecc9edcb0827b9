"""What a problem has besides labels and a loss: membership, targets, and a balance."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

import pegasos
from pegasos.certificate import certify, repaired
from pegasos.data.chunks import ArrayChunks
from pegasos.problem import make_problem
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.run.side_by_side import run_any
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.sites.memory import Memory
from pegasos.solvers import choice_of

EXACT = (pegasos.DualCoordinate(), pegasos.Newton(), pegasos.InteriorPoint())
STOCHASTIC = (pegasos.Pegasos(), pegasos.SGDS(), pegasos.SGDM(multiplicity=3), pegasos.SGDR())


def points(n, d, seed, lanes=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal((d, lanes)) + rng.standard_normal((n, lanes)) > 0, 1, -1)
    return X, y.astype(np.int8)


def options(tol, **more):
    return RunOptions(tol=tol, limits=Limits(), seed=3, **more)


def trained(problem, solver=None, tol=1e-9, **more):
    return run(problem, choice_of(solver, problem, tol), options(tol, **more))


# Membership.
def members_of(n, lanes, seed):
    return np.random.default_rng(seed).random((n, lanes)) < 0.7


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("solver", EXACT, ids=lambda one: one.name)
def test_a_row_is_no_member_by_its_label_or_by_membership(solver, intercept):
    X, y = points(80, 4, 0, lanes=3)
    inside = members_of(80, 3, 1)
    given = {"C": 0.5, "intercept": intercept, "negative": 2.0}
    by_label = make_problem(X, np.where(inside, y, 0), **given)
    apart = make_problem(X, y, members=inside, **given)
    np.testing.assert_array_equal(apart.labels, y)
    np.testing.assert_array_equal(apart.sides(), by_label.labels)
    np.testing.assert_array_equal(apart.costs(), by_label.costs())
    np.testing.assert_array_equal(apart.lane_rows, inside.sum(axis=0))
    one, other = trained(by_label, solver), trained(apart, solver)
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.duals, other.duals)
    np.testing.assert_array_equal(one.certificate.dual, other.certificate.dual)


@pytest.mark.parametrize("solver", STOCHASTIC, ids=lambda one: type(one).__name__)
def test_stochastic_solvers_leave_out_who_is_no_member(solver):
    X, y = points(80, 4, 0, lanes=3)
    inside = members_of(80, 3, 1)
    by_label = make_problem(X, np.where(inside, y, 0), lam=0.1)
    apart = make_problem(X, y, members=inside, lam=0.1)
    limits = Limits(max_epochs=5)
    one, other = (
        run(problem, choice_of(solver, problem, 0.0), RunOptions(tol=0.0, limits=limits, seed=3))
        for problem in (by_label, apart)
    )
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.duals, other.duals)


def test_lanes_share_a_column_of_membership_and_keep_sharing_it():
    X, y = points(60, 3, 2, lanes=3)
    inside = members_of(60, 1, 3)[:, 0]
    problem = make_problem(X, y, C=1.0, members=inside)
    assert problem.members.strides[1] == 0
    part = problem.take(np.array([2, 0]))
    assert part.members.strides[1] == 0
    np.testing.assert_array_equal(part.sides(), problem.sides()[:, [2, 0]])
    np.testing.assert_array_equal(problem.at(2.0).sides(), problem.sides())


def test_a_weight_of_zero_ends_membership_and_leaves_labels_alone():
    X, y = points(60, 3, 2, lanes=2)
    weight = np.where(np.arange(60) < 6, 0.0, 1.5)
    problem = make_problem(X, y, C=1.0, sample_weight=weight, members=np.arange(60) != 7)
    np.testing.assert_array_equal(problem.labels, y)
    np.testing.assert_array_equal(problem.lane_rows, [53, 53])
    np.testing.assert_array_equal(problem.total_weight, [53 * 1.5] * 2)
    others = problem.with_labels(-y, np.ones(2), np.ones(2), 1)
    np.testing.assert_array_equal(others.lane_rows, [54, 54])


def test_a_member_that_costs_nothing_counts():
    X, y = points(60, 3, 2)
    problem = make_problem(X, y, lam=0.1, positive=0.0)
    assert problem.lane_rows[0] == problem.total_weight[0] == 60
    assert problem.s[0] == pytest.approx(6.0)
    assert not problem.costs()[y > 0].any()


@pytest.mark.parametrize("wrong", [np.full(60, 2), np.ones(59), np.ones((60, 3))])
def test_wrong_membership_is_refused(wrong):
    X, y = points(60, 3, 2)
    with pytest.raises(ValueError, match="members must"):
        make_problem(X, y, C=1.0, members=wrong)


# Targets.
@pytest.mark.parametrize("solver", EXACT, ids=lambda one: one.name)
def test_float32_targets_stay_so_and_train_as_their_values_in_float64(solver):
    X, y = points(90, 4, 5)
    targets = np.random.default_rng(6).uniform(0.2, 2.0, 90).astype(np.float32)
    narrow = make_problem(X, y, C=0.7, intercept="free", targets=targets)
    wide = make_problem(X, y, C=0.7, intercept="free", targets=targets.astype(np.float64))
    assert narrow.targets.dtype == np.float32
    assert np.shares_memory(narrow.targets, targets)
    one, other = trained(narrow, solver), trained(wide, solver)
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.duals, other.duals)
    np.testing.assert_array_equal(one.certificate.primal, other.certificate.primal)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_targets_of_any_strides_are_used_in_place(dtype):
    X, y = points(90, 4, 5, lanes=2)
    table = np.random.default_rng(6).uniform(0.2, 2.0, (180, 6)).astype(dtype)
    targets = table[::-2, 4:0:-2]
    problem = make_problem(X, y, C=0.7, intercept="none", targets=targets)
    assert np.shares_memory(problem.targets, table)
    copied = make_problem(X, y, C=0.7, intercept="none", targets=targets.copy())
    one, other = trained(problem), trained(copied)
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.duals, other.duals)


@pytest.mark.parametrize("solver", STOCHASTIC, ids=lambda one: type(one).__name__)
def test_stochastic_solvers_refuse_targets_by_name(solver):
    X, y = points(30, 2, 1)
    problem = make_problem(X, y, lam=0.1, targets=np.full(30, 2.0))
    with pytest.raises(
        ValueError, match=f"solver '{solver.name}' .* no targets; use solver='dual'"
    ):
        choice_of(solver, problem, 1e-3)


@pytest.mark.parametrize("wrong", [np.full(30, np.nan), np.ones(29), np.ones((30, 2))])
def test_wrong_targets_are_refused(wrong):
    X, y = points(30, 2, 1)
    with pytest.raises(ValueError, match="targets"):
        make_problem(X, y, C=1.0, targets=wrong)


# A balance.
def solved(matrix, right):
    """The solution of a linear system of fractions, or None if there is not exactly one."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(size):
            if r != i and rows[r][i] != 0:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact_optimum(X, y, o, c, s, tau):
    """The optimum of s/2 |w|^2 + tau b + sum c max(0, o - y (w.x + b)), in rational arithmetic.

    Of the many sets of duals that may be at 0, at c, or between, one satisfies all conditions.
    """
    X = [[Fraction(v) for v in row] for row in X.tolist()]
    o, c = [Fraction(v) for v in o], [Fraction(v) for v in c]
    s, tau, n = Fraction(s), Fraction(tau), len(X)
    K = [[int(y[i] * y[j]) * sum(p * q for p, q in zip(X[i], X[j], strict=True)) / s
          for j in range(n)] for i in range(n)]  # fmt: skip
    for where in product((0, 1, 2), repeat=n):  # at 0, between, at c
        free = [i for i in range(n) if where[i] == 1]
        if not 0 < len(free) <= len(X[0]) + 1:
            continue
        a = [c[i] if where[i] == 2 else Fraction(0) for i in range(n)]
        matrix = [[K[i][j] for j in free] + [Fraction(int(y[i]))] for i in free]
        right = [o[i] - sum(K[i][j] * a[j] for j in range(n)) for i in free]
        matrix.append([Fraction(int(y[j])) for j in free] + [Fraction(0)])
        right.append(tau - sum(int(y[j]) * a[j] for j in range(n)))
        found = solved(matrix, right)
        if found is None:
            continue
        for i, value in zip(free, found[:-1], strict=True):
            a[i] = value
        b = found[-1]
        slack = [o[i] - sum(K[i][j] * a[j] for j in range(n)) - int(y[i]) * b for i in range(n)]
        right_side = {0: lambda m: m <= 0, 1: lambda m: m == 0, 2: lambda m: m >= 0}
        if all(0 <= a[i] <= c[i] and right_side[where[i]](slack[i]) for i in range(n)):
            square = sum(a[i] * K[i][j] * a[j] for i in range(n) for j in range(n))
            return a, b, sum(p * q for p, q in zip(o, a, strict=True)) - square / 2
    raise AssertionError("no duals satisfy all conditions")


def small(seed, sides):
    """Points on a grid, so that fractions stay small."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (7, 2)) / 4.0 + 2.0
    y = np.ones(7, np.int8) if sides == 1 else np.array([1, 1, 1, 1, -1, -1, 1], np.int8)
    o = np.zeros(7) if sides == 1 else rng.integers(0, 3, 7) / 2.0
    return X, y, o, rng.integers(1, 4, 7) / 2.0


@pytest.mark.parametrize("storage", ["memory", "blocks"])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_balance_is_trained_to_the_exact_optimum(seed, sides, share, storage):
    X, y, o, c = small(seed, sides)
    tau = float(np.round(share * c[y > 0].sum() * 4) / 4)
    rows = X
    if storage == "blocks":
        rows = ChunkRows(ArrayChunks(X, y, block_bytes=4 * 16))
    problem = make_problem(rows, y[:, None], C=0.5, intercept="free", sample_weight=c, targets=o,
                           balance=tau)  # fmt: skip
    a, _, best = exact_optimum(X, y, o, c, 2.0, tau)
    outcome = trained(problem, pegasos.DualCoordinate(), tol=1e-10, keep_duals=True)
    N = c.sum()
    assert outcome.stop_reason == "converged"
    assert outcome.certificate.signed
    assert outcome.certificate.holds
    assert outcome.certificate.dual[0] * N == pytest.approx(float(best), rel=1e-8)
    assert outcome.certificate.primal[0] * N == pytest.approx(float(best), rel=1e-8)
    w = sum(float(ai) * yi * x for ai, yi, x in zip(a, y, X, strict=True)) / 2.0
    np.testing.assert_allclose(outcome.W[:2, 0], w, atol=1e-4 * (1 + np.abs(w).max()))


def test_several_lanes_with_a_balance_agree_with_scikit_learn():
    svm = pytest.importorskip("sklearn.svm")
    X = np.random.default_rng(0).standard_normal((200, 3)) + 2.0
    shares = np.array([0.1025, 0.3025, 0.6025])  # 200 times that is between numbers: one b is best
    problem = make_problem(X, np.ones((200, 3)), C=1.0, intercept="free",
                           targets=np.zeros(200), balance=200 * shares)  # fmt: skip
    plan = partial(choice_of, None, tol=1e-9)
    outcome = run_any(problem, lambda part: (plan(part), 1e-9), None, options(1e-9))
    assert outcome.stop_reason == "converged"
    for k, nu in enumerate(shares):
        peer = svm.OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
        np.testing.assert_allclose(outcome.W[:3, k], peer.coef_[0], rtol=1e-4)
        np.testing.assert_allclose(outcome.b[k], peer.intercept_[0], rtol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_any_duals_are_repaired_to_the_balance_and_bound_from_below(seed, sides, loss):
    rng = np.random.default_rng(seed)
    X, y = points(40, 3, seed)
    if sides == 1:
        y[:] = 1
    c = rng.uniform(0.5, 2.0, 40)
    for share in (0.05, 0.5, 0.95):
        tau = share * c[y[:, 0] > 0].sum()
        problem = make_problem(X, y, C=0.5, intercept="free", sample_weight=c, loss=loss,
                               targets=rng.uniform(-0.5, 1.0, 40), balance=tau)  # fmt: skip
        best = trained(problem, tol=1e-8).certificate
        for most in (0.0, 0.1, 1.0):
            a = most * rng.random((40, 1)) * problem.costs()
            fixed = repaired(problem, lambda lo, hi, a=a: a[lo:hi])(0, 40)
            assert (fixed * y).sum() == pytest.approx(tau, rel=1e-12)
            assert ((fixed >= 0) & (fixed <= problem.largest_duals())).all()
            W = np.zeros(problem.weights_shape)
            W[:3, 0] = rng.standard_normal(3)
            proof, b = certify(problem, W, np.zeros(1), lambda lo, hi, a=a: a[lo:hi])
            assert proof.dual[0] <= best.primal[0] + best.rounding[0] + proof.rounding[0]
            assert proof.primal[0] >= best.dual[0] - best.rounding[0] - proof.rounding[0]
            # The b that is found is the best one.
            for other in b + np.array([-1e-1, -1e-4, 1e-4, 1e-1]):
                there, _ = certify(
                    problem, W, np.array([other]), lambda lo, hi, a=a: a[lo:hi], as_is=True
                )
                assert there.primal[0] >= proof.primal[0] - 1e-9 * abs(proof.primal[0])


def test_a_balance_of_duals_that_are_right_is_taken_as_it_is():
    X, y, o, c = small(1, 1)
    problem = make_problem(X, y[:, None], C=0.5, intercept="free", sample_weight=c, targets=o,
                           balance=2.0)  # fmt: skip
    a, _, best = exact_optimum(X, y, o, c, 2.0, 2.0)
    duals = np.array([[float(v)] for v in a])
    W = np.zeros(problem.weights_shape)
    W[:2, 0] = (duals[:, 0] * y) @ X / 2.0
    proof, _ = certify(problem, W, np.zeros(1), lambda lo, hi: duals[lo:hi])
    assert proof.dual[0] == pytest.approx(float(best) / c.sum(), rel=1e-12)
    assert abs(proof.gap[0]) <= proof.rounding[0]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sides", [1, 2])
def test_what_is_known_of_a_balance_before_it_is_trained_is_true(sides, loss):
    X, y, o, c = small(1, sides)
    problem = make_problem(X, y[:, None], C=0.5, intercept="free", targets=o, balance=2.0,
                           sample_weight=c, loss=loss)  # fmt: skip
    solver = pegasos.DualCoordinate()
    before = solver.untrained(problem)
    state = solver.start(problem, 0)
    assert problem.imbalance(state["duals"])[0] == pytest.approx(0.0, abs=1e-12)
    proof, _ = solver.certify(problem, state, np.zeros(problem.weights_shape), np.zeros(1))
    assert before.signed
    assert before.dual[0] <= proof.dual[0] + 1e-12
    assert before.primal[0] == pytest.approx(problem.loss.value(o, c).sum() / c.sum())


@pytest.mark.parametrize(
    "solver", [*EXACT[1:], *STOCHASTIC], ids=lambda one: type(one).__name__
)  # fmt: skip
def test_other_solvers_refuse_a_balance_by_name(solver):
    X, y = points(30, 2, 1)
    problem = make_problem(X, y, C=1.0, intercept="free", balance=3.0)
    with pytest.raises(
        ValueError, match=f"solver '{solver.name}' .* no balance; use solver='dual'"
    ):
        choice_of(solver, problem, 1e-3)
    assert choice_of(None, problem, 1e-3).solver.name == "dual"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"intercept": "none"}, "balance needs intercept='free'"),
        ({"balance": 31.0}, "balance must be at most the cost of all rows of class [+]1"),
        ({"balance": -1.0}, "balance must be finite and positive"),
    ],
)
def test_a_balance_that_no_duals_have_is_refused(changed, message):
    given = {"C": 1.0, "intercept": "free", "balance": 3.0} | changed
    with pytest.raises(ValueError, match=message):
        make_problem(np.eye(30), np.ones((30, 1)), **given)


def test_lanes_keep_their_balance_where_others_leave():
    problem = make_problem(np.eye(6), np.ones((6, 3)), C=1.0, intercept="free",
                           balance=[1.0, 2.0, 3.0], site=Memory())  # fmt: skip
    np.testing.assert_array_equal(problem.take(np.array([2, 0])).balance, [3.0, 1.0])
    np.testing.assert_array_equal(problem.at(0.1).balance, problem.balance)
