"""NumPy's files: npz with a CSR matrix or an array X, npy with an array; never pickled objects.

npz: data, indices, indptr and shape, as ``scipy.sparse.save_npz`` writes them, or X; beside them
y (or y_indices, y_indptr and label_names, of rows with several labels), sample_weight, qid and
feature_names, each if there is one. npy: rows by columns; the label is the first column unless
``label`` says otherwise, or NAME.y.npy lies beside NAME.npy.
"""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data import labels
from pegasos.data.columns import assign
from pegasos.data.csr import check_csr, check_dense, make_csr
from pegasos.data.dataset import Data, DataError, Options, slices
from pegasos.data.npy import map_array, read_header

_USED = {"X", "data", "indices", "indptr", "shape", "format", "y", "y_indices", "y_indptr"}
_USED |= {"label_names", "sample_weight", "qid", "feature_names"}


def read(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file: npz in memory, npy memory-mapped."""
    return (read_npz if options.format == "npz" else read_npy)(path, options)


def blocks(path: str | os.PathLike[str], options: Options) -> Iterator[Data]:
    """Slices of the whole."""
    return slices(read(path, options))


def read_npz(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file, in memory."""
    found = _members(path)
    X = _csr(path, found) if "indptr" in found else _dense(path, found.get("X"), "X")
    n, d = X.shape
    names, y, label_names = found.get("feature_names"), found.get("y"), None
    if "y_indptr" in found:
        y, label_names = _indicator(path, found, n)
    elif y is not None:
        y = _labels(path, y, n)
    if names is not None and (names.shape != (d,) or names.dtype.kind != "U"):
        raise DataError(path, f"feature_names must be {d} strings")
    unused = sorted(set(found) - _USED)
    return Data(
        X,
        None if options.labels is False else y,
        _per_row(path, found.get("sample_weight"), "sample_weight", n, np.float64),
        _per_row(path, found.get("qid"), "qid", n, np.int64),
        None if names is None else tuple(names.tolist()),
        label_names,
        notes=(f"not used: {', '.join(unused)}",) if unused else (),
    )


def read_npy(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file, memory-mapped."""
    array = _dense(path, map_array(path), "the array")
    beside = Path(path).with_suffix(".y.npy")
    if beside.exists() and options.label is None:
        own = _labels(beside, map_array(beside), array.shape[0])
        note = f"labels are from {beside.name}"
        return Data(array, None if options.labels is False else own, notes=(note,))
    columns = assign(path, None, array.shape[1], options)
    kept = list(columns.features)
    if kept == list(range(kept[0], kept[-1] + 1)):
        X = array[:, kept[0] : kept[-1] + 1]  # a view
    else:
        X = array[:, kept]
    y = None
    if columns.label is not None:
        y = labels.whole(array[:, columns.label].astype(np.float64))
    given = None if columns.weight is None else array[:, columns.weight]
    weight = _per_row(path, given, "the weight's column", array.shape[0], np.float64)
    return Data(X, y, weight, notes=columns.notes)


def _members(path: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a zip file, each checked against its size before it is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as file:
                    read_header(f"{path}: {name}", file, info.file_size)  # type: ignore[arg-type]
                with archive.open(info) as file:
                    found[name] = np.lib.format.read_array(file, allow_pickle=False)
                    file.read(1)  # at the end of a member its CRC is checked
    except Exception as error:  # damage of a zip file has many names
        of_disk = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if of_disk or isinstance(error, DataError):
            raise
        raise DataError(path, f"not a whole npz file: {error}") from None
    if "X" not in found and not {"data", "indices", "indptr", "shape"} <= set(found):
        raise DataError(path, "holds neither X nor the CSR arrays data, indices, indptr and shape")
    return found


def _csr(path: Any, found: dict[str, NDArray[Any]]) -> Any:
    kind = found.get("format", np.array(b"csr")).tolist()
    if kind not in (b"csr", "csr"):
        raise DataError(path, f"the sparse format is {kind!r}: save X.tocsr()")
    shape = found["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise DataError(path, "shape must be two whole numbers")
    n, d = map(int, shape)
    values = _numbers(path, found["data"], "data")
    indices, indptr = (_whole(path, found[name], name) for name in ("indices", "indptr"))
    if values.ndim != 1 or indptr.shape != (n + 1,):
        raise DataError(path, f"indptr must have {n + 1} entries and data be one-dimensional")
    check_csr(path, values, indices, indptr, d)
    return make_csr(values, indices, indptr, d)


def _indicator(
    path: Any, found: dict[str, NDArray[Any]], n: int
) -> tuple[Any, NDArray[np.float64]]:
    names, indices = found.get("label_names"), found.get("y_indices")
    if names is None or indices is None or names.ndim != 1 or names.dtype.kind not in "iuf":
        raise DataError(path, "rows of several labels need y_indices and the numbers label_names")
    indices = _whole(path, indices, "y_indices")
    indptr = _whole(path, found["y_indptr"], "y_indptr")
    if indptr.shape != (n + 1,):
        raise DataError(path, f"y_indptr must have {n + 1} entries")
    ones = np.ones(indices.size, np.int64)
    check_csr(path, ones, indices, indptr, names.size)
    return make_csr(ones, indices, indptr, names.size).scipy(), names.astype(np.float64)


def _dense(path: Any, array: NDArray[Any] | None, name: str) -> NDArray[Any]:
    if array is None or array.ndim != 2:
        shape = None if array is None else array.shape
        raise DataError(path, f"{name} must be two-dimensional (rows x columns), got {shape}")
    array = _numbers(path, array, name)
    check_dense(path, array)
    return array


def _numbers(path: Any, array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.dtype.kind not in "iufb":
        raise DataError(path, f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):  # SciPy has no others
        return array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _whole(path: Any, array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(path, f"{name} must be one row of whole numbers, got dtype {array.dtype}")
    kind = np.int32 if array.dtype.kind == "i" and array.dtype.itemsize <= 4 else np.int64
    return array.astype(kind, copy=False)


def _labels(path: Any, y: NDArray[Any], n: int) -> Any:
    if y.ndim == 1 and y.dtype.kind == "U":
        if y.shape != (n,):
            raise DataError(path, f"y has {y.size} entries for {n} rows")
        return y
    return _per_row(path, y, "y", n, None)


def _per_row(path: Any, array: NDArray[Any] | None, name: str, n: int, dtype: Any) -> Any:
    if array is None:
        return None
    if array.shape != (n,):
        raise DataError(path, f"{name} has the shape {array.shape} for {n} rows")
    array = _numbers(path, array, name)
    if not np.isfinite(array).all():
        raise DataError(path, f"{name} holds values that are not finite")
    if name != "y" and name != "qid" and (array < 0).any():
        raise DataError(path, f"{name} holds negative weights")
    return array if dtype is None else array.astype(dtype, copy=False)
