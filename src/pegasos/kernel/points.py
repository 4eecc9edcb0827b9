"""Rows as a kernel meets them: rows of K in float32 for steering, scores in float64."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import UNIT_ROUNDOFF, GiveUp, never
from pegasos.kernel.gram import Gram, ranges, roundings
from pegasos.kernel.kernels import Floats, Floats32, Index, Kernel, squared_norms
from pegasos.util import sparse, threads

_LANES = 64  # rows that meet all others at once, where those are sparse
_TILE = 256, 512  # of K in float64: rows x support vectors, in the second cache
_TILE_VALUES = 1 << 17  # of K in float32
_LARGEST_NORM, _SMALLEST32, _LARGEST32 = 1e300, 1e-25, 1e25  # of |x|^2
_LOST = 1e-4  # of K in float32, by the difference of norms and products
_FUNCTION_VALUES = 1 << 22  # asked of a user's function at once


class Points(Gram):
    """Rows X, dense or CSR, and a kernel: K of them with each other, and with others."""

    def __init__(self, kernel: Kernel, X: Any, n_jobs: int | None = None) -> None:
        """X is used in place where it is in order; nothing is computed yet."""
        self.kernel, self.n_jobs = kernel, n_jobs
        self.X = _in_order(X) if sparse.issparse(X) else X
        self.n, self.d = X.shape
        self.sparse = sparse.issparse(X)

    # As a Gram matrix.
    @cached_property
    def diagonal(self) -> Floats:
        """K(x, x) of every row."""
        return self.kernel.diagonal(self.X)

    @property
    def rounding(self) -> float:
        """How far an entry in float64 may be from what it should be, sums of many included."""
        error = roundings(self.n) * float(np.abs(self.diagonal).max())
        if self.kernel.function is None and self.kernel.name == "rbf":
            terms = int(np.diff(self.X.indptr).max()) if self.sparse else self.d
            error += 8 * (terms + 4) * self.kernel.gamma * float(self.norms.max())
        return error * UNIT_ROUNDOFF

    def rows(self, chosen: Index, out: Floats32, place: Index) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        self.rows_with(self.X[chosen], out, place)
        out[place, chosen] = self.diagonal[chosen]  # which products cannot tell so well

    def some(self, chosen: Index, coef: Floats) -> Floats:
        """Some entries of K coef."""
        return self.take(chosen).scores(self.X, coef)

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""
        return self.scores(self.X, coef, give_up)

    def take(self, keep: Index) -> Points:
        """Some of the rows."""
        return Points(self.kernel, self.X[keep], self.n_jobs)

    def part(self, chosen: Index) -> Floats:
        """K of some rows with each other, in float64."""
        some = self.X[chosen]
        return self.kernel.block(some, some)

    # With other rows.
    def rows_with(self, some: Any, out: Floats32, place: Index) -> None:
        """K of other rows, each with all of these, to their places in ``out``."""
        if self.kernel.function is not None or self.coarse:
            out[place] = self.kernel.block(some, self.X)
        elif self.sparse:
            for lo, hi in ranges(0, place.size, _LANES):
                block, norms = _transposed(some[lo:hi], np.float32)
                used = self._threads(hi - lo)
                self.kernel.core.rows(self._csr32, block, norms, place[lo:hi], out, used)
        else:
            self._dense_rows(np.asarray(some, dtype=np.float32), out, place)

    def scores(self, support: Any, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K(X, support) coef in float64; coef is (support,) or (support, k)."""
        if self.sparse and not sparse.issparse(support):  # one kind meets its own
            support = type(self.X)(support)
        elif sparse.issparse(support) and not self.sparse:
            other = Points(self.kernel, type(support)(self.X), self.n_jobs)
            return other.scores(support, coef, give_up)
        table = coef[:, None] if coef.ndim == 1 else coef
        used = np.flatnonzero(np.any(table, axis=1))
        out = np.zeros((self.n, table.shape[1]))
        if used.size:
            part = np.ascontiguousarray(table[used])
            self._add_scores(support[used], part, out, give_up)
        return out.reshape(self.n, *coef.shape[1:])

    @cached_property
    def norms(self) -> Floats:
        """|x|^2."""
        return squared_norms(self.X)

    @cached_property
    def coarse(self) -> bool:
        """Whether float32 cannot tell distances, or leaves its range: rows are float64 then."""
        largest = float(self.norms.max())
        if not largest < _LARGEST_NORM:
            raise ValueError(
                f"X is too large for kernels: row {int(self.norms.argmax())} has a squared norm of "
                f"{largest:.3g}; scale the features"
            )
        lost = self.kernel.gamma * largest * float(np.finfo(np.float32).eps)
        plain = _SMALLEST32 < largest < _LARGEST32 or largest == 0
        return not plain or (self.kernel.name == "rbf" and lost > _LOST)

    def _threads(self, lanes: int) -> int:
        size = float(self.X.nnz if self.sparse else self.X.size)
        return min(threads.resolve(self.n_jobs, (size + 8.0 * self.n) * lanes), int(self.n))

    def _dense_rows(self, some: Floats32, out: Floats32, place: Index) -> None:
        left = squared_norms(some).astype(np.float32)
        kernel, step = self.kernel.core, max(16, _TILE_VALUES // place.size)

        def share(begin: int, end: int) -> None:
            for lo, hi in ranges(begin, end, step):
                tile = some @ self._dense32[lo:hi].T
                kernel.values(tile, left, self._norms32[lo:hi], 1)
                out[place, lo:hi] = tile

        threads.in_shares(self.n, self._threads(place.size), share)

    def _add_scores(self, support: Any, coef: Floats, out: Floats, give_up: GiveUp) -> None:
        count = support.shape[0]
        if self.kernel.function is not None:
            for lo, hi in ranges(0, self.n, max(1, _FUNCTION_VALUES // count), give_up):
                out[lo:hi] = self.kernel.block(self.X[lo:hi], support) @ coef
        elif self.sparse:
            support, used = _in_order(support), self._threads(_LANES)
            for lo, hi in ranges(0, count, _LANES, give_up):
                block, norms = _transposed(support[lo:hi], np.float64)
                self.kernel.core.scores(self._csr64, block, norms, coef[lo:hi], out, used)
        else:
            self._dense_scores(np.asarray(support, dtype=np.float64), coef, out, give_up)

    def _dense_scores(self, support: Floats, coef: Floats, out: Floats, give_up: GiveUp) -> None:
        kernel, others = self.kernel.core, squared_norms(support)
        tall, wide = _TILE

        def share(begin: int, end: int) -> None:
            for lo, hi in ranges(begin, end, tall, give_up):
                rows = np.asarray(self.X[lo:hi], dtype=np.float64)
                for at, to in ranges(0, support.shape[0], wide):
                    tile = rows @ support[at:to].T
                    kernel.values(tile, self.norms[lo:hi], others[at:to], 1)
                    out[lo:hi] += tile @ coef[at:to]

        threads.in_shares(self.n, self._threads(support.shape[0]), share)

    @cached_property
    def _dense32(self) -> Floats32:
        return np.ascontiguousarray(self.X, dtype=np.float32)

    @cached_property
    def _norms32(self) -> Floats32:
        return self.norms.astype(np.float32)

    @cached_property
    def _csr32(self) -> _core.MercerRows32:
        return _core.MercerRows32(*self._stored(np.float32), self._norms32, self.d)

    @cached_property
    def _csr64(self) -> _core.MercerRows64:
        return _core.MercerRows64(*self._stored(np.float64), self.norms, self.d)

    def _stored(self, kind: Any) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        values, columns, begins = self.X.data, self.X.indices, self.X.indptr
        columns, begins = columns.astype(np.int32, copy=False), begins.astype(np.int64, copy=False)
        return values.astype(kind, copy=False), columns, begins


def _in_order(X: Any) -> Any:
    """CSR with each column of a row once, and in range."""
    if X.nnz and not (X.indices.min() >= 0 and X.indices.max() < min(X.shape[1], 2**31)):
        raise ValueError(f"X has a column index outside 0..{X.shape[1]} - 1")
    if np.any(np.diff(X.indptr) < 0):
        raise ValueError("X is not a valid CSR matrix: indptr falls")
    return sparse.canonical(X)


def _transposed(rows: Any, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """CSR rows as a dense block (d, lanes), lanes padded as the core wants them, and norms."""
    count = rows.shape[0]
    lanes = -(-count // 16) * 16
    block = np.zeros((rows.shape[1], lanes), dtype=dtype)
    block[rows.indices, np.repeat(np.arange(count), np.diff(rows.indptr))] = rows.data
    norms = np.zeros(lanes, dtype=dtype)
    norms[:count] = squared_norms(rows)
    return block, norms
