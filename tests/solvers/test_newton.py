"""Newton: the smoothed hinge, its steps and its way to the optimum."""

import numpy as np
import pytest
from tests.common.toys import toy

import pegasos
from pegasos import Newton
from pegasos.problem import make_problem
from pegasos.sites.memory import Memory

MODES = ["none", "regularized", "free"]


def advance(problem, state, solver, steps):
    assert solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=steps)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_step_is_newtons(mode, loss):
    data = toy(80, 5, seed=2, absent=0.2)
    problem = make_problem(
        data.X, data.Y, C=2.0, intercept=mode, sample_weight=data.weight, loss=loss
    )
    s, y, c = problem.s[0], data.Y[:, 0].astype(float), problem.costs()[:, 0]
    Z = np.hstack([data.X, np.full((80, 1), 0.0 if mode == "none" else 1.0)])
    penalty = np.full(6, s)
    if mode == "free":
        penalty[-1] = 1e-3 * s
    solver = Newton(aim=1e-6)
    state = solver.start(problem, 0)
    weights, moved = np.zeros(6), 0
    for step in range(1, 12):
        advance(problem, state, solver, step)
        new = state["w"].copy()
        if mode == "free":
            new[-1] = state["b"][0]
        slack = 1 - y * (Z @ new)
        member = c > 0
        np.testing.assert_allclose(state["rows"][0][member], slack[member], atol=1e-12)
        # The sums are those of the slacks: naive duals, curvature and loss.
        width = state["numbers"][1]
        if loss == "hinge":
            a = c * np.clip(0.5 + slack / (2 * width), 0, 1)
            curvature = np.where(np.abs(slack) < width, c / (2 * width), 0)
        else:
            a, curvature = 2 * c * np.maximum(slack, 0), np.where(slack > 0, 2 * c, 0)
        np.testing.assert_array_equal(solver.duals(problem, state)(0, 80)[:, 0] > 0, a * member > 0)
        gradient = Z.T @ (a * y)
        expected = gradient.copy()
        if mode == "free":
            expected[-1] = 0.0
        np.testing.assert_allclose(state["sums"][-1], expected, atol=1e-9)
        matrix = np.triu((Z * curvature[:, None]).T @ Z)
        np.testing.assert_allclose(np.triu(state["sums"][:-1]), matrix, atol=1e-9)
        # The direction from here solves Newton's system.
        whole = matrix + np.triu(matrix, 1).T + np.diag(penalty)
        right = gradient - s * new * (np.arange(6) < (5 if mode == "free" else 6))
        direction = state["direction"][:-1].copy()
        if mode == "free":
            direction[-1] = state["direction"][-1]
        np.testing.assert_allclose(whole @ direction, right, atol=1e-9)
        moved += not np.array_equal(new, weights)
        weights = new
        if solver.stalled(problem, state):  # the squared hinge has a last step
            break
    assert moved >= 3


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_the_smoothed_objective_falls_at_every_step(C):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1000, 4))
    y = np.where(np.arange(1000) % 50 == 0, 1.0, -1.0)  # few of one class
    problem = make_problem(X, y[:, None], C=C, intercept="free")
    solver = Newton(aim=1e-6)
    state = solver.start(problem, 0)

    def objective(width):
        m = 1 - y * (X @ state["w"][:-1] + state["b"][0])
        rounded = np.where(m >= width, m, np.maximum(0, m + width) ** 2 / (4 * width))
        return state["w"] @ state["w"] / (2 * C) + rounded.sum()

    before = np.inf
    for step in range(1, 25):
        advance(problem, state, solver, step)
        now = objective(state["numbers"][1])
        assert now <= before * (1 + 1e-9)  # a narrower width only lowers it
        before = now


def test_a_few_iterations_do_where_rows_are_many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 8))
    y = np.where(X @ rng.standard_normal(8) + rng.standard_normal(20_000) > 0, 1, -1)
    for C in (0.01, 1.0, 100.0):
        for mode in MODES:
            result = pegasos.solve(X, y, C=C, solver="newton", intercept=mode, tol=1e-3)
            assert result.stop_reason == "converged"
            assert result.epochs <= 12


