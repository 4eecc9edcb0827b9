"""DualCoordinate: shrinking, the free intercept, the squared hinge, second-order steps, threads."""

import numpy as np
import pytest
from scipy import sparse
from tests.common import reference
from tests.common.runs import pausing
from tests.common.toys import toy

import pegasos
from pegasos import DualCoordinate, _core
from pegasos.certificate import certify
from pegasos.problem import make_problem
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions


def options_of(intercept, loss):
    return {"C": 3.0, "intercept": intercept, "loss": loss, "tol": 1e-9, "seed": 0}


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", [DualCoordinate(), DualCoordinate(shrink=False)], ids=str)
def test_it_reaches_the_optimum_of_every_problem(intercept, loss, solver):
    data = toy(60, 5, seed=3)
    y = data.Y[:, 0]
    result = pegasos.solve(
        data.X, y, solver=solver, sample_weight=data.weight, max_epochs=20_000,
        **options_of(intercept, loss),
    )  # fmt: skip
    assert result.stop_reason == "converged"
    again = pegasos.certify(
        data.X, y, result.w, result.b, result.duals, C=3.0, intercept=intercept, loss=loss,
        sample_weight=data.weight,
    )  # fmt: skip
    assert again.relative_gap <= 1e-9


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_the_squared_hinge_is_minimised(intercept):
    from scipy.optimize import minimize

    data = toy(60, 5, seed=7)
    y = data.Y[:, 0]
    result = pegasos.solve(data.X, y, solver="dual", **options_of(intercept, "squared_hinge"))

    def objective(v):
        b = v[-1] if intercept == "free" else 0.0
        slack = np.maximum(0, 1 - y * (data.X @ v[:-1] + b))
        return (v[:-1] @ v[:-1] / 6 + slack @ slack) / 60

    best = minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    assert result.certificate.primal == pytest.approx(best.fun, rel=1e-7)
    np.testing.assert_allclose(result.w, best.x[:-1], atol=1e-4)


def test_a_free_intercept_is_the_best_one():
    data = toy(50, 4, seed=1)
    y = data.Y[:, 0]
    result = pegasos.solve(data.X, y, solver="dual", **options_of("free", "hinge"))
    problem = make_problem(data.X, data.Y, C=3.0, intercept="free")
    a, _ = reference.optimum(data.X, y, problem.costs()[:, 0], 1 / 3, free=True)
    np.testing.assert_allclose(result.w, 3 * (a * y) @ data.X, atol=1e-4)


