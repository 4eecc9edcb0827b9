"""Lanes that are proven leave, and the others go on as if alone; warm starts along C."""

import numpy as np
from tests.sites.cells import ROWS, SOLVERS, C
from tests.sites.over import over

import pegasos
from pegasos.certificate import certify
from pegasos.problem import make_problem

NOISE = np.array([0.0, 0.7, 8.0])  # in the labels of a lane: one is separable, one all but noise
LANES = NOISE.size


def labels_of(rows):
    """Lanes that are proven at different times; some rows are not in all."""
    rng = np.random.default_rng(5)
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    noise = rng.standard_normal((ROWS, LANES)) * NOISE
    Y = np.where((X @ rng.standard_normal(X.shape[1]))[:, None] + noise > 0, 1, -1)
    Y[rng.uniform(size=Y.shape) < 0.1] = 0
    Y[:2] = [[1], [-1]]
    return Y.astype(np.int8)


@over(lanes=[1])
def test_lanes_leave_when_they_are_proven(cell, place):
    rows, Y = cell.rows, labels_of(cell.rows)
    options = cell.run | {"tol": cell.tol, "max_epochs": 5000}
    found = place.solve(rows.X, Y, rows.weight, record_every=1.0, **options)
    assert found.stop_reason == "converged"
    bounds = np.stack([found.history["primal"], found.history["dual"]])
    left = np.argmax(found.history["relative_gap"] <= cell.tol, axis=0)
    assert len(set(left.tolist())) > 1
    for k in range(LANES):
        # What was proven is kept as it was then.
        assert (bounds[:, left[k] :, k] == bounds[:, -1:, k]).all()
        alone = pegasos.solve(rows.X, Y[:, [k]], sample_weight=rows.weight, **options)
        close = cell.tol * alone.certificate.primal[0]
        assert abs(found.certificate.primal[k] - alone.certificate.primal[0]) <= close
    if np.size(found.duals):
        again = pegasos.certify(
            rows.X, Y, found.w, found.b, found.duals, sample_weight=rows.weight, **cell.options
        )
        np.testing.assert_allclose(found.certificate.primal, again.primal, rtol=1e-9)
        assert (again.relative_gap <= cell.tol * (1 + 1e-9)).all()


@over(
    lambda place, cell: place.here and not cell.config.lanes_apart,
    lanes=[1], loss=["hinge"], intercept=["none", "free"],
)  # fmt: skip
def test_a_state_of_some_lanes_has_their_weights_and_duals(cell, place):
    rows, Y, solver = cell.rows, labels_of(cell.rows), cell.config
    problem = place.problem(rows.__class__(rows.X, Y, rows.weight), **cell.options)
    state = solver.start(problem, 3)
    solver.advance(problem, state, work=1 << 40, stop_seen=3 * ROWS, stop_steps=1 << 60)
    W, a = solver.weights(problem, state), solver.duals(problem, state)(0, ROWS)
    keep = np.array([0, 2])
    part = problem.take(keep)
    state = solver.take(part, state, keep)
    np.testing.assert_array_equal(solver.weights(part, state)[:, :2], W[:, keep])
    np.testing.assert_array_equal(solver.duals(part, state)(0, ROWS), a[:, keep])
    solver.advance(part, state, work=1 << 40, stop_seen=4 * ROWS, stop_steps=1 << 60)
    assert (solver.weights(part, state)[:, :2] != W[:, keep]).any(axis=0).all()


def epochs_to(tol, problem, solver, duals=None):
    """How many epochs it takes to prove the gap, and the duals then."""
    state = solver.start(problem, 3, duals)
    for epoch in range(1000):
        W, b = solver.weights(problem, state), np.zeros(problem.lanes)
        proof, _ = certify(problem, W, b, solver.duals(problem, state))
        if proof.proves(tol).all():
            return epoch, solver.duals(problem, state)(0, problem.n).copy()
        if epoch:
            solver.refused(problem, state)
        stop = state.seen + problem.n
        solver.advance(problem, state, work=1 << 60, stop_seen=stop, stop_steps=1 << 60)
    raise AssertionError("it does not end")


@over(
    lambda place, cell: place.here and cell.config.warm_starts,
    solver=[name for name, solver in SOLVERS.items() if solver.warm_starts],
)
def test_warm_starts_go_on_along_c(cell, place):
    rows, solver = cell.rows, cell.config
    problem = place.problem(rows, **cell.options)
    cold, a = epochs_to(1e-4, problem, solver)
    again, _ = epochs_to(1e-4, problem, solver, a)
    assert again == 0 < cold
    # The next C begins with the model of these duals, which is that in memory.
    following = problem.at(1.1 * C)
    state = solver.start(following, 3, a)
    memory = make_problem(rows.X, rows.Y, sample_weight=rows.weight, **cell.options).at(1.1 * C)
    here = solver.start(memory, 3, a)
    W, expected = solver.weights(following, state), solver.weights(memory, here)
    np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-12)
    begun = certify(following, W, np.zeros(cell.lanes), lambda lo, hi: a[lo:hi])[0].relative_gap
    cold = solver.start(following, 3)
    solver.advance(following, cold, work=1 << 60, stop_seen=problem.n, stop_steps=1 << 60)
    W, duals = solver.weights(following, cold), solver.duals(following, cold)
    assert (begun < 0.5 * certify(following, W, np.zeros(cell.lanes), duals)[0].relative_gap).all()
    assert epochs_to(1e-4, following, solver, a)[0] < 1000
