"""Small random problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Toy:
    """Dense rows, labels of K lanes in {-1, 0, +1}, and sample weights."""

    X: NDArray[np.float64]
    Y: NDArray[np.int8]
    weight: NDArray[np.float64]

    def csr(self, dtype: Any = np.float64, index: Any = np.int32) -> sparse.csr_array:
        """X as CSR with the given value and index types."""
        X = sparse.csr_array(self.X.astype(dtype))
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        return X


def toy(n: int = 30, d: int = 6, lanes: int = 1, *, seed: int = 0, absent: float = 0.0) -> Toy:
    """Overlapping classes in sparse features; a share of ``absent`` rows is not in a lane."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.6)
    Y = np.where(X @ rng.standard_normal((d, lanes)) + rng.standard_normal((n, lanes)) > 0, 1, -1)
    Y[rng.uniform(size=Y.shape) < absent] = 0
    Y[0], Y[1] = 1, -1  # both classes are there
    return Toy(X, Y.astype(np.int8), rng.uniform(0.2, 3.0, size=n))


def separable(n: int, d: int, *, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normal rows on either side of a plane, the nearest of them very near."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)
