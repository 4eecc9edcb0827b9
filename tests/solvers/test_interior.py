"""InteriorPoint: the optimum to nearly all digits, in every intercept mode."""

import numpy as np
import pytest
from tests.common.toys import separable, toy

import pegasos
from pegasos import InteriorPoint
from pegasos.problem import make_problem
from pegasos.sites.memory import Memory

MODES = ["none", "regularized", "free"]


@pytest.mark.parametrize("mode", MODES)
def test_it_agrees_with_coordinate_ascent_where_that_can_train(mode):
    data = toy(200, 6, seed=3)
    y = data.Y[:, 0]
    result = pegasos.solve(data.X, y, C=0.1, solver="interior", intercept=mode, tol=1e-9)
    if mode != "free":
        other = pegasos.solve(
            data.X, y, C=0.1, solver="dual", intercept=mode, tol=1e-9, max_epochs=50_000, seed=0
        )
        np.testing.assert_allclose(result.w, other.w, atol=1e-4)
        assert result.b == pytest.approx(other.b, abs=1e-4)
    else:
        # b is optimal: the classes' duals balance, and no other b has a smaller loss.
        losses = [
            np.maximum(0, 1 - y * (data.X @ result.w + result.b + shift)).sum()
            for shift in (-1e-3, 0.0, 1e-3)
        ]
        assert losses[1] <= min(losses) + 1e-9


SHORT_RANGES = Memory(range_products=1, range_values=5000)
"""300 rows of five features are 5 ranges of the matrix, and at least 2 of other phases."""


def test_duals_stay_inside_the_box():
    data = toy(100, 5, seed=6, absent=0.0)
    problem = make_problem(data.X, data.Y, C=10.0, intercept="none", sample_weight=data.weight)
    solver = InteriorPoint()
    state = solver.start(problem, 0)
    for step in range(1, 30):
        solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=step)
        a = solver.duals(problem, state)(0, 100)
        assert (a > 0).all()
        assert (a <= problem.costs()).all()


def test_a_tolerance_beyond_float64_ends_at_the_last_digits():
    data = toy(150, 5, seed=11)
    X = data.X * 1000 + 5000  # badly scaled: rounding stands in the way of 1e-14
    result = pegasos.solve(
        X, data.Y[:, 0], C=1.0, solver="interior", intercept="free", tol=1e-15, max_epochs=200
    )
    assert result.stop_reason == "precision"
    assert result.epochs < 200
    assert result.certificate.relative_gap < 1e-9


def rare_class(noise):
    """One row in a hundred is positive; a categorical column and six numbers, like covtype's."""
    rng = np.random.default_rng(0)
    n, kinds = 20_000, 30
    kind = np.minimum(rng.geometric(0.15, n) - 1, kinds - 1)
    numbers = rng.random((n, 6))
    score = 2 * numbers @ rng.normal(size=6) + 2 * rng.normal(size=kinds)[kind]
    score += noise * rng.logistic(size=n)
    y = np.where(score > np.quantile(score, 0.99), 1.0, -1.0)
    return np.hstack([numbers, np.eye(kinds)[kind]]), y


@pytest.mark.parametrize("mode", MODES)
def test_a_rare_class_takes_no_more_iterations(mode):
    X, y = rare_class(noise=0.15)
    result = pegasos.solve(X, y, C=100, solver="interior", intercept=mode, tol=1e-8)
    assert result.stop_reason == "converged"
    # From 17 to 23; around a central path of equal products from 30 to 33.
    assert result.epochs <= 24


def test_rounding_is_no_obstacle_where_hardly_any_w_helps():
    # The optimum is all but w = 0, b = -1: every negative row is at the margin, and D grows there.
    X, y = rare_class(noise=1.0)
    result = pegasos.solve(X, y, C=1, solver="interior", intercept="free", tol=1e-8)
    assert result.stop_reason == "converged"
    assert result.epochs <= 20


