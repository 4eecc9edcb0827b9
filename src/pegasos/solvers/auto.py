"""``solver="auto"``: which exact solver, and when to change over.

The cost model, in nanoseconds of one core (``benchmarks/auto.py`` measures the constants; only
their ratios matter):

    a pass of DualCoordinate    n (VISIT + VALUE m K')
    InteriorPoint to tol        ITERATIONS K (n (ROW + PASS m + GRAM g) + FACTOR d^3)

with n rows of m stored values, K lanes (K' of them padded to four), and g the products of a row's
part of the Gram matrix: d^2 / 2 where rows are dense, m^2 / 2 where they are sparse.

How many passes DualCoordinate needs cannot be known beforehand: few where C is small or the
features many, thousands where C is large and the features few. So it starts; once it has made a few
passes, its gaps tell how many more it will take (they fall like a power of the passes), and if
InteriorPoint is cheaper than that, InteriorPoint takes over. Where InteriorPoint costs no more
than those first passes, it has the problem from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pegasos.problem import Problem
from pegasos.solvers.base import Solver
from pegasos.solvers.dual import DualCoordinate
from pegasos.solvers.interior import InteriorPoint

VISIT, VALUE = 45.0, 1.1
ROW, PASS, GRAM, SPARSE_GRAM, FACTOR = 60.0, 6.0, 0.06, 1.0, 0.1
ITERATIONS = 12.0

_FIRST_PASSES = 4  # of DualCoordinate, before its gaps say anything
_MOST_FEATURES = 3000
_MOST_MATRIX_SHARE = 1.0  # the d x d matrices may take as much memory as X


@dataclass(frozen=True)
class Choice:
    """The solver to start with, and the one that may take over."""

    solver: Solver
    reason: str
    fallback: Solver | None = None
    fallback_epochs: float = math.inf  # what the fallback costs, in epochs of ``solver``

    def takes_over(self, epochs: list[float], gaps: list[float], tol: float) -> bool:
        """Whether ``solver``, with these gaps after these epochs, is better left."""
        if self.fallback is None or len(gaps) < _FIRST_PASSES:
            return False
        return epochs_to_go(epochs, gaps, tol) > self.fallback_epochs


def epochs_to_go(epochs: list[float], gaps: list[float], tol: float) -> float:
    """Epochs until the gap is ``tol``, if it goes on falling like a power of the epochs.

    The power is that since half of them.
    """
    now, gap = epochs[-1], gaps[-1]
    if gap <= tol:
        return 0.0
    if not math.isfinite(gap) or tol <= 0:
        return math.inf
    half = min(range(len(epochs) - 1), key=lambda i: abs(epochs[i] - now / 2))
    if not gap < gaps[half]:
        return math.inf
    if math.isinf(gaps[half]):
        return 0.0  # the gap has only just become finite
    power = math.log(gaps[half] / gap) / math.log(now / epochs[half])
    return now * (math.exp(min(700.0, math.log(gap / tol) / power)) - 1)


def fixed(solver: Solver) -> Choice:
    """The solver that was asked for."""
    return Choice(solver, "as asked for")


def choose(problem: Problem) -> Choice:
    """The exact solvers for a problem, by the cost model above."""
    rows, d = problem.rows, problem.rows.d
    matrix = 24.0 * d * d
    if d > _MOST_FEATURES or matrix > max(5e7, _MOST_MATRIX_SHARE * rows.n * rows.row_bytes):
        return Choice(
            DualCoordinate(),
            f"DualCoordinate: {d} features are too many for InteriorPoint's matrices",
        )
    dual, interior = dual_cost(problem), interior_cost(problem)
    shape = f"{rows.n} rows of {rows.row_size:.3g} values, {d} features"
    epochs = interior / dual
    if epochs <= _FIRST_PASSES:
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
    lanes = problem.weights_shape[1]
    return problem.n * (VISIT + VALUE * problem.rows.row_size * max(1.0, lanes / 4))


def interior_cost(problem: Problem) -> float:
    """Nanoseconds to a moderate tol, all lanes."""
    m, d = problem.rows.row_size, problem.rows.d
    gram = GRAM * d * d if problem.rows.dense is not None else SPARSE_GRAM * m * m / 2
    return ITERATIONS * problem.lanes * (problem.n * (ROW + PASS * m + gram) + FACTOR * d**3)
