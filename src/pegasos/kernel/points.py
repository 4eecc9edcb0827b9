"""Rows as a kernel meets them: rows of K in float32 for steering, scores in float64."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import UNIT_ROUNDOFF, GaveUp, GiveUp, never
from pegasos.kernel.kernels import Floats, Kernel, squared_norms
from pegasos.util import sparse, threads

_LANES = 64  # rows that meet all others at once, where those are sparse
_TILE = 256, 512  # of K in float64: rows x support vectors, in the second cache
_TILE_VALUES = 1 << 17  # of K in float32
_LARGEST_NORM, _SMALLEST32, _LARGEST32 = 1e300, 1e-25, 1e25  # of |x|^2
_LOST = 1e-4  # of K in float32, by the difference of norms and products
_FUNCTION_VALUES = 1 << 22  # asked of a user's function at once


class Points:
    """Rows X, dense or CSR, and a kernel."""

    def __init__(self, kernel: Kernel, X: Any, n_jobs: int | None = None) -> None:
        """X is used in place where it is in order."""
        self.kernel, self.n_jobs = kernel, n_jobs
        self.X = _in_order(X) if sparse.issparse(X) else X
        self.n, self.d = X.shape

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

    @property
    def rounding(self) -> float:
        """How far K in float64 may be from what it should be, sums of many terms included."""
        error = roundings(self.n) * float(np.abs(self.diagonal).max())
        if self.kernel.function is None and self.kernel.name == "rbf":
            terms = self.d if not sparse.issparse(self.X) else int(np.diff(self.X.indptr).max())
            error += 8 * (terms + 4) * self.kernel.gamma * float(self.norms.max())
        return error * UNIT_ROUNDOFF

    @cached_property
    def norms(self) -> Floats:
        """|x|^2."""
        return squared_norms(self.X)

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Rows of K to their places in ``out``."""
        self.rows_with(self.X[chosen], out, place)
        out[place, chosen] = self.diagonal[chosen]  # which products cannot tell so well

    def rows_with(self, some: Any, out: NDArray[np.float32], place: NDArray[np.intp]) -> None:
        """K of other rows, each with all of these, to their places in ``out``."""
        if self.kernel.function is not None or self.coarse:
            out[place] = self.kernel.block(some, self.X)
        elif sparse.issparse(self.X):
            for lo in range(0, place.size, _LANES):
                block, norms = _transposed(some[lo : lo + _LANES], np.float32)
                at = place[lo : lo + _LANES]
                self.kernel.core.rows(self._csr32, block, norms, at, out, self._threads(at.size))
        else:
            self._dense_rows(np.asarray(some, dtype=np.float32), out, place)

    @cached_property
    def diagonal(self) -> Floats:
        """K(x, x)."""
        return self.kernel.diagonal(self.X)

    def scores(self, support: Any, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K(X, support) coef in float64; coef is (support,) or (support, k)."""
        used = np.flatnonzero(coef if coef.ndim == 1 else np.any(coef, axis=1))
        out = np.zeros((self.n, 1 if coef.ndim == 1 else coef.shape[1]))
        part = np.ascontiguousarray((coef[:, None] if coef.ndim == 1 else coef)[used])
        if sparse.issparse(support) != sparse.issparse(self.X):  # one kind meets its own
            if sparse.issparse(self.X):
                support = type(self.X)(support)
            else:
                return Points(self.kernel, type(support)(self.X), self.n_jobs).scores(
                    support, coef, give_up
                )
        if used.size:
            if self.kernel.function is not None:
                step = max(1, _FUNCTION_VALUES // used.size)
                for lo in range(0, self.n, step):
                    _check(give_up)
                    rows = self.X[lo : lo + step]
                    out[lo : lo + step] = self.kernel.block(rows, support[used]) @ part
            elif sparse.issparse(self.X):
                self._sparse_scores(_in_order(support[used]), part, out, give_up)
            else:
                others = np.asarray(support[used], dtype=np.float64)
                self._dense_scores(others, part, out, give_up)
        return out.reshape(self.n, *coef.shape[1:])

    def _threads(self, lanes: int) -> int:
        size = float(self.X.nnz if sparse.issparse(self.X) else self.X.size)
        return min(threads.resolve(self.n_jobs, (size + 8.0 * self.n) * lanes), int(self.n))

    def _dense_rows(
        self, some: NDArray[np.float32], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        left = squared_norms(some).astype(np.float32)
        kernel, step = self.kernel.core, max(16, _TILE_VALUES // place.size)

        def share(begin: int, end: int) -> None:
            for lo in range(begin, end, step):
                hi = min(end, lo + step)
                tile = some @ self._dense32[lo:hi].T
                kernel.values(tile, left, self._norms32[lo:hi], 1)
                out[place, lo:hi] = tile

        threads.in_shares(self.n, self._threads(place.size), share)

    def _sparse_scores(self, support: Any, coef: Floats, out: Floats, give_up: GiveUp) -> None:
        for lo in range(0, support.shape[0], _LANES):
            _check(give_up)
            block, norms = _transposed(support[lo : lo + _LANES], np.float64)
            self.kernel.core.scores(
                self._csr64, block, norms, coef[lo : lo + _LANES], out, self._threads(_LANES)
            )

    def _dense_scores(self, support: Floats, coef: Floats, out: Floats, give_up: GiveUp) -> None:
        kernel, others = self.kernel.core, squared_norms(support)
        tall, wide = _TILE

        def share(begin: int, end: int) -> None:
            for lo in range(begin, end, tall):
                _check(give_up)
                hi = min(end, lo + tall)
                rows = np.asarray(self.X[lo:hi], dtype=np.float64)
                for at in range(0, support.shape[0], wide):
                    tile = rows @ support[at : at + wide].T
                    kernel.values(tile, self.norms[lo:hi], others[at : at + wide], 1)
                    out[lo:hi] += tile @ coef[at : at + wide]

        threads.in_shares(self.n, self._threads(support.shape[0]), share)

    @cached_property
    def _dense32(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.X, dtype=np.float32)

    @cached_property
    def _norms32(self) -> NDArray[np.float32]:
        return self.norms.astype(np.float32)

    @cached_property
    def _csr32(self) -> _core.MercerRows32:
        return _core.MercerRows32(
            self.X.data.astype(np.float32, copy=False), *self._places, self._norms32, self.d
        )

    @cached_property
    def _csr64(self) -> _core.MercerRows64:
        return _core.MercerRows64(
            self.X.data.astype(np.float64, copy=False), *self._places, self.norms, self.d
        )

    @cached_property
    def _places(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return (
            self.X.indices.astype(np.int32, copy=False),
            self.X.indptr.astype(np.int64, copy=False),
        )


def roundings(n: int) -> float:
    """Of a sum of n terms: partial sums of a tile, then of tiles."""
    return 32 + n / 64


def _check(give_up: GiveUp) -> None:
    if give_up():
        raise GaveUp


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
