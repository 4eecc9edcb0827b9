"""What scaling needs to know of rows: sums that merge, so that blocks can be added one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.util import sparse

Floats = NDArray[np.float64]

_VALUES = 1 << 20  # values looked at together


@dataclass(frozen=True)
class Moments:
    """Of each feature over some rows, absent entries of sparse rows being zeros.

    Sparse rows have each index once, as readers give them.
    """

    rows: int
    sparse: bool
    mean: Floats
    squares: Floats  # sum of squared distances from the mean
    least: Floats
    most: Floats

    @classmethod
    def of(cls, X: Any) -> Moments:
        """Of rows, CSR or an array."""
        if sparse.issparse(X):
            return _of_csr(X.tocsr())
        X = np.asarray(X)
        parts = [_of_dense(X[lo:hi]) for lo, hi in row_blocks(*X.shape)]
        found = parts[0]
        for part in parts[1:]:
            found = found.merged(part)
        return found

    def merged(self, other: Moments) -> Moments:
        """Of both rows together (Chan, Golub & LeVeque)."""
        if self.mean.size != other.mean.size:
            what = f"{self.mean.size} and {other.mean.size} features"
            raise ValueError(f"blocks of rows must have as many features, got {what}")
        rows = self.rows + other.rows
        share = other.rows / max(rows, 1)
        apart = other.mean - self.mean
        return Moments(
            rows,
            self.sparse or other.sparse,
            self.mean + share * apart,
            self.squares + other.squares + apart * apart * (self.rows * share),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )

    def deviation(self) -> Floats:
        """The standard deviation, divided by the number of rows; 0 of constant features."""
        return np.where(self.least == self.most, 0.0, np.sqrt(self.squares / self.rows))


def row_blocks(n: int, d: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose float64 copies are small; at least one."""
    rows = max(1, _VALUES // max(d, 1))
    return ((lo, min(n, lo + rows)) for lo in range(0, max(n, 1), rows))


def _of_dense(X: NDArray[Any]) -> Moments:
    X = X.astype(np.float64)
    n, d = X.shape
    if n == 0:
        zero = np.zeros(d)
        return Moments(0, False, zero, zero, zero + np.inf, zero - np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused later
        mean = X.mean(axis=0)
        squares = np.square(X - mean).sum(axis=0)
    return Moments(n, False, mean, squares, X.min(axis=0), X.max(axis=0))


def _of_csr(X: Any) -> Moments:
    n, d = X.shape
    values, at = X.data.astype(np.float64), X.indices
    stored = np.bincount(at, minlength=d)
    absent = n - stored
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.bincount(at, values, d) / max(n, 1)
        squares = np.bincount(at, np.square(values - mean[at]), d) + absent * mean * mean
    # Where every row has the feature, 0 is not among its values.
    least, most = np.where(absent > 0, 0.0, np.inf), np.where(absent > 0, 0.0, -np.inf)
    np.minimum.at(least, at, values)
    np.maximum.at(most, at, values)
    return Moments(n, True, mean, squares, least, most)
