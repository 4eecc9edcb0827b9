"""Where a run pauses, is saved or goes on changes no bit."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.sites.cells import optima
from tests.sites.over import over

FAR = 1 << 60


def start(cell, place):
    problem = place.problem(cell.rows, **cell.options)
    solver = cell.config.aimed_at(1e-6)
    problem = problem.take(np.arange(solver.lanes_at_once(problem)))
    return problem, solver, solver.start(problem, 7)


@over(lambda place, _: place.here)
def test_pauses_change_no_bit_of_a_state(cell, place):
    """In one go, and in pieces that are begun with nothing but a copy of the arrays."""
    rng = np.random.default_rng(0)
    slices = {4: lambda: 1, 7.05: lambda: int(rng.integers(1, 60))}
    for epochs, size in slices.items():
        problem, solver, whole = start(cell, place)
        stops = {"stop_seen": int(epochs * problem.n), "stop_steps": FAR}
        assert solver.advance(problem, whole, work=FAR, **stops)
        problem, solver, paused = start(cell, place)
        pauses = 0
        while not solver.advance(problem, paused, work=size(), **stops):
            pauses += 1
            if pauses % 7 == 0:
                copies = {name: array.copy() for name, array in paused.arrays.items()}
                paused = replace(solver.resumed(problem, copies), there=paused.there)
        assert pauses >= epochs
        assert whole.seen >= epochs * problem.n - 1
        for name, array in whole.arrays.items():
            assert array.tobytes() == paused.arrays[name].tobytes(), name


class Dies:
    """Ends a run as a power cut does, after so many pauses."""

    only_watches = True

    def __init__(self, after):
        self.left = after

    def __call__(self, record):
        pass

    def tick(self, _):
        self.left -= 1
        if self.left == 0:
            raise PowerCut


class PowerCut(BaseException):
    pass


def same(found, expected):
    assert found.w.tobytes() == expected.w.tobytes()
    assert np.asarray(found.b).tobytes() == np.asarray(expected.b).tobytes()
    assert np.asarray(found.duals).tobytes() == np.asarray(expected.duals).tobytes()
    assert found.stop_reason == expected.stop_reason
    assert found.epochs == expected.epochs
    assert found.history["examples"].tolist() == expected.history["examples"].tolist()


def trained(cell, place):
    rows = cell.rows
    options = {"max_epochs": 12} | cell.run | {"tol": cell.tol / 10}
    return partial(place.solve, rows.X, rows.Y, rows.weight, **options)


@over(lambda place, _: place.resumes)
def test_however_the_driver_slices_the_bits_are_the_same(cell, place, many_pauses):
    run = trained(cell, place)
    expected = run()
    many_pauses()
    same(run(), expected)


@over(lambda place, _: place.resumes)
def test_a_run_that_died_is_resumed_to_the_same_bits(cell, place, many_pauses, tmp_path):
    run = trained(cell, place)
    expected = run()
    many_pauses()
    for moment in (2, 9):
        folder = tmp_path / f"{moment}.run"
        with pytest.raises(PowerCut):
            run(callbacks=[Dies(moment)], checkpoint=folder, checkpoint_every=0)
        same(run(resume=folder), expected)


@over(lambda place, _: place.resumes, loss=["hinge"], storage=["dense"])
def test_a_limit_can_be_raised_afterwards(cell, place, tmp_path):
    rows = cell.rows
    run = partial(place.solve, rows.X, rows.Y, rows.weight, tol=cell.tol, **cell.run)
    expected = run(max_epochs=3000)
    short = run(max_epochs=3, checkpoint=tmp_path / "run")
    assert short.stop_reason == "max_epochs"
    found = run(max_epochs=3000, resume=tmp_path / "run")
    assert found.stop_reason == "converged"
    same(found, expected)


@over(lambda place, _: place.goes_on)
def test_a_run_that_died_goes_on_to_the_optimum(cell, place, many_pauses, tmp_path):
    rows, many = cell.rows, {"tol": cell.tol, "max_epochs": 3000}
    run = partial(place.solve, rows.X, rows.Y, rows.weight, **cell.run | many)
    many_pauses()
    with pytest.raises(PowerCut):
        run(callbacks=[Dies(4)], checkpoint=tmp_path / "run", checkpoint_every=0)
    found = run(resume=tmp_path / "run")
    assert found.stop_reason == "converged"
    best = optima(cell.loss, cell.intercept, cell.lanes)
    assert (found.certificate.primal <= best * (1 + cell.tol)).all()
    assert (found.certificate.dual <= best * (1 + 1e-8)).all()
    assert (found.certificate.relative_gap <= cell.tol).all()


@over(lambda place, _: place.goes_on)
def test_a_run_goes_on_from_the_model_that_was_saved(cell, place, tmp_path):
    rows = cell.rows
    options = cell.run | {"tol": 1e-9, "max_epochs": 3}
    run = partial(place.solve, rows.X, rows.Y, rows.weight, **options)
    short = run(checkpoint=tmp_path / "run")
    again = run(resume=tmp_path / "run")
    assert short.stop_reason == again.stop_reason == "max_epochs"
    np.testing.assert_array_equal(again.w, short.w)
    np.testing.assert_allclose(again.certificate.primal, short.certificate.primal, rtol=1e-9)
    # Newton's duals are of slacks, and a free intercept's of curvatures: the next pass makes both.
    if cell.solver == "dual" or (cell.solver == "interior" and cell.intercept != "free"):
        np.testing.assert_allclose(again.certificate.dual, short.certificate.dual, rtol=1e-9)
    assert again.epochs == short.epochs
