"""Features whose products approximate a kernel: Nystroem's and random Fourier features.

    Nystroem (Williams & Seeger 2001)  x -> T' K(x, landmarks),  T = V L^-1/2, V L V' = K of them
    Fourier (Rahimi & Recht 2007)      x -> sqrt(2/m) cos(W'x + phases),  rbf only

The rows of features are made block by block whenever a solver asks: never all of them at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.dataset import ALIGNED
from pegasos.kernel.gram import expect_semidefinite, ranges
from pegasos.kernel.kernels import Floats, Kernel
from pegasos.kernel.points import Points
from pegasos.sites import Blocks
from pegasos.sites.base import Ranges
from pegasos.util import threads

METHODS = ("nystroem", "fourier")
_SHARE_ROWS = 256  # a thread makes so many rows at once
_MOST = 0.8  # of a block: then all of it is made
_POOL, _AT_ONCE = 10, 50  # landmarks are drawn from so many times their number, so many together
_NOTHING = 1e-10  # of K(x, x): explained by those that are there
_ALIKE = 1e-3  # of what a row had left, before those drawn with it
_CUT = 1e-10  # of the largest eigenvalue: features that count for less are left out


class FeatureMap(ABC):
    """From rows to features."""

    transform: Floats | None  # see ``pegasos.sites.Blocks``

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of features."""

    @abstractmethod
    def raw(self, X: Any) -> Floats:
        """Features of some rows, before ``transform``."""

    @abstractmethod
    def norm_bounds(self, X: Any) -> Floats:
        """Squared norms of features, at most."""

    @property
    def condition(self) -> float:
        """See ``pegasos.sites.Blocks``; 1 without ``transform``."""
        return 1.0

    def scores(self, X: Any, coef: Floats, n_jobs: int | None) -> Floats:
        """Features times ``coef`` (size, k); for maps without ``transform``."""
        rows, out = MappedRows(X, self), np.empty((X.shape[0], coef.shape[1]))
        for lo, hi in rows.parts():
            out[lo:hi] = rows.block(lo, hi, threads.resolve(n_jobs, rows.size)) @ coef
        return out


@dataclass(frozen=True)
class NystroemMap(FeatureMap):
    """K with some of the rows, made orthogonal."""

    kernel: Kernel
    landmarks: Any
    transform: Floats

    @property
    def size(self) -> int:
        """Number of features."""
        return int(self.transform.shape[0])

    def raw(self, X: Any) -> Floats:
        """K(x, landmarks)."""
        return self.kernel.block(X, self.landmarks)

    def norm_bounds(self, X: Any) -> Floats:
        """|x|^2 is that of a projection: at most K(x, x)."""
        return self.kernel.diagonal(X) * (1 + 1e-9)

    @cached_property
    def condition(self) -> float:
        """|T| sqrt(trace K(landmarks)), since K(x, z)^2 <= K(x, x) K(z, z)."""
        spread = float(np.sqrt(self.kernel.diagonal(self.landmarks).sum()))
        return 2 * float(np.linalg.norm(self.transform, 2)) * spread

    def scores(self, X: Any, coef: Floats, n_jobs: int | None) -> Floats:
        """Features times ``coef`` (size, k)."""
        return Points(self.kernel, X, n_jobs).scores(self.landmarks, self.transform @ coef)


@dataclass(frozen=True)
class FourierMap(FeatureMap):
    """Cosines of random projections."""

    projections: Floats  # (d, size)
    phases: Floats  # (size,)
    transform: None = field(default=None, init=False)

    @property
    def size(self) -> int:
        """Number of features."""
        return int(self.phases.size)

    def raw(self, X: Any) -> Floats:
        """The cosines."""
        out = np.asarray(X @ self.projections, dtype=np.float64)
        out += self.phases
        np.cos(out, out=out)
        out *= np.sqrt(2 / self.size)
        return out

    def norm_bounds(self, X: Any) -> Floats:
        """2 / m for each of m features."""
        return np.full(X.shape[0], 2.0)


def make_map(method: str, kernel: Kernel, X: Any, size: int, seed: int) -> FeatureMap:
    """A map fitted to rows X."""
    rng = np.random.default_rng(seed)
    if method == "fourier":
        shape = X.shape[1], size
        projections = np.sqrt(2 * kernel.gamma) * rng.standard_normal(shape)
        return FourierMap(projections, rng.uniform(0, 2 * np.pi, size))
    pool = X[np.sort(rng.permutation(X.shape[0])[: _POOL * size])]
    landmarks = pool[spread_out(kernel, pool, size, rng)]
    K = kernel.block(landmarks, landmarks)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    expect_semidefinite(values, 1e-6)
    kept = values > _CUT * values[-1]
    scale = np.zeros(values.size)
    scale[kept] = 1 / np.sqrt(values[kept])
    return NystroemMap(kernel, landmarks, vectors * scale)


