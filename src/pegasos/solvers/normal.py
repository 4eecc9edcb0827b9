"""What the second-order solvers share: ranges of rows, and systems of features x features."""

from __future__ import annotations

import numpy as np

from pegasos.certificate import Floats, relative_gap
from pegasos.problem import Problem

LARGEST_D = 10_000
_BLOCK_VALUES = 1 << 23  # values of X in a range of rows
_BLOCK_PRODUCTS = 1 << 31  # products of two values in its Gram matrix


def check_features(name: str, d: int) -> None:
    """Raise ValueError for more features than a matrix can be factored for."""
    if d > LARGEST_D:
        raise ValueError(
            f"{name} factors a matrix of features x features: {d} are too many (at most "
            f"{LARGEST_D}); use solver='dual'"
        )


def row_ranges(problem: Problem) -> list[tuple[int, int]]:
    """Ranges of rows that take some hundredths of a second each."""
    if problem.rows.blocks is not None:
        return problem.rows.blocks.ranges()
    n, size = problem.n, max(1.0, problem.rows.row_size)
    step = max(64, int(min(_BLOCK_VALUES / size, _BLOCK_PRODUCTS / size**2)))
    return [(lo, min(n, lo + step)) for lo in range(0, n, step)]


def factor(gram: Floats, s: float, intercept: float | None, out: Floats) -> bool:
    """Cholesky factor of gram (its upper triangle) + s I; False if there is none.

    ``intercept`` is added instead of s to the last entry, if that is a free intercept's. A matrix
    that is not positive definite is lifted a little.
    """
    from scipy.linalg.lapack import dpotrf  # here: other solvers do without, and start sooner

    penalty = np.full(len(gram), s)
    if intercept is not None:
        penalty[-1] = intercept
    lift = 0.0
    while lift < 1:
        np.copyto(out, gram.T)  # the upper triangle by rows is the lower one by columns
        entries = np.einsum("ii->i", out)
        entries += penalty
        entries *= 1 + lift
        _, failed = dpotrf(out, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return True
        lift = max(1e-14, 100 * lift)
    return False


def solve(factored: Floats, rhs: Floats, free: bool, direction: Floats) -> float | None:
    """Write the solution as (dw, db), with d + 1 weights; rhs . solution, None if it is not finite.

    A free intercept is the last of the unknowns, and no weight then.
    """
    from scipy.linalg.lapack import dpotrs

    solution: Floats = dpotrs(factored, rhs, lower=1)[0]
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
