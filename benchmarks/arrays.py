"""X and y as files: how a data set gets from one process into another."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, issparse

_CSR = ("data", "indices", "indptr")


def save_rows(folder, X, y):
    """X and y as files that a worker reads."""
    folder = Path(folder)
    np.save(folder / "y.npy", y)
    if issparse(X):
        np.save(folder / "shape.npy", X.shape)
        for part in _CSR:
            np.save(folder / f"{part}.npy", getattr(X, part))
    else:
        np.save(folder / "X.npy", X)


def load_rows(folder):
    """X and y, in memory of their own."""
    folder = Path(folder)
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy"), y
    parts = tuple(np.load(folder / f"{part}.npy") for part in _CSR)
    return csr_matrix(parts, shape=tuple(np.load(folder / "shape.npy"))), y
