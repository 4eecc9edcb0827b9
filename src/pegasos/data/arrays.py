"""NumPy's files: npz with a CSR matrix or an array X, npy with an array; never pickled objects.

npz: data, indices, indptr and shape, as ``scipy.sparse.save_npz`` writes them, or X; beside them
y (or y_indices, y_indptr and label_names, of rows with several labels), sample_weight, qid and
feature_names, each if there is one. npy: rows by columns; the label is the first column unless
``label`` says otherwise, or NAME.y.npy lies beside NAME.npy.
"""

from __future__ import annotations

import errno
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
from pegasos.data.npy import check_header, map_array
from pegasos.util.files import AnyPath

_CSR = ("data", "indices", "indptr", "shape")
_USED = {"X", "data", "indices", "indptr", "shape", "format", "y", "y_indices", "y_indptr"}
_USED |= {"label_names", "sample_weight", "qid", "feature_names"}


def read(path: AnyPath, options: Options) -> Data:
    """The whole file: npz in memory, npy memory-mapped."""
    return _read_npz(path) if options.format == "npz" else _read_npy(path, options)


def blocks(path: AnyPath, options: Options) -> Iterator[Data]:
    """Slices of the whole."""
    return slices(read(path, options))


def _read_npz(path: AnyPath) -> Data:
    found = _members(path)
    X = _csr(path, found) if "indptr" in found else _dense(path, found.get("X"), "X")
    n, d = X.shape
    y, label_names = _per_row(path, found.get("y"), "y", n), None
    if "y_indptr" in found:
        y, label_names = _indicator(path, found, n)
    names = found.get("feature_names")
    if names is not None and (names.shape != (d,) or names.dtype.kind != "U"):
        raise DataError(path, f"feature_names must be {d} strings")
    unused = sorted(set(found) - _USED)
    return Data(
        X,
        y,
        _weights(path, found.get("sample_weight"), "sample_weight", n),
        _per_row(path, found.get("qid"), "qid", n, np.int64),
        None if names is None else tuple(names.tolist()),
        label_names,
        notes=(f"not used: {', '.join(unused)}",) if unused else (),
    )


def _read_npy(path: AnyPath, options: Options) -> Data:
    array = _dense(path, map_array(path), "the array")
    n, d = array.shape
    beside = Path(path).with_suffix(".y.npy")
    if beside.exists() and options.label is None:
        own = _per_row(beside, map_array(beside), "y", n)
        return Data(array, own, notes=(f"labels are from {beside.name}",))
    columns = assign(path, None, d, options)
    first, last = columns.features[0], columns.features[-1]
    together = last - first + 1 == len(columns.features)  # then X is a view
    X = array[:, first : last + 1] if together else array[:, columns.features]
    y = weight = None
    if columns.label is not None:
        y = labels.whole(array[:, columns.label].astype(np.float64))
    if columns.weight is not None:
        weight = _weights(path, array[:, columns.weight], "the weight's column", n)
    return columns.data(X, y, weight, None)


def _members(path: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a zip file, each checked against its size before it is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as file:
                    check_header(f"{path}: {name}", file, info.file_size)  # type: ignore[arg-type]
                with archive.open(info) as file:
                    found[name] = np.lib.format.read_array(file, allow_pickle=False)
                    file.read(1)  # at the end of a member its CRC is checked
    except Exception as error:  # damage of a zip file has many names
        of_disk = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if of_disk or isinstance(error, DataError):
            raise
        raise DataError(path, f"not a whole npz file: {error}") from None
    missing = ", ".join(name for name in _CSR if name not in found)
    if "X" not in found and missing:
        raise DataError(path, "holds neither X nor the CSR arrays data, indices, indptr and shape")
    if "indptr" in found and missing:
        raise DataError(
            path, f"holds indptr, as CSR matrices do, but not {missing}: leave it out if X is all"
        )
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
    if values.ndim != 1:
        raise DataError(path, "data must be one-dimensional")
    indices, indptr = _whole(path, found, "indices"), _whole(path, found, "indptr", n + 1)
    check_csr(path, values, indices, indptr, d)
    return make_csr(values, indices, indptr, d)


def _indicator(
    path: Any, found: dict[str, NDArray[Any]], n: int
) -> tuple[Any, NDArray[np.float64]]:
    names = found.get("label_names")
    known = names is not None and names.ndim == 1 and names.dtype.kind in "iuf"
    if names is None or not known or "y_indices" not in found:
        raise DataError(path, "rows of several labels need y_indices and the numbers label_names")
    indices, indptr = _whole(path, found, "y_indices"), _whole(path, found, "y_indptr", n + 1)
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


def _whole(
    path: Any, found: dict[str, NDArray[Any]], name: str, size: int | None = None
) -> NDArray[Any]:
    array = found[name]
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(path, f"{name} must be one row of whole numbers, got dtype {array.dtype}")
    if size not in (None, array.size):
        raise DataError(path, f"{name} must have {size} entries")
    kind = np.int32 if array.dtype.kind == "i" and array.dtype.itemsize <= 4 else np.int64
    return array.astype(kind, copy=False)


def _per_row(path: Any, array: NDArray[Any] | None, name: str, n: int, dtype: Any = None) -> Any:
    """Numbers, one a row; labels may be strings."""
    if array is None:
        return None
    if array.shape != (n,):
        raise DataError(path, f"{name} has the shape {array.shape} for {n} rows")
    if name == "y" and array.dtype.kind == "U":
        return array
    array = _numbers(path, array, name)
    if not np.isfinite(array).all():
        raise DataError(path, f"{name} holds values that are not finite")
    return array if dtype is None else array.astype(dtype, copy=False)


def _weights(path: Any, array: NDArray[Any] | None, name: str, n: int) -> Any:
    weights = _per_row(path, array, name, n, np.float64)
    if weights is not None and (weights < 0).any():
        raise DataError(path, f"{name} holds negative weights")
    return weights