@pytest.mark.parametrize("mode", MODES)
def test_separable_rows_take_no_more_iterations(mode):
    X, y = separable(10_000, 40)
    result = pegasos.solve(X, y, C=100, solver="interior", intercept=mode, tol=1e-8)
    assert result.stop_reason == "converged"
    # 13; with slacks that start at 1, over 70.
    assert result.epochs <= 20


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weight", [1e-14, 1e-40, 1e-250])
def test_rows_of_next_to_no_weight_let_the_others_move(loss, mode, weight):
    data = toy(60, 6, seed=0)
    weights = np.where(np.arange(60) % 7 == 3, weight, 1.0)
    result = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, sample_weight=weights, solver="interior", intercept=mode,
        loss=loss, tol=1e-8,
    )  # fmt: skip
    assert result.stop_reason == "converged"
    assert result.epochs <= 15


def test_rows_left_out_of_the_matrix_do_not_keep_duals_off_balance():
    # Rows of zeros touch b alone; here they are left out, but b moves far by what each adds.
    rng = np.random.default_rng(6)
    X = rng.integers(0, 3, size=(10_000, 5)).astype(float)
    score = X @ rng.normal(size=5)
    score += score.std() * rng.normal(size=10_000)
    y = np.where(score > np.quantile(score, 0.995), 1.0, -1.0)
    result = pegasos.solve(X, y, C=10, solver="interior", intercept="free", tol=1e-8)
    assert result.stop_reason == "converged"


def test_duals_of_a_free_intercept_balance_to_the_last_digit():
    X, y = rare_class(noise=1.0)
    problem = make_problem(X, y[:, None], C=1.0, intercept="free")
    solver = InteriorPoint()
    state = solver.start(problem, 0)
    for steps in (4, 8, 16):
        solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=steps)
        a = solver.duals(problem, state)(0, y.size)[:, 0]
        assert (a >= 0).all()
        assert (a <= 1).all()
        assert abs(a @ y) <= 1e-12 * a.sum()


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_rows_come_in_ranges_by_what_a_phase_costs(storage):
    data = toy(300, 5, seed=4)
    X = data.X if storage == "dense" else data.csr()
    problem = make_problem(X, data.Y, C=1.0, intercept="free", site=SHORT_RANGES)
    matrix, others = (problem.site.ranges(problem, matrix=matrix) for matrix in (True, False))
    assert len(matrix) == 5
    assert 2 <= len(others) < 5
    for some in (matrix, others):
        assert [row for lo, hi in some for row in range(lo, hi)] == list(range(300))


def test_duals_are_good_in_the_middle_of_a_step_too():
    data = toy(300, 5, seed=4)
    order = np.argsort(data.Y[:, 0])  # the first blocks have one class only
    y = data.Y[order]
    site = Memory(range_values=400)
    problem = make_problem(data.X[order], y, C=1.0, intercept="free", site=site)
    solver = InteriorPoint()
    state = solver.start(problem, 0)
    solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=2)
    least = 0.9 * solver.duals(problem, state)(0, 300)[y < 0].sum()
    while not solver.advance(problem, state, work=1, stop_seen=1 << 60, stop_steps=3):
        assert solver.duals(problem, state)(0, 300)[y < 0].sum() > least


def test_linear_svc_trains_a_free_intercept_with_it():
    data = toy(150, 5, seed=10)
    y = data.Y[:, 0]
    model = pegasos.LinearSVC(C=1.0, solver="interior", intercept="free").fit(data.X + 100, y)
    centred = pegasos.LinearSVC(C=1.0, solver="interior", intercept="free").fit(data.X, y)
    # A free intercept does not care where the origin is.
    np.testing.assert_allclose(model.coef_, centred.coef_, rtol=1e-3, atol=1e-4)


def test_it_says_when_the_last_digits_are_reached():
    data = toy(100, 5, seed=13)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="none")
    solver = InteriorPoint()
    state = solver.start(problem, 0)
    solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=3)
    assert not solver.stalled(problem, state)
    solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=60)
    assert solver.stalled(problem, state)
    assert solver.estimate(problem, state) == np.inf
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, solver="interior", intercept="none")
    np.testing.assert_allclose(state["w"][:-1, 0], result.w, rtol=1e-2, atol=1e-3)


def test_the_state_is_small():
    data = toy(2000, 30, seed=14)
    problem = make_problem(data.X, data.Y, C=1.0, intercept="free")
    size = sum(array.nbytes for array in InteriorPoint().start(problem, 0).arrays.values())
    # One more matrix is for a second thread: 24 bytes x features^2 in all.
    assert size <= 120 * 2000 + 16 * 31**2 + 10_000
