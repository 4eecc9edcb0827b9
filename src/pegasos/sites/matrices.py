"""Matrices of features x features on this machine: factors, and solutions of systems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pegasos import _core

Floats = NDArray[np.float64]

_SHARED = 2048  # rows of a matrix that threads factor together: they wait for each other often


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


def solve(factored: Floats, rhs: Floats, free: bool, direction: Floats) -> float:
    """Write the solution as (dw, db), with d + 1 weights; rhs . solution, NaN if it is not finite.

    A free intercept is the last of the unknowns, and no weight then.
    """
    solution = np.empty_like(rhs)
    _core.cholesky_solve(factored, rhs, solution)
    if not np.isfinite(solution).all():
        return float("nan")
    direction[:-1], direction[-1] = solution, 0.0
    if free:
        direction[-2:] = 0.0, solution[-1]
    return float(rhs @ solution)