def test_a_sample_comes_first_where_rows_are_very_many():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 8))
    y = np.where(X @ rng.standard_normal(8) + rng.standard_normal(20_000) > 0, 1, -1)
    problem = make_problem(X, y[:, None], C=1.0, intercept="free")
    solver = Newton()
    state = solver.start(problem, 0)
    advance(problem, state, solver, 1)
    assert state.seen == 20_000 // 16
    assert solver.estimate(problem, state) == np.inf  # a sample proves nothing
    assert pegasos.solve(X, y, C=1.0, solver="newton", tol=1e-3).certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_pauses_in_a_sample_do_not_change_a_bit(storage):
    data = toy(1 << 14, 5, seed=4)
    X = data.X if storage == "dense" else data.csr()
    site = Memory(range_values=1 << 16, range_products=1 << 14)
    problem = make_problem(X, data.Y, C=1.0, intercept="free", site=site)
    ranges = {len(problem.site.ranges(problem, matrix=matrix)) for matrix in (True, False)}
    assert min(ranges) >= 4
    solver = Newton()
    whole, paused = solver.start(problem, 0), solver.start(problem, 0)
    advance(problem, whole, solver, 1)
    assert solver.every(whole) > 1
    advance(problem, whole, solver, 12)
    assert solver.every(whole) == 1  # all rows, by now
    calls = 1
    while not solver.advance(problem, paused, work=1, stop_seen=1 << 60, stop_steps=12):
        calls += 1
    assert calls > 12 * (max(ranges) + 2 * min(ranges))
    for name, array in whole.arrays.items():
        assert array.tobytes() == paused.arrays[name].tobytes(), name


def test_a_class_of_few_rows_gets_its_free_intercept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 12)) + 3
    y = np.where(np.arange(3000) % 500 == 0, 1, -1)
    for C in (1e-2, 1.0, 100.0):
        result = pegasos.solve(X, y, C=C, solver="newton", tol=1e-5)
        assert result.stop_reason == "converged"


@pytest.mark.parametrize("C", [1e-9, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_rare_class_beside_very_many_rows(C, loss):
    X = np.random.default_rng(0).standard_normal((20_000, 8))
    rare = np.where(np.arange(20_000) % 50 == 0, 1, -1)
    absent = np.full(20_000, -1)  # from the sample
    absent[[20, 30, 40, 1000]] = 1
    for y in (rare, absent):
        result = pegasos.solve(
            X, y, C=C, solver="newton", tol=1e-4, loss=loss, max_epochs=200, n_jobs=1
        )
        assert result.stop_reason == "converged"
        assert result.epochs <= 60


def test_weights_are_never_forgotten_on_the_way():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 4))
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1, -1)
    problem = make_problem(X, y[:, None], C=1.0, intercept="free")
    solver = Newton()
    state = solver.start(problem, 0)
    advance(problem, state, solver, 1)
    for _ in range(60):
        solver.advance(problem, state, work=1, stop_seen=1 << 60, stop_steps=1 << 60)
        assert state["w"].any()
    assert state["numbers"][4] == 1.0  # all rows by now


def test_a_tolerance_beyond_float64_ends_at_the_last_digits():
    data = toy(150, 5, seed=11)
    result = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, solver="newton", intercept="none", tol=0.0, max_epochs=2000
    )
    assert result.stop_reason == "precision"
    assert result.epochs < 2000
    assert result.certificate.relative_gap < 1e-12


def test_the_state_is_small():
    data = toy(2000, 30, seed=14)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="free")
    size = sum(array.nbytes for array in Newton().start(problem, 0).arrays.values())
    assert size <= 16 * 2000 + 16 * 32**2 + 10_000


def test_a_run_sets_the_aim():
    data = toy(60, 4, seed=15)
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, solver=Newton(), tol=1e-5)
    assert result.solver == Newton(aim=1e-5)
    assert Newton(aim=1e-7).aimed_at(1e-3) == Newton(aim=1e-7)  # unless it was told


@pytest.mark.parametrize("aim", [-1.0, np.nan, np.inf])
def test_an_aim_that_is_none_is_refused(aim):
    with pytest.raises(ValueError, match="aim must be finite"):
        Newton(aim=aim)
