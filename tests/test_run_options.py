"""What is asked of an estimator, or of ``solve``, is what the driver is told, whatever the task."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.common.toys import toy

import pegasos
from pegasos.kernel import tasks as lanes
from pegasos.problem import make_problem
from pegasos.run import driver, side_by_side
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.sites.memory import Memory

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 6))
CLASSES = np.argmax(X[:, :3] + RNG.random((150, 3)), axis=1)
LABELS = (X[:, :3] + RNG.random((150, 3)) > 0.5).astype(int)


@pytest.fixture
def told(monkeypatch):
    """The options of all runs of the driver."""
    seen = []

    def run(problem, solver, options):
        seen.append(options)
        return driver.run(problem, solver, options)

    monkeypatch.setattr(side_by_side, "run", run)
    monkeypatch.setattr(lanes, "run", run)
    return seen


def watch(_):
    """A callback."""


def hear(_):
    """One that lets others ask."""


hear.only_watches = True

ASKED = {"tol": 0.037, "max_time": 1234.0, "random_state": 5, "n_jobs": 1}
FITS = {
    "one lane": (pegasos.LinearSVC, CLASSES == 1, {"max_iter": 77.0}),
    "ovr": (pegasos.LinearSVC, CLASSES, {"max_iter": 77.0}),
    "together": (pegasos.LinearSVC, CLASSES, {"max_iter": 77.0, "solver": "sgds"}),
    "pairs": (pegasos.LinearSVC, CLASSES, {"max_iter": 77.0, "multi_class": "ovo"}),
    "joint": (pegasos.LinearSVC, CLASSES, {"max_iter": 77.0, "multi_class": "crammer_singer"}),
    "labels": (pegasos.LinearSVC, LABELS, {"max_iter": 77.0}),
    "kernel": (pegasos.SVC, CLASSES == 1, {"max_iter": 7700}),
    "kernel, pairs": (pegasos.SVC, CLASSES, {"max_iter": 7700}),
    "features": (pegasos.SVC, CLASSES, {"max_iter": 77, "approximation": "fourier",
                                        "n_components": 9}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(("kind", "y", "own"), FITS.values(), ids=FITS)
def test_what_an_estimator_is_asked_reaches_the_driver(kind, y, own, saved, told, tmp_path):
    saving = {"checkpoint": tmp_path / "a", "checkpoint_every": 9.0} if saved else {}
    kind(callbacks=[watch], **ASKED, **own, **saving).fit(X, y)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    steps = kind is pegasos.SVC and "approximation" not in own
    limit = {"max_steps" if steps else "max_epochs": own["max_iter"]}
    assert told
    began = {options.began for options in told}
    for options in told:
        # Tiny problems are solved to more digits than asked for.
        assert options.tol == (0.037 if steps or own.get("multi_class") == "crammer_singer" else
                               min(0.037, options.tol))  # fmt: skip
        assert options.limits == Limits(max_time=1234.0, **limit)
        assert options.seed == seed
        assert options.is_eager
        assert not options.keep_duals
        assert (options.part is not None) == saved
    assert len(began) == 1
    assert began.pop() > 0
    names = [options.part.name for options in told if saved]
    assert len(set(names)) == len(names)  # each run has a part of its own


def test_folds_are_told_the_same(told):
    folds = {"Cs": [0.1, 1.0], "cv": 3, "solver": "dual", "max_iter": 77.0}
    pegasos.LinearSVCCV(callbacks=[watch], **ASKED, **folds).fit(X, CLASSES == 1)
    path, best = told[:-1], told[-1]
    assert {options.tol for options in told} == {0.037}
    assert [options.limits.max_time for options in path] == [0.8 * 1234.0] * 6
    assert best.limits == Limits(max_time=1234.0, max_epochs=77.0)
    assert all(options.is_eager and options.keep_duals for options in path)
    assert [options.start_duals is None for options in path].count(True) == 3


def test_solve_tells_all_it_is_asked(told):
    calls = {"C": 1.0, "tol": 0.02, "seed": 9, "record_every": 2.0, "max_steps": 10**6}
    pegasos.solve(X, CLASSES == 1, solver="dual", callbacks=[hear], **calls)
    (options,) = told
    assert (options.tol, options.seed, options.record_every) == (0.02, 9, 2.0)
    assert options.limits == Limits(max_steps=10**6)
    assert options.scalar
    assert options.keep_duals
    assert list(options.callbacks) == [hear]
    assert not options.is_eager


def test_options_are_frozen_and_named():
    with pytest.raises(TypeError):
        RunOptions(0.1, Limits(), 0)
    with pytest.raises(TypeError, match="told"):
        RunOptions(tol=0.1, limits=Limits(), seed=0, told=True)
    options = RunOptions(tol=0.1, limits=Limits(), seed=0, callbacks=[hear])
    with pytest.raises(AttributeError):
        options.tol = 1.0
    assert not options.heard_by(watch).is_eager  # records come as they would have
    assert replace(options, callbacks=[hear, watch]).heard_by().is_eager


@dataclass(frozen=True, kw_only=True)
class Plain(pegasos.DualCoordinate):
    """What is run in place of another."""

    of: pegasos.DualCoordinate


class Elsewhere(Memory):
    """A site that combines walks in its own way."""

    def policy(self, solver):
        return Plain(shrink=False, of=solver)


def test_a_site_says_what_is_run_and_the_outcome_what_was_asked_for(monkeypatch):
    data, ran, plain = toy(60, 5), [], pegasos.DualCoordinate.advance

    def advance(self, problem, state, **budget):
        ran.append(self)
        return plain(self, problem, state, **budget)

    monkeypatch.setattr(pegasos.DualCoordinate, "advance", advance)
    problem = make_problem(data.X, data.Y, C=1.0, site=Elsewhere())
    asked = pegasos.DualCoordinate(second_order=False)
    outcome = driver.run(problem, asked, RunOptions(tol=1e-3, limits=Limits(), seed=0))
    assert outcome.solver == asked
    assert {type(solver) for solver in ran} == {Plain}
    assert {solver.of for solver in ran} == {asked}
