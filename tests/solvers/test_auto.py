"""auto: what it chooses, when it changes over, and that the result is proven either way."""

import math

import numpy as np
import pytest

import pegasos
from pegasos.problem import make_problem
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.solvers.auto import Choice, choose, epochs_to_go, fixed


def test_gaps_that_halve_go_on_halving():
    epochs, gaps = [1.0, 2.0, 3.0, 4.0], [0.8, 0.4, 0.2, 0.1]
    assert epochs_to_go(epochs, gaps, 0.1 / 2**5) == pytest.approx(5.0)
    assert epochs_to_go(epochs, gaps, 0.2) == 0.0
    assert epochs_to_go(epochs, [0.1, 0.1, 0.1, 0.1], 1e-3) == math.inf
    assert epochs_to_go(epochs, [math.inf, math.inf, math.inf, 3.0], 1e-3) == 0.0
    assert epochs_to_go(epochs, [0.1, 0.2, 0.3, 0.4], 1e-3) == math.inf
    assert epochs_to_go(epochs, [0.8, 0.4, 0.2, math.nan], 1e-3) == math.inf


def test_gaps_that_rows_which_came_back_refute_say_nothing():
    refuted = epochs_to_go([1.0, 2.0, 3.0, 4.0], [0.8, 0.1, 0.2, 0.1], 1e-3)
    assert refuted == epochs_to_go([1.0, 3.0, 4.0], [0.8, 0.2, 0.1], 1e-3)
    # Nor that the last one, the first of all rows for a while, is no less than those before.
    epochs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert epochs_to_go(epochs, [0.8, 0.4, 0.2, 1e-6, 1e-6, 0.025], 0.025 / 2) == pytest.approx(1.0)


def test_the_fallback_takes_over_only_if_it_is_cheaper():
    choice = Choice(pegasos.DualCoordinate(), "", fixed(pegasos.InteriorPoint()), 20.0)
    epochs, gaps = [1.0, 2.0, 3.0, 4.0], [0.8, 0.4, 0.2, 0.1]
    assert not choice.takes_over(epochs, gaps, 1e-3)  # 7 epochs to go
    assert choice.takes_over(epochs, gaps, 1e-9)  # 27
    assert choice.takes_over(epochs, gaps, 1e-3, share=0.25)  # for a quarter of the lanes
    assert not choice.takes_over(epochs[:3], gaps[:3], 1e-9)  # too early


def test_many_features_are_left_to_dual_coordinate():
    problem = make_problem(np.eye(4, 5000), [[1], [-1], [1], [-1]], C=1.0)
    assert choose(problem, 1e-3).solver == pegasos.DualCoordinate()
    assert choose(problem, 1e-3).fallback is None


def crawling(n, d):
    """Rows on which coordinates crawl: few features, far from the origin, a large C."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 3
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize(
    ("n", "d", "name", "said"),
    [
        (20_000, 10, "newton", "Newton: for 20000 rows"),  # many for every feature
        (3000, 60, "interior", "InteriorPoint took over after"),  # coordinates crawl
    ],
)
def test_a_second_order_solver_ends_it(n, d, name, said):
    result = pegasos.solve(*crawling(n, d), C=100.0, tol=1e-6, seed=0)
    assert result.stop_reason == "converged"
    assert result.solver.name == name
    assert said in result.reason
    assert result.certificate.relative_gap <= 1e-6


def test_every_lane_is_proven_when_the_solver_changes_between_lanes():
    X, y = crawling(3000, 12)
    labels = np.stack([y, np.roll(y, 7), -y], axis=1)
    problem = make_problem(X, labels, C=[0.1, 1.0, 100.0], intercept="free")
    choice = Choice(pegasos.Newton(), "first", fixed(pegasos.InteriorPoint()), 4.0, 0.5)
    outcome = run(problem, choice, RunOptions(tol=1e-9, limits=Limits(), seed=0))
    assert outcome.stop_reason == "converged"
    assert "InteriorPoint took over" in outcome.reason
    assert (outcome.certificate.relative_gap <= 1e-9).all()


def test_a_stalled_solver_is_certified_before_it_is_left(monkeypatch):
    X, y = crawling(3000, 5)
    problem = make_problem(X, y[:, None], C=1.0, intercept="none")
    monkeypatch.setattr(pegasos.Newton, "stalled", lambda *_: True)
    choice = Choice(pegasos.Newton(), "first", fixed(pegasos.InteriorPoint()), 4.0, 0.5)
    outcome = run(problem, choice, RunOptions(tol=1e-6, limits=Limits(), seed=0))
    assert outcome.stop_reason == "converged"
    assert len(outcome.history.records) >= 2
    assert outcome.reason.startswith("first; InteriorPoint took over")


def test_epochs_are_counted_over_all_solvers():
    X, y = crawling(2000, 30)
    problem = make_problem(X, y[:, None], C=100.0, intercept="free")
    choice = Choice(pegasos.DualCoordinate(), "", fixed(pegasos.InteriorPoint()), 4.0)
    outcome = run(problem, choice, RunOptions(tol=0.0, limits=Limits(max_epochs=9), seed=0))
    assert "took over" in outcome.reason
    assert outcome.stop_reason == "max_epochs"
    assert outcome.epochs <= 9


def test_lanes_that_go_one_by_one_are_judged_one_by_one():
    X, y = crawling(20_000, 4)
    one = choose(make_problem(X, y[:, None], C=1.0), 1e-3)
    five = choose(make_problem(X, np.stack([y] * 5, axis=1), C=1.0), 1e-3)
    newton = five if five.solver.name == "newton" else five.fallback
    assert newton.fallback_epochs == pytest.approx(one.fallback_epochs)
