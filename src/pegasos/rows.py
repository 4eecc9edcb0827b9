"""Rows from what users have: arrays and sparse matrices, checked once and used in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.util import sparse, threads

IN_PLACE = (np.float64, np.float32, np.int8, np.uint8)
"""Value types the core reads without a copy."""

_EASY_TO_SHARE = 8  # products repay threads on so much less than solvers do
_CHECKED_VALUES = 1 << 22  # values checked between two looks at the keyboard


@dataclass(frozen=True)
class Rows:
    """The examples x_i, each followed by the constant feature ``bias`` (0: none).

    ``squared_norms`` are |x_i|^2, the constant feature included.
    """

    core: _core.Rows
    squared_norms: NDArray[np.float64]
    row_size: float  # stored values per row, on average
    row_bytes: float  # bytes per row, on average
    longest: int  # stored values of the longest row
    dense: NDArray[Any] | None  # the array itself, for matrix products; None if sparse
    condition: float = 1.0  # rounding of products grows by this

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.core.n

    @property
    def d(self) -> int:
        """Number of features, the constant one not counted."""
        return self.core.d

    def products(self, W: NDArray[np.float64], lanes: int, threads: int) -> NDArray[np.float64]:
        """(n, lanes): w.x of every row for weights (d + 1, padded lanes)."""
        out = np.empty((self.n, lanes))
        self.core.products(W, out, threads)
        return out

    def largest(self) -> int:
        """The row with the largest norm."""
        return int(np.argmax(self.squared_norms))


def as_rows(X: Any, *, bias: float = 0.0, n_jobs: int | None = 1) -> Rows:
    """View ``X`` as rows.

    C-contiguous arrays and CSR matrices of float32, float64, int8 or uint8 are used in place,
    read-only and memory-mapped ones included; they must not change while they are in use. Other
    layouts and number types are converted, and columns out of order sorted in a copy.
    Raises ValueError or TypeError that names the first offending place.
    """
    rows = _csr(X, bias) if sparse.issparse(X) else _dense(X, bias)
    workers = threads.resolve(n_jobs, rows.n * rows.row_size)
    try:
        _check(rows, workers, X)
    except _OutOfOrderError:
        X = _in_order(X)
        rows = _csr(X, bias)
        _check(rows, workers, X)
    return rows


def products(X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """X @ coef.T of a CSR matrix, on threads where that pays; columns may be in any order."""
    rows = _csr(X, 0.0)
    lanes = coef.shape[0]
    W = np.zeros((rows.d + 1, _core.padded_lanes(lanes)))
    W[:-1, :lanes] = coef.T
    out = np.empty((rows.n, lanes))
    work = _EASY_TO_SHARE * rows.n * rows.row_size * lanes
    bad = rows.core.products(W, out, threads.resolve(None, work))
    if bad >= 0:
        raise ValueError(f"X has a column index outside 0..{rows.d} - 1 in row {bad}")
    return out


def block_rows(part: Any, bias: float) -> Rows:
    """A block of rows that need no check; without norms."""
    return _csr(part, bias) if sparse.issparse(part) else _dense(part, bias)


class NotFiniteError(ValueError):
    """A value of X that is no number, or none that a model can have."""

    def __init__(self, value: float, row: int, column: int, name: str | None = None) -> None:
        """``name`` is the column's, if it has one."""
        self.place = value, row, column
        what = "NaN" if np.isnan(value) else "infinity"
        named = "" if name is None else f" ({name!r})"
        super().__init__(f"X contains {what} at row {row}, column {column}{named}")

    def __reduce__(self) -> Any:
        """Of workers, errors come as pickles."""
        return type(self), self.place


class _OutOfOrderError(ValueError):
    """Columns of a row that do not increase."""


def _in_order(X: Any) -> Any:
    """A copy with sorted columns; entries of one place are added up, as scikit-learn does."""
    csr = X.tocsr(copy=True)
    csr.has_canonical_format = csr.has_sorted_indices = False
    if csr.dtype.kind in "iub":
        csr = csr.astype(np.float64)  # a sum may leave the type
    csr.sum_duplicates()
    return csr


def _dense(X: Any, bias: float) -> Rows:
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (rows x features), got shape {array.shape}; "
            "use X.reshape(-1, 1) for a single feature"
        )
    array = _numbers(array)
    rows_contiguous = array.shape[1] <= 1 or array.strides[1] == array.itemsize
    if not rows_contiguous or (array.shape[0] > 1 and array.strides[0] % array.itemsize):
        array = np.ascontiguousarray(array)
    array = np.require(array, requirements=["A"])
    n, d = array.shape
    return Rows(_core.Rows.dense(array, bias), np.empty(n), d, d * array.itemsize, d, array)


def _csr(X: Any, bias: float) -> Rows:
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (rows x features), got shape {X.shape}")
    csr = X if X.format == "csr" else X.tocsr()
    values = np.require(_numbers(np.asarray(csr.data)), requirements=["C", "A"])
    indices, indptr = np.asarray(csr.indices), np.asarray(csr.indptr)
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    n, d = csr.shape
    if indptr.shape != (n + 1,):
        raise ValueError(f"X.indptr must have {n + 1} entries for {n} rows, got {indptr.size}")
    try:
        rows = _core.Rows.csr(
            values,
            np.require(indices, requirements=["C", "A"]),
            np.require(indptr, requirements=["C", "A"]),
            d,
            bias,
        )
    except ValueError as error:
        raise ValueError(f"X is not a valid CSR matrix: {error}") from None
    size = values.size / max(n, 1)
    longest = int(np.diff(indptr).max()) if n else 0
    row_bytes = size * (values.itemsize + indices.itemsize)
    return Rows(rows, np.empty(n), size, row_bytes, longest, None)


def _numbers(array: NDArray[Any]) -> NDArray[Any]:
    """``array`` with a value type the core reads; converted only where it must be."""
    if array.dtype.isnative and array.dtype in IN_PLACE:
        return array
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    raise TypeError(f"X must hold real numbers, got dtype {array.dtype}; encode the columns first")


def _check(rows: Rows, threads: int, X: Any) -> None:
    """Raise for bad rows, which are those of ``X``; write the squared norms of good ones."""
    core = rows.core
    if core.n < 1:
        raise ValueError("X has no rows: 0 samples, while a minimum of 1 is required")
    if core.d < 1:
        raise ValueError(
            f"X has no columns: 0 feature(s) (shape=({core.n}, {core.d})) "
            "while a minimum of 1 is required."
        )
    if core.n >= 2**32:
        raise ValueError(f"X has {core.n} rows; at most 2^32 - 1 are supported")
    step = max(1, int(_CHECKED_VALUES * threads / max(rows.row_size, 1.0)))
    for lo in range(0, core.n, step):
        defect, row, column = core.check(lo, min(core.n, lo + step), rows.squared_norms, threads)
        if defect == "not_finite":
            array = X.tocsr() if rows.dense is None else rows.dense
            raise NotFiniteError(float(array[row, column]), row, column)
        if defect:
            error = _OutOfOrderError if defect == "column_order" else ValueError
            raise error(_DEFECTS[defect].format(row=row, column=column, d=core.d))


_DEFECTS = {
    "column_range": "X has column index {column} in row {row}, outside 0..{d} - 1",
    "column_order": (
        "X has unsorted or duplicate column indices that could not be sorted: row {row} breaks "
        "the order at column {column}"
    ),
    "norm_overflow": (
        "X is too large for float64: the squared norm of row {row} overflows, its largest value "
        "is in column {column}; scale the features"
    ),
}
