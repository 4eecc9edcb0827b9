"""Data for tests of clusters: dense, sparse, and in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def toy(
    n: int = 900, d: int = 12, classes: int = 2, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Overlapping classes of dense rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, classes)) + 2.0 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


def text(n: int = 1500, d: int = 4000, seed: int = 0) -> tuple[Any, NDArray[np.int64]]:
    """Sparse rows of many features, some of them frequent, as rounds and hard rows are for."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random((n, 30)) ** 3).astype(int)
    rows = np.repeat(np.arange(n), 30)
    X = sparse.csr_matrix((np.ones(rows.size), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    w = rng.normal(size=d)
    y = np.sign(X @ w + 2.0 * rng.normal(size=n)).astype(np.int64)
    return X.astype(np.float32) / 6, y


def blocks(X: Any, size: int) -> Any:
    """A Dask array of CSR chunks."""
    import dask.array as da
    from dask.delayed import delayed

    parts = []
    for lo in range(0, X.shape[0], size):
        chunk = X[lo : lo + size]
        empty = sparse.csr_matrix((0, 0), dtype=X.dtype)
        parts.append(da.from_delayed(delayed(chunk), chunk.shape, dtype=X.dtype, meta=empty))
    return da.concatenate(parts)


def made_part(number: int, dense: bool, n: int = 2000) -> tuple[Any, NDArray[np.float64]]:
    """Rows and signs that can be computed again on any worker."""
    rng = np.random.default_rng(number)
    d = 30_000  # so many that weights are scattered
    w = np.random.default_rng(99).normal(size=d)
    if dense:
        rows = rng.normal(size=(n, 40))
        return rows, np.sign(rows @ w[:40] + 4.0 * rng.normal(size=n))
    columns = (d * rng.random((n, 30)) ** 3).astype(int)
    places = np.repeat(np.arange(n), 30), columns.ravel()
    X = sparse.csr_matrix((np.ones(30 * n), places), (n, d))
    X.sum_duplicates()
    return X, np.sign(X @ w + 4.0 * rng.normal(size=n))


def made_whole(parts: int, dense: bool) -> tuple[Any, NDArray[np.float64]]:
    """The rows of the first parts on one machine."""
    made = [made_part(number, dense) for number in range(parts)]
    y = np.concatenate([part[1] for part in made])
    if dense:
        return np.concatenate([part[0] for part in made]), y
    return sparse.vstack([part[0] for part in made], format="csr"), y
