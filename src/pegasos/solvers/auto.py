"""``solver="auto"``: which exact solver, and when to change over.

The cost model, in nanoseconds of one core (``benchmarks/auto.py`` measures it; only ratios matter),
for n rows of m stored values, d features and K lanes:

    a pass of DualCoordinate    n (VISIT + VALUE m K / 4)
    InteriorPoint to tol        K iterations (n (ROW + PASS m + GRAM) + FACTOR d^3)

with the Gram matrix's d^2 / 2 products a row where rows are dense, m^2 / 2 where they are sparse.

How many passes DualCoordinate needs cannot be known beforehand: few where C is small or the
features many, thousands where C is large and the features few. So it starts, and after a few passes
its gaps tell how many more it will take: if they went on falling by the same factor per pass, so
many; in truth about half as many again, since they fall ever more slowly. If InteriorPoint costs
less than those, it takes over. Where InteriorPoint costs no more than the first passes, it has the
problem from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pegasos.problem import Problem
from pegasos.solvers.base import Solver
from pegasos.solvers.dual import DualCoordinate
from pegasos.solvers.interior import InteriorPoint

VISIT, DENSE_VALUE, SPARSE_VALUE = 45.0, 0.75, 1.0
ROW, DENSE_PASS, SPARSE_PASS, DENSE_GRAM, SPARSE_GRAM, FACTOR = 120.0, 4.0, 10.0, 0.062, 1.8, 0.03
DENSE_ITERATIONS, SPARSE_ITERATIONS = 12.0, 20.0  # to 1e-3; one more for each further digit
SLOWER = 1.5  # than the gaps of the last passes promise

_FIRST_PASSES = 4  # of DualCoordinate, before its gaps say anything
_TRIED = 1 / 12  # of the fallback's cost is spent before anything is left
TINY_VALUES = 1 << 14  # stored x lanes: InteriorPoint takes milliseconds, whatever tol is
_TINY_FEATURES = 300
_MOST_FEATURES = 3000
_SMALL_MATRICES = 5e7  # bytes; larger ones may take as much memory as X


@dataclass(frozen=True)
class Choice:
    """The solver to start with, and the one that may take over."""

    solver: Solver
    reason: str
    fallback: Solver | None = None
    fallback_epochs: float = math.inf  # what the fallback costs, in epochs of ``solver``

    def takes_over(
        self, epochs: list[float], gaps: list[float], tol: float, share: float = 1.0
    ) -> bool:
        """Whether ``solver``, with these gaps after these epochs, is better left.

        ``share`` of the lanes are left to train.
        """
        if self.fallback is None or len(gaps) < _FIRST_PASSES:
            return False
        if epochs[-1] < _TRIED * self.fallback_epochs:
            return False
        return SLOWER * epochs_to_go(epochs, gaps, tol) > share * self.fallback_epochs


def epochs_to_go(epochs: list[float], gaps: list[float], tol: float) -> float:
    """Epochs until the gap is ``tol``, if it goes on falling as since half of the epochs."""
    now, gap = epochs[-1], gaps[-1]
    if gap <= tol:
        return 0.0
    half = min(range(len(epochs) - 1), key=lambda i: abs(epochs[i] - now / 2))
    if math.isfinite(gap) and math.isinf(gaps[half]):
        return 0.0  # there was no bound before: too early to tell
    if tol <= 0 or not gap < gaps[half]:
        return math.inf
    return math.log(gap / tol) / math.log(gaps[half] / gap) * (now - epochs[half])


def fixed(solver: Solver) -> Choice:
    """The solver that was asked for."""
    return Choice(solver, "as asked for")


def choose(problem: Problem, tol: float) -> Choice:
    """The exact solvers for a problem, by the cost model above."""
    rows, d = problem.rows, problem.rows.d
    matrix = 24.0 * d * d
    if d > _MOST_FEATURES or matrix > max(_SMALL_MATRICES, rows.n * rows.row_bytes):
        return Choice(
            DualCoordinate(),
            f"DualCoordinate: {d} features are too many for InteriorPoint's matrices",
        )
    if d <= _TINY_FEATURES and rows.n * rows.row_size * problem.lanes <= TINY_VALUES:
        return Choice(InteriorPoint(), f"InteriorPoint: {rows.n} rows of {d} features are few")
    dual, interior = dual_cost(problem), interior_cost(problem, tol)
    shape = f"{rows.n} rows of {rows.row_size:.3g} values, {d} features"
    epochs = interior / dual
    if epochs <= 2 * _FIRST_PASSES:
        return Choice(
            InteriorPoint(),
            f"InteriorPoint: for {shape} it costs no more than {epochs:.2g} passes of "
            "DualCoordinate",
        )
    return Choice(
        DualCoordinate(),
        f"DualCoordinate first; for {shape} InteriorPoint costs as much as {epochs:.3g} passes, "
        "and takes over if more are to come",
        InteriorPoint(),
        epochs,
    )


def dual_cost(problem: Problem) -> float:
    """Nanoseconds of one pass over all rows."""
    value = SPARSE_VALUE if problem.rows.dense is None else DENSE_VALUE
    lanes = max(1.0, problem.weights_shape[1] / 4)
    return problem.n * (VISIT + value * problem.rows.row_size * lanes)


def interior_cost(problem: Problem, tol: float) -> float:
    """Nanoseconds of all lanes to ``tol``."""
    m, d = problem.rows.row_size, problem.rows.d
    if problem.rows.dense is None:
        iterations, row = SPARSE_ITERATIONS, SPARSE_PASS * m + SPARSE_GRAM * m * m / 2
    else:
        iterations, row = DENSE_ITERATIONS, DENSE_PASS * m + DENSE_GRAM * d * d / 2
    iterations += max(0.0, -math.log10(max(tol, 1e-12)) - 3)
    return iterations * problem.lanes * (problem.n * (ROW + row) + FACTOR * d**3)