def slow_problem(**options):
    """1,500 rows, many of them nearly alike, and a large C: slow for single coordinates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 400))[rng.integers(0, 100, 1500)]
    X += 0.05 * rng.standard_normal(X.shape)
    y = np.where(X @ rng.standard_normal(400) + 4 * rng.standard_normal(1500) > 0, 1, -1)
    return X, make_problem(X, y[:, None], C=100.0, **options)


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_second_order_steps_keep_w_and_the_box_and_climb_faster(intercept, loss):
    X, problem = slow_problem(intercept=intercept, loss=loss)
    gaps = []
    for solver in (DualCoordinate(second_order=False), DualCoordinate()):
        state = solver.start(problem, seed=0)
        solver.advance(problem, state, work=1 << 40, stop_seen=1500 * 60, stop_steps=1 << 60)
        a = state["duals"]
        assert ((a >= 0) & (a <= problem.largest_duals())).all()
        w = (a * problem.labels)[:, 0] @ X / problem.s[0]
        np.testing.assert_allclose(state["W"][:-1], w, atol=1e-9 * np.abs(w).max())
        W = state["W"].reshape(problem.weights_shape)
        duals = solver.duals(problem, state)
        gaps.append(certify(problem, W, np.zeros(1), duals)[0].relative_gap.item())
    assert gaps[1] < 0.1 * gaps[0]


def test_a_warm_start_that_is_out_of_balance_begins_with_b_in_its_place():
    data = toy(80, 6, seed=1)
    problem = make_problem(data.X, data.Y, C=3.0, intercept="free")
    duals = 0.5 * problem.largest_duals() * (data.Y > 0)
    solver = DualCoordinate()
    state = solver.start(problem, seed=0, duals=duals)
    balance = float((duals * data.Y).sum())
    assert balance > 1
    pull = state["b"][0, 0] - state["centre"][0, 0]
    cold = solver.start(problem, seed=0)
    cold["duals"][:] = duals
    solver.refused(problem, cold)
    assert pull == pytest.approx(cold["b"][0, 0])


def test_a_class_without_weight_leaves_estimates_finite():
    data = toy(80, 6, seed=1)
    problem = make_problem(
        data.X, data.Y, C=3.0, loss="squared_hinge", positive=np.ones(1), negative=np.zeros(1)
    )
    solver = DualCoordinate()
    state = solver.start(problem, seed=0)
    solver.advance(problem, state, work=1 << 40, stop_seen=800, stop_steps=1 << 60)
    assert np.isfinite(solver.estimate(problem, state)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_pausing_second_order_steps_changes_no_bit(threads):
    _, problem = slow_problem(intercept="free", n_jobs=threads)
    options = RunOptions(tol=1e-4, limits=Limits(), seed=0)
    expected = run(problem, DualCoordinate(), options)
    assert expected.stop_reason == "converged"
    rng = np.random.default_rng(1)
    sliced = run(problem, pausing(DualCoordinate(), lambda: int(rng.integers(1, 4000))), options)
    assert sliced.W.tobytes() == expected.W.tobytes()
    plain = run(problem, DualCoordinate(second_order=False), options)
    assert expected.epochs < plain.epochs


@pytest.mark.parametrize("intercept", ["none", "free"])
@pytest.mark.parametrize("lanes", [1, 3, 20])
def test_threads_give_the_same_bits_every_time_and_the_same_optimum(intercept, lanes):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 40)).astype(np.float32)
    Y = np.where(X @ rng.standard_normal((40, lanes)) > rng.standard_normal((30_000, lanes)), 1, -1)
    results = []
    for threads in (1, 2, 2, 3):
        problem = make_problem(X, Y, C=1e-4, intercept=intercept, n_jobs=threads)
        results.append(
            run(problem, DualCoordinate(), RunOptions(tol=1e-3, limits=Limits(), seed=5))
        )
    one, two, again, three = results
    assert two.W.tobytes() == again.W.tobytes()
    assert two.duals.tobytes() == again.duals.tobytes()
    if lanes <= 3:  # shared passes: other steps than alone
        assert two.W.tobytes() != one.W.tobytes()
    for other in (two, three):
        assert (other.certificate.relative_gap <= 1e-3).all()
        np.testing.assert_allclose(other.certificate.primal, one.certificate.primal, rtol=2e-3)


def test_rows_that_were_left_out_come_back():
    data = toy(80, 5, seed=9)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none")
    solver = DualCoordinate()
    state = solver.start(problem, seed=0)
    solver.advance(problem, state, work=1 << 40, stop_seen=80 * 9, stop_steps=1 << 60)
    active = _core.GROUP_CURSOR.index("active")
    assert state["cursor"][0, active] < 80
    solver.refused(problem, state)
    solver.advance(problem, state, work=1, stop_seen=1 << 60, stop_steps=1 << 60)
    solver.advance(problem, state, work=80, stop_seen=1 << 60, stop_steps=1 << 60)
    proof, _ = certify(
        problem, solver.weights(problem, state), np.zeros(1), solver.duals(problem, state)
    )
    assert proof.holds


@pytest.mark.parametrize(("C", "soonest", "latest"), [(0.3, 6, 7), (1000.0, 10, 11)])
def test_a_list_that_has_told_all_is_looked_beyond_before_others(C, soonest, latest):
    """At C = 0.3 six epochs leave less than a tenth of the gap, at C = 1000 far more."""
    data = toy(200, 30, seed=3)
    problem = make_problem(data.X, data.Y, C=C, intercept="none")
    solver = DualCoordinate(second_order=False)
    state = solver.start(problem, seed=0)
    recalled = _core.GROUP_CURSOR.index("recalled")
    while not state["cursor"][0, recalled]:
        solver.advance(problem, state, work=50, stop_seen=1 << 60, stop_steps=1 << 60)
    assert soonest * 200 <= state["cursor"][0, recalled] < latest * 200


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_it_stops_after_a_pass_that_met_the_gap_it_aims_at(loss):
    data = toy(200, 30, seed=3)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none", loss=loss)
    far = {"work": 1 << 60, "stop_seen": 1 << 60, "stop_steps": 1 << 60}
    solver = DualCoordinate().aimed_at(1e-2)
    assert repr(solver) == repr(DualCoordinate())  # the gap is the run's
    state = solver.start(problem, seed=0)
    assert solver.advance(problem, state, **far)
    assert 0 < solver.estimate(problem, state)[0] <= 1e-2
    # An epoch before it had not met it, and where it stopped, it goes on.
    before = solver.start(problem, seed=0)
    solver.advance(problem, before, **far | {"stop_seen": state.seen - 200})
    assert solver.estimate(problem, before)[0] > 1e-2
    seen = state.seen
    assert solver.advance(problem, state, **far)
    assert state.seen > seen


def test_looking_for_the_gap_costs_little_where_lists_are_short(monkeypatch):
    """Many rows of few values: adding up all duals takes as long as many passes over a list."""
    X = np.random.default_rng(0).standard_normal((20_000, 4))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0, 1, -1)
    calls, advance = [], DualCoordinate.advance

    def counted(self, *args, **options):
        calls.append(1)
        return advance(self, *args, **options)

    monkeypatch.setattr(DualCoordinate, "advance", counted)
    r = pegasos.solve(X, y, C=1.0, solver="dual", intercept="none", tol=1e-6, seed=0, n_jobs=1)
    assert r.stop_reason == "converged"
    assert len(calls) <= 3 * r.epochs + 10  # an epoch is as many visits as there are rows


def test_weights_begin_with_a_cache_line():
    data = toy(30, 5, 9, seed=1, absent=0.0)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none")
    solver = DualCoordinate()
    state = solver.start(problem, 0)
    keep = np.arange(2, 9)
    taken = solver.take(problem.take(keep), state, keep)
    for weights in (state["W"], taken["W"]):
        assert weights.ctypes.data % 64 == 0
        assert weights.flags.c_contiguous


@pytest.mark.parametrize("threads", [1, 2])
def test_groups_keep_their_weights_apart_and_show_them_side_by_side(threads):
    data = toy(60, 5, 21, seed=1, absent=0.2)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="regularized", n_jobs=threads)
    solver = DualCoordinate()
    state = solver.start(problem, 0)
    assert state["bounds"].size > 2  # several groups
    solver.advance(problem, state, work=1 << 40, stop_seen=180, stop_steps=1 << 60)
    Z = np.hstack([data.X, np.ones((60, 1))])

    def check(part, held):
        expected = Z.T @ (held["duals"] * part.labels) / part.s
        weights = solver.weights(part, held)[:, : part.lanes]
        np.testing.assert_allclose(weights, expected, atol=1e-12)

    check(problem, state)
    keep = np.array([0, 2, 3, 5, 8, 9, 11, 12, 14, 15, 16, 18, 19, 20])
    check(problem.take(keep), solver.take(problem.take(keep), state, keep))
    warm = solver.start(problem, 0, state["duals"])
    np.testing.assert_allclose(
        solver.weights(problem, warm), solver.weights(problem, state), atol=1e-12
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_that_are_nearly_alike_with_other_labels_do_not_take_it_for_ever(seed):
    rng = np.random.default_rng(seed)
    X = sparse.random(3000, 2000, density=0.02, random_state=seed, format="csr")
    y = np.where(X @ rng.standard_normal(2000) > 0, 1, -1)
    alike = X[:20].copy()
    alike.data *= 1 + 1e-3 * rng.standard_normal(alike.nnz)
    X, y = sparse.vstack([X, alike]).tocsr(), np.concatenate([y, -y[:20]])
    result = pegasos.solve(X, y, C=1e3, tol=1e-4, solver="dual", intercept="none", seed=0, n_jobs=1)
    assert result.stop_reason == "converged"
    assert result.duals.max() == 1  # they have come all the way
    assert result.epochs <= 60  # 42 to 44; by coordinates alone in subproblems 67 to 83


def test_groups_that_run_side_by_side_share_no_threads():
    data = toy(60, 5, 8, seed=0)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none", n_jobs=2)
    solver = DualCoordinate()
    state = solver.start(problem, 0)
    assert len(state["cursor"]) == 2
    solver.resumed(problem, state.arrays)
    state["cursor"][0, _core.GROUP_CURSOR.index("parts")] = 2
    with pytest.raises(ValueError, match="no such size"):
        solver.resumed(problem, state.arrays)


def test_it_is_asked_for_estimates_rarely(monkeypatch):
    looks = []
    plain = DualCoordinate.estimate
    monkeypatch.setattr(DualCoordinate, "estimate", lambda *args: looks.append(0) or plain(*args))
    data = toy(400, 30, seed=3)
    options = {"solver": "dual", "C": 1000.0, "intercept": "none", "seed": 0}
    result = pegasos.solve(data.X, data.Y[:, 0], tol=1e-6, **options)
    assert result.epochs > 16
    assert len(looks) <= result.epochs / 8 + 2 * len(result.history.records) + 2
