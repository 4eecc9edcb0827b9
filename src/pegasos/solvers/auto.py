"""``solver="auto"``: which exact solver, and when to change over.

The cost model, in nanoseconds of one core (``benchmarks/auto.py`` measures it; only ratios matter),
for n rows of m stored values, d features and K lanes:

    a pass of DualCoordinate    n (visit + value m K / 4)
    Newton to tol               K (iterations (n (newton_row + newton_value m) + factor d^3)
                                   + _NEWTON_GRAMS n gram m^2 / 2)
    InteriorPoint to tol        K iterations (n (row + row_value m + gram m^2 / 2) + factor d^3)

with the names of ``pegasos.sites.costs``: a site says what its passes cost, apart for dense and for
sparse rows. Where rows cannot be visited, the choice is between the two second-order solvers.

Newton is the quickest by far where there are many rows for every feature, and slow where there are
not; InteriorPoint hardly depends on the data. How many passes DualCoordinate needs cannot be known
beforehand: few where C is small or the features many, thousands where C is large and the features
few. So where the matrix of features x features is no bargain, DualCoordinate starts, and after a
few passes its gaps tell how many more it will take: if they went on falling by the same factor per
pass, so many; in truth about half as many again, since they fall ever more slowly. If the solver
with the matrix costs less than those, it takes over. Where it costs no more than the first passes,
it has the problem from the start. From Newton, InteriorPoint takes over by the same rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from pegasos.problem import Problem
from pegasos.sites.costs import PassCosts
from pegasos.solvers.base import SolverOf
from pegasos.solvers.dual import DualCoordinate
from pegasos.solvers.interior import InteriorPoint
from pegasos.solvers.newton import Newton
from pegasos.solvers.normal import check_features

# The tuned numbers of auto. benchmarks/auto.py has what solvers take on real data, and auto over
# the best of them. "Not measured apart": no other value is on record.

# What solvers need to 1e-3, for the cost model: typical of benchmarks/auto.py.
_INTERIOR_ITERATIONS = 12.0  # one more for each further digit
_NEWTON_ITERATIONS = 10.0  # three more for each further digit
_NEWTON_GRAMS = 1.5  # matrices of all rows: each iteration's has those near the kink alone

# When to change over.
_PASSES_OVER_PROMISED = 1.5  # gaps fall ever more slowly than the last passes promise
_FEWEST_GAPS = 4  # before they say anything; not measured apart
_BARGAIN_PASSES = 16  # of DualCoordinate: what costs no more begins; not measured apart
# Shares of the fallback's cost that are spent before anything is left. Newton's gaps fall all at
# once, so that those of its first iterations say nothing. Not measured apart.
_DUAL_TRIED, _NEWTON_TRIED = 1 / 12, 1 / 2

# Sizes at which the model is not asked.
TINY_VALUES = 1 << 14  # stored x lanes: InteriorPoint takes milliseconds, whatever tol is
_TINY_FEATURES = 300  # with that; not measured apart
MOST_FEATURES = 3000  # for a matrix of features x features; not measured apart
_MOST_SMALL_MATRIX_BYTES = 5e7  # larger ones may take as much memory as X; a bound on memory


@dataclass(frozen=True)
class Choice:
    """The solver to start with, and what may take over."""

    solver: SolverOf[Any]
    reason: str
    fallback: Choice | None = None
    fallback_epochs: float = math.inf  # what the fallback costs, in epochs of ``solver``
    tried: float = _DUAL_TRIED  # share of that cost which is spent before ``solver`` is judged

    def takes_over(
        self, epochs: list[float], gaps: list[float], tol: float, share: float = 1.0
    ) -> bool:
        """Whether ``solver``, with these gaps after these epochs, is better left.

        ``share`` of the lanes that ``fallback_epochs`` are for are left to train.
        """
        if self.fallback is None or len(gaps) < _FEWEST_GAPS:
            return False
        if epochs[-1] < self.tried * self.fallback_epochs:
            return False
        return (
            _PASSES_OVER_PROMISED * epochs_to_go(epochs, gaps, tol) > share * self.fallback_epochs
        )


def epochs_to_go(epochs: list[float], gaps: list[float], tol: float) -> float:
    """Epochs until the gap is ``tol``, if it goes on falling as since half of the epochs.

    A gap that later rose was an estimate from too few rows, and says nothing.
    """
    worst = list(accumulate(reversed(gaps), max))[::-1]
    told = [(at, gap) for at, gap, later in zip(epochs, gaps, worst, strict=True) if gap >= later]
    if not told:  # the last one is no number
        return math.inf
    now, gap = told[-1]
    if gap <= tol:
        return 0.0
    if len(told) == 1:
        return math.inf
    half, before = min(told[:-1], key=lambda point: abs(point[0] - now / 2))
    if math.isfinite(gap) and math.isinf(before):
        return 0.0  # there was no bound before: too early to tell
    if tol <= 0 or not gap < before:
        return math.inf
    return math.log(gap / tol) / math.log(before / gap) * (now - half)


def fixed(solver: SolverOf[Any]) -> Choice:
    """The solver that was asked for."""
    return Choice(solver, "as asked for")


def choose(problem: Problem, tol: float) -> Choice:
    """The exact solvers for a problem, by the cost model above."""
    rows, d = problem.rows, problem.rows.d
    if problem.balance is not None:
        return Choice(DualCoordinate(), "DualCoordinate: no other solver trains a balance")
    if not problem.site.has_rows:
        check_features(f"exact solvers on a {problem.site.name} factor matrices", problem)
        second, _ = _second_order(problem, tol)
        name = type(second.solver).__name__
        return replace(second, reason=f"{name}: {problem.site.told(problem)}")
    matrix = 24.0 * d * d
    if d > MOST_FEATURES or matrix > max(_MOST_SMALL_MATRIX_BYTES, rows.n * rows.row_bytes):
        return Choice(
            DualCoordinate(),
            f"DualCoordinate: {d} features are too many for InteriorPoint's matrices",
        )
    if d <= _TINY_FEATURES and rows.n * rows.row_size * problem.lanes <= TINY_VALUES:
        return Choice(InteriorPoint(), f"InteriorPoint: {rows.n} rows of {d} features are few")
    shape = f"{rows.n} rows of {rows.row_size:.3g} values, {d} features"
    second, cost = _second_order(problem, tol)
    epochs = cost / dual_cost(problem)
    name = type(second.solver).__name__
    if epochs <= _BARGAIN_PASSES:
        reason = f"{name}: for {shape} it costs as much as {epochs:.2g} passes of DualCoordinate"
        return replace(second, reason=reason)
    discouraged = problem.site.discourages(DualCoordinate(), problem, tol, epochs)
    if discouraged is not None:
        return replace(second, reason=f"{name}: {discouraged}")
    return Choice(
        DualCoordinate(),
        f"DualCoordinate first; for {shape} {name} costs as much as {epochs:.3g} passes, and takes "
        "over if more are to come",
        second,
        epochs,
    )


def _second_order(problem: Problem, tol: float) -> tuple[Choice, float]:
    """The second-order solver for the shape, and what it costs."""
    interior, costs = interior_cost(problem, tol), _costs(problem)
    last = Choice(InteriorPoint(), "InteriorPoint")
    if problem.n < costs.newton_rows * problem.rows.d or problem.lanes > costs.newton_lanes:
        return last, interior
    epochs = costs.interior_epochs
    if epochs is None:  # lanes go one after the other, and are left one by one
        epochs = interior / problem.lanes / newton_iteration(problem)
    return Choice(Newton(), "Newton", last, epochs, _NEWTON_TRIED), newton_cost(problem, tol)


def dual_cost(problem: Problem) -> float:
    """Nanoseconds of one pass over all rows."""
    costs, lanes = _costs(problem), max(1.0, problem.weights_shape[1] / 4)
    return problem.n * (costs.visit + costs.value * problem.rows.row_size * lanes)


def newton_iteration(problem: Problem) -> float:
    """Nanoseconds of an iteration of one lane, its matrix apart."""
    costs = _costs(problem)
    row = costs.newton_row + costs.newton_value * problem.rows.row_size
    return problem.n * row + costs.factor * problem.rows.d**3


def newton_cost(problem: Problem, tol: float) -> float:
    """Nanoseconds of all lanes to ``tol``."""
    iterations = _NEWTON_ITERATIONS + 3 * _digits(tol)
    matrices = _NEWTON_GRAMS * problem.n * _gram(problem)
    return problem.lanes * (iterations * newton_iteration(problem) + matrices)


def interior_cost(problem: Problem, tol: float) -> float:
    """Nanoseconds of all lanes to ``tol``."""
    iterations, costs = _INTERIOR_ITERATIONS + _digits(tol), _costs(problem)
    row = costs.row + costs.row_value * problem.rows.row_size + _gram(problem)
    return iterations * problem.lanes * (problem.n * row + costs.factor * problem.rows.d**3)


def _gram(problem: Problem) -> float:
    """Nanoseconds of a row in the Gram matrix."""
    return _costs(problem).gram * problem.rows.row_size**2 / 2  # of dense rows, d^2 / 2


def _costs(problem: Problem) -> PassCosts:
    return problem.site.pass_costs(problem.rows)


def _digits(tol: float) -> float:
    """Digits beyond 1e-3."""
    return max(0.0, -math.log10(max(tol, 1e-12)) - 3)
