"""What rows from files must be: CSR arrays that fit together, values that are finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.dataset import DataError
from pegasos.util.sparse import Csr

_CHECKED = 1 << 20  # values looked at together


def make_csr(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], d: int) -> Csr:
    """CSR over arrays that were checked, in place where the types of both indices allow."""
    narrow = max(values.size, d) <= np.iinfo(np.int32).max
    kind = np.dtype(np.int32 if narrow and indices.dtype == np.int32 else np.int64)
    return Csr(values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False), d)


def check_csr(
    path: Any,
    values: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    d: int,
    first_row: int = 0,
) -> None:
    """DataError for anything that is not n rows of increasing indices below d, finite values.

    ``first_row`` is added to the rows in errors.
    """
    if indptr.size < 1 or indptr[0] != 0 or indptr[-1] != indices.size:
        raise DataError(path, f"indptr must go from 0 to the {indices.size} stored values")
    if indices.size != values.size:
        raise DataError(path, f"{values.size} values for {indices.size} indices")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        raise DataError(path, f"indptr decreases after row {first_row + int(falls[0])}")
    for lo in range(0, indices.size, _CHECKED):
        hi = min(indices.size, lo + _CHECKED)
        part = indices[lo:hi]
        if part.min() < 0 or part.max() >= d:
            at = lo + int(np.flatnonzero((part < 0) | (part >= d))[0])
            where = _place(indptr, at, first_row)
            raise DataError(path, f"index {indices[at]} in {where} is outside 0..{d} - 1")
        before = indices[max(lo, 1) - 1 : hi]
        falls = max(lo, 1) + np.flatnonzero(before[1:] <= before[:-1])
        starts = indptr[np.minimum(np.searchsorted(indptr, falls), indptr.size - 1)]
        falls = falls[starts != falls]  # a row's first index may be smaller than the one before
        if falls.size:
            where = _place(indptr, int(falls[0]), first_row)
            raise DataError(path, f"indices of {where} do not increase")
        check_finite(path, values[lo:hi], lambda at, lo=lo: _place(indptr, lo + at, first_row))


def check_dense(path: Any, X: NDArray[Any], first_row: int = 0) -> None:
    """DataError for values that are not finite."""
    rows = max(1, _CHECKED // max(X.shape[1], 1))
    for lo in range(0, X.shape[0], rows):
        part = X[lo : lo + rows]
        check_finite(path, part, lambda at, lo=lo: f"row {first_row + lo + at // X.shape[1]}")


def check_finite(path: Any, values: NDArray[Any], place: Any) -> None:
    """DataError where a value is not finite, with ``place`` of its number in the array."""
    if values.dtype.kind == "f":
        good = np.isfinite(values)
        if not good.all():
            at = int(np.flatnonzero(~good.ravel())[0])
            raise DataError(path, f"value {values.ravel()[at]} in {place(at)} is not finite")


def _place(indptr: NDArray[Any], at: int, first_row: int) -> str:
    return f"row {first_row + int(np.searchsorted(indptr, at, side='right')) - 1}"
