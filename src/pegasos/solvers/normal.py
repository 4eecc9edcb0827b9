"""What the second-order solvers share: ranges of rows, and systems of features x features."""

from __future__ import annotations

import numpy as np

from pegasos import _core
from pegasos.certificate import Floats, relative_gap
from pegasos.problem import Problem

LARGEST_D = 10_000
# What a range of rows may hold, so that a pass over it takes some hundredths of a second: long for
# threads that have to be started, short for a user who presses Ctrl-C.
_RANGE_VALUES = 1 << 26  # of dense rows
_ROW_VALUES = 16  # that take as long as a row's own variables
_SPARSE_VALUES = 4  # that take as long as a stored one of sparse rows
_RANGE_PRODUCTS = 1 << 31  # of two values, in the matrix of dense rows
_SPARSE_PRODUCTS = 32  # that take as long as one of sparse rows
_SHARED = 2048  # rows of a matrix that threads factor together: they wait for each other often


def check_features(name: str, d: int) -> None:
    """Raise ValueError for more features than a matrix can be factored for."""
    if d > LARGEST_D:
        raise ValueError(
            f"{name} factors a matrix of features x features: {d} are too many (at most "
            f"{LARGEST_D}); use solver='dual'"
        )


def row_ranges(problem: Problem, *, matrix: bool) -> list[tuple[int, int]]:
    """Ranges of rows that take some hundredths of a second each, with their matrix or without."""
    if problem.rows.blocks is not None:
        return problem.rows.blocks.ranges()
    n, size, sparse = problem.n, problem.rows.row_size, problem.rows.dense is None
    values = size * (_SPARSE_VALUES if sparse else 1) + _ROW_VALUES
    most = _RANGE_VALUES / values
    if matrix:
        products = size**2 * (_SPARSE_PRODUCTS if sparse else 1)
        most = min(most, _RANGE_PRODUCTS / max(1.0, products))
    step = max(64, int(most))
    return [(lo, min(n, lo + step)) for lo in range(0, n, step)]


def empty_factor(size: int) -> Floats:
    """Room for the factor of a matrix of so many rows."""
    return np.zeros(_core.factor_size(size))


def factor(gram: Floats, s: float, intercept: float | None, threads: int, out: Floats) -> bool:
    """Cholesky factor of gram (its upper triangle) + s I; False if there is none.

    ``intercept`` is added instead of s to the last entry, if that is a free intercept's. A matrix
    that is not positive definite is lifted a little.
    """
    last = s if intercept is None else intercept
    threads = threads if len(gram) >= _SHARED else 1
    lift = 0.0
    while lift < 1:
        if _core.cholesky(gram, s, last, lift, threads, out):
            return True
        lift = max(1e-14, 100 * lift)
    return False


def solve(factored: Floats, rhs: Floats, free: bool, direction: Floats) -> float | None:
    """Write the solution as (dw, db), with d + 1 weights; rhs . solution, None if it is not finite.

    A free intercept is the last of the unknowns, and no weight then.
    """
    solution = np.empty_like(rhs)
    _core.cholesky_solve(factored, rhs, solution)
    if not np.isfinite(solution).all():
        return None
    direction[:-1], direction[-1] = solution, 0.0
    if free:
        direction[-2:] = 0.0, solution[-1]
    return float(rhs @ solution)


def gap(problem: Problem, w: Floats, u: Floats, loss: Floats, dual: Floats) -> Floats:
    """The relative gaps of w and duals with sum a y x = u, which are vectors, or columns of lanes.

    ``loss`` and ``dual`` are sums over the rows.
    """
    primal = problem.s / 2 * (w * w).sum(axis=0) + loss
    return relative_gap(primal, dual - (u * u).sum(axis=0) / (2 * problem.s))
