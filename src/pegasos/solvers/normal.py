"""What the second-order solvers share: ranges of rows, and systems of features x features."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from pegasos.certificate import Floats
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
    n, size = problem.n, max(1.0, problem.rows.row_size)
    step = max(64, int(min(_BLOCK_VALUES / size, _BLOCK_PRODUCTS / size**2)))
    return [(lo, min(n, lo + step)) for lo in range(0, n, step)]


def factor(gram: Floats, diagonal: Floats, out: Floats) -> bool:
    """Cholesky factor of gram (its upper triangle) + diag(diagonal); False if there is none.

    A matrix that is not positive definite is lifted a little.
    """
    lift = 0.0
    while lift < 1:
        np.copyto(out, gram.T)  # the upper triangle by rows is the lower one by columns
        entries = np.einsum("ii->i", out)
        entries += diagonal
        entries *= 1 + lift
        _, failed = dpotrf(out, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return True
        lift = max(1e-14, 100 * lift)
    return False


def solved(factored: Floats, rhs: Floats) -> Floats | None:
    """The solution of the factored system; None if it left float64."""
    solution: Floats = dpotrs(factored, rhs, lower=1)[0]
    return solution if np.isfinite(solution).all() else None