def spread_out(kernel: Kernel, X: Any, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows whose features the others are nearly linear in: randomly pivoted Cholesky.

    Each is drawn with a chance proportional to what those before it leave of K(x, x) (Chen,
    Epperly, Tropp & Webber 2022), some at a time.
    """
    n = X.shape[0]
    size = min(size, n)
    left = kernel.diagonal(X).copy()
    factor = np.zeros((n, size))
    chosen: list[int] = []
    least = _NOTHING * float(left.max())
    while len(chosen) < size and left.max() > least:
        there = int(np.count_nonzero(left))
        wanted = min(_AT_ONCE, 4 + len(chosen) // 4, size - len(chosen), there)
        new = rng.choice(n, wanted, replace=False, p=left / left.sum())
        k = len(chosen)
        part = kernel.block(X, X[new]) - factor[:, :k] @ factor[new, :k].T
        try:
            # Of rows drawn together that are alike, the first.
            pivots = np.diag(_cholesky(part[new])) ** 2
            fresh = pivots > _ALIKE * left[new]
            corner = _cholesky(part[new][np.ix_(fresh, fresh)])
        except np.linalg.LinAlgError:
            break  # rows are alike: those that are there will do
        left[new] = 0.0
        new, part = new[fresh], part[:, fresh]
        columns = slice(k, k + new.size)
        factor[:, columns] = np.linalg.solve(corner, part.T).T
        left -= np.einsum("ij,ij->i", factor[:, columns], factor[:, columns])
        np.maximum(left, 0.0, out=left)
        left[new] = 0.0
        chosen.extend(new.tolist())
    others = np.setdiff1d(np.arange(n), chosen)
    return np.sort(np.concatenate([chosen, rng.permutation(others)[: size - len(chosen)]])).astype(
        np.intp
    )


def _cholesky(square: Floats) -> Floats:
    """Of a matrix that may be short of positive definite by rounding."""
    lifted = square.copy()
    lifted[np.diag_indices(len(square))] += _NOTHING * float(np.trace(square))
    return np.asarray(np.linalg.cholesky(lifted), dtype=np.float64)


class MappedRows(Blocks):
    """Rows X as a map sees them."""

    def __init__(self, X: Any, map: FeatureMap, block_bytes: int = 1 << 25) -> None:
        """Nothing is made yet; a block will have so many bytes of features."""
        self.X, self.map, self.block_bytes = X, map, block_bytes

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self.X.shape[0]), self.map.size

    @property
    def transform(self) -> Floats | None:
        """Of what blocks hold."""
        return self.map.transform

    def __getitem__(self, rows: NDArray[np.intp]) -> MappedRows:
        """Some of the rows."""
        return MappedRows(self.X[rows], self.map, self.block_bytes)

    def parts(self) -> Ranges:
        """Whole groups of rows that can be sampled."""
        step = max(1, self.block_bytes // (8 * ALIGNED * self.map.size)) * ALIGNED
        return list(ranges(0, self.shape[0], step))

    def block(
        self, lo: int, hi: int, workers: int, only: NDArray[np.bool_] | None = None
    ) -> Floats:
        """Features of these rows, before ``transform``; others than ``only`` are left 0."""
        some = None if only is None or only.mean() > _MOST else np.flatnonzero(only)
        make = np.empty if some is None else np.zeros
        out = make((hi - lo, self.map.size))
        count = hi - lo if some is None else some.size

        def share(begin: int, end: int) -> None:
            for at, to in ranges(begin, end, _SHARE_ROWS):
                if some is None:
                    out[at:to] = self.map.raw(self.X[lo + at : lo + to])
                else:
                    out[some[at:to]] = self.map.raw(self.X[lo + some[at:to]])

        threads.in_shares(count, max(1, min(workers, count // _SHARE_ROWS)), share)
        return out

    def norm_bounds(self) -> Floats:
        """Squared norms, at most."""
        return self.map.norm_bounds(self.X)

    def condition(self) -> float:
        """What rounding grows by."""
        return self.map.condition
