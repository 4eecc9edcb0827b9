"""A training finds the optimum of memory and proves it, or says why it ended."""

import numpy as np
from tests.sites.cells import ROWS, optima
from tests.sites.over import over
from tests.sites.places import PLACES

from pegasos.certificate import certify
from pegasos.problem import make_problem


def is_certified(result, cell):
    """The bounds hold, and are those of the same model and duals in memory."""
    rows, proof, free = cell.rows, result.certificate, cell.intercept == "free"
    problem = make_problem(rows.X, rows.Y, sample_weight=rows.weight, **cell.options)
    W = np.zeros(problem.weights_shape)
    W[:-1, : cell.lanes] = result.w.T
    if not free:
        W[-1, : cell.lanes] = result.b
    a = result.duals if np.size(result.duals) else np.zeros(rows.Y.shape)
    assert proof.holds
    for as_is in (True, False):
        again, _ = certify(problem, W, result.b, lambda lo, hi: a[lo:hi], as_is=as_is)
        if as_is or not free:
            np.testing.assert_allclose(proof.primal, again.primal, rtol=1e-9)
        else:  # of lanes whose turn came, the b is a best one
            begun = np.abs(result.w).any(axis=1)
            np.testing.assert_allclose(proof.primal[begun], again.primal[begun], rtol=1e-7)
    if np.size(result.duals):
        np.testing.assert_allclose(proof.dual, again.dual, rtol=1e-9, atol=1e-300)


def train(place, cell, **options):
    rows = cell.rows
    return place.solve(rows.X, rows.Y, rows.weight, **cell.run | options)


@over()
def test_trainings_prove_the_optimum_of_brute_force(cell, place):
    found = train(place, cell, tol=cell.tol, max_epochs=3000)
    assert found.stop_reason == "converged"
    assert (found.certificate.relative_gap <= cell.tol).all()
    is_certified(found, cell)
    best = optima(cell.loss, cell.intercept, cell.lanes)
    assert (found.certificate.primal >= best * (1 - 1e-8)).all()
    assert (found.certificate.primal <= best * (1 + cell.tol)).all()
    assert (found.certificate.dual <= best * (1 + 1e-8)).all()


@over(
    lambda place, cell: place.here and place.name != "memory" and cell.config.by_passes, lanes=[1]
)
def test_second_order_steps_are_those_in_memory(cell, place):
    """Passes add up the same numbers in another order, so an iteration is the same step."""
    rows, solver, steps = cell.rows, cell.config.aimed_at(1e-6), 6
    states = []
    for one in (PLACES["memory"], place):
        problem = one.problem(rows, **cell.options)
        state = solver.start(problem, 0)
        assert solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=steps)
        states.append((state["w"].reshape(-1), solver.duals(problem, state)(0, ROWS)))
    (w, a), (other_w, other_a) = states
    assert np.abs(w).max() > 0.1
    np.testing.assert_allclose(other_w, w, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(other_a, a, rtol=1e-5, atol=1e-6)


@over(loss=["hinge"])
def test_epochs_and_records_are_counted_and_the_gap_falls(cell, place):
    records = []
    found = train(
        place, cell, tol=1e-9, max_epochs=20 if cell.config.exact else 60, record_every=1.0,
        callbacks=[records.append],
    )  # fmt: skip
    assert len(records) >= 2
    assert tuple(records) == found.history.records
    epochs = [record.epoch for record in records]
    assert epochs == sorted(set(epochs))
    assert records[-1].certificate.primal.tolist() == found.certificate.primal.tolist()
    gaps = np.array([record.gap.sum() for record in records])
    assert gaps[-1] < 0.5 * gaps[0]
    is_certified(found, cell)


@over(loss=["hinge"], storage=["dense"])
def test_limits_end_a_run_with_a_certified_model(cell, place):
    short = train(place, cell, tol=0, max_epochs=2)
    assert short.stop_reason == "max_epochs"
    apart = cell.config.lanes_apart and place.here  # epochs are then counted one after the other
    assert 2 <= short.epochs <= (2 * cell.lanes if apart else 3)
    is_certified(short, cell)
    late = train(place, cell, tol=0, max_time=1e-9)
    assert late.stop_reason == "max_time"
    is_certified(late, cell)


@over(loss=["hinge"], storage=["dense"])
def test_a_callback_ends_a_run_with_what_it_saw_last(cell, place):
    seen = []

    def second(record):
        seen.append(record)
        return len(seen) == 2

    found = train(place, cell, tol=0, callbacks=[second], max_epochs=50)
    assert found.stop_reason == "callback"
    assert len(seen) == 2
    assert found.certificate.primal.tolist() == seen[-1].certificate.primal.tolist()
    is_certified(found, cell)


@over(loss=["hinge"], storage=["dense"])
def test_ctrl_c_leaves_a_certified_model(cell, place, ctrl_c):
    pressed = []

    def press(record):
        if not pressed:
            pressed.append(record)
            ctrl_c()

    found = train(place, cell, tol=0, callbacks=[press], max_epochs=500)
    assert found.stop_reason == "interrupted"
    assert found.certificate.primal.min() <= pressed[0].certificate.primal.min()
    assert np.abs(found.w).max() > 0
    is_certified(found, cell)
