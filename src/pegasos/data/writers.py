"""Writing CSV, Parquet, Feather, npy (by blocks) and npz (at once)."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.columns import LABEL_NAMES
from pegasos.data.dataset import VALUES, Data, DataError, slices
from pegasos.data.files import create_binary
from pegasos.data.npy import GrowingArray
from pegasos.util import sparse

_MOST_COLUMNS = 1 << 20


def write_csv(blocks: Iterable[Data], path: Path, features: int, delimiter: str) -> None:
    """CSV with a header, the label first; numbers are written so that they come back exactly."""
    with create_binary(path) as file:
        names: list[str] | None = None
        for data in _dense(blocks, path, features):
            if names is None:
                names = _names(path, data, features)
                file.write((delimiter.join(_quoted(n, delimiter) for n in names) + "\n").encode())
            leading = [_cells(column, delimiter) for column in _leading(data)]
            for at, row in enumerate(np.asarray(data.X, np.float64).tolist()):
                cells = [*(column[at] for column in leading), *map(repr, row), ""]
                # The cell at the end makes ".0" end with a delimiter in every number.
                line = delimiter.join(cells).replace(".0" + delimiter, delimiter)
                file.write((line.removesuffix(delimiter) + "\n").encode())


def write_arrow(blocks: Iterable[Data], path: Path, features: int, parquet: bool) -> None:
    """Parquet or Feather, a column for each feature."""
    import pyarrow as pa

    writer: Any = None
    try:
        for data in _dense(blocks, path, features):
            columns = [pa.array(column) for column in _leading(data)]
            columns += [pa.array(np.ascontiguousarray(data.X[:, at])) for at in range(features)]
            if writer is None:
                names = _names(path, data, features)
                schema = pa.schema(list(zip(names, (c.type for c in columns), strict=True)))
                writer = _arrow_writer(path, schema, parquet)
            if [column.type for column in columns] != schema.types:
                raise DataError(path, "labels or values change their type on the way")
            writer.write_batch(pa.record_batch(columns, schema=schema))
    finally:
        if writer is not None:
            writer.close()


def write_npy(blocks: Iterable[Data], path: Path, features: int) -> None:
    """One array, the label in its first column."""
    file: GrowingArray | None = None
    try:
        for data in _dense(blocks, path, features):
            if data.y is None or np.asarray(data.y).dtype.kind not in "biuf":
                what = "npy needs labels that are numbers, in its first column"
                raise DataError(path, f"{what}: write npz or a cache")
            if data.sample_weight is not None:
                raise DataError(path, "npy has no place for weights: write npz or a cache")
            rows = np.column_stack([np.asarray(data.y, np.float64), data.X])
            if file is None:
                exact = np.asarray(data.X).dtype == np.float32 and data.y.dtype.kind != "f"
                file = GrowingArray(path, np.float32 if exact else np.float64, rows.shape[1:])
            if (rows.astype(file.dtype)[:, 0] != rows[:, 0]).any():
                raise DataError(path, "labels are too large for float32: write npz or a cache")
            file.add(rows)
    finally:
        if file is not None:
            file.close()


def write_npz(data: Data, path: Path) -> None:
    """All rows at once: CSR as SciPy writes it, or X; see ``pegasos.data.arrays``."""
    arrays: dict[str, Any] = {"X": data.X}
    if sparse.issparse(data.X):
        X = data.X.tocsr()
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        arrays |= {"shape": np.array(X.shape), "format": np.array(b"csr")}
    if sparse.issparse(data.y):
        y = data.y.tocsr()
        names = np.arange(y.shape[1]) if data.label_names is None else data.label_names
        arrays |= {"y_indices": y.indices, "y_indptr": y.indptr}
        arrays["label_names"] = np.asarray(names, np.float64)
    elif data.y is not None:
        arrays["y"] = data.y
    if data.feature_names is not None:
        arrays["feature_names"] = np.array(data.feature_names, dtype=np.str_)
    for name in ("sample_weight", "qid"):
        if getattr(data, name) is not None:
            arrays[name] = getattr(data, name)
    # np.savez calls an array "file" by another name and adds an ending; this does neither.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def _dense(blocks: Iterable[Data], path: Path, features: int) -> Iterable[Data]:
    """Slices with dense rows of ``features`` columns, none of what a table cannot hold."""
    if features > _MOST_COLUMNS:
        raise DataError(path, f"{features} columns are too many for a table: write npz or a cache")
    for block in blocks:
        if sparse.issparse(block.y):
            what = "a table has no place for rows of several labels"
            raise DataError(path, f"{what}: write svmlight, npz or a cache")
        if block.qid is not None:
            raise DataError(path, "a table has no place for qid: write svmlight, npz or a cache")
        for data in slices(block, max(1, VALUES // max(features, 1))):
            yield replace(data, X=_filled(data.X, features))


def _filled(X: Any, features: int) -> NDArray[Any]:
    if not sparse.issparse(X):
        return np.asarray(X)
    X = X.tocsr()
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    out = np.zeros((X.shape[0], features), dtype)
    out[:, : X.shape[1]] = X.toarray()
    return out


def _leading(data: Data) -> list[NDArray[Any]]:
    return [np.asarray(column) for column in (data.y, data.sample_weight) if column is not None]


def _names(path: Path, data: Data, features: int) -> list[str]:
    names = list(data.feature_names or (f"x{at}" for at in range(features)))
    leading = [LABEL_NAMES[0]] if data.y is not None else []
    leading += ["weight"] if data.sample_weight is not None else []
    for name in leading:
        if name in (other.strip().lower() for other in names):
            raise DataError(path, f"a feature is called {name!r}, as another column: rename it")
    return leading + names


def _cells(column: NDArray[Any], delimiter: str) -> list[str]:
    if column.dtype.kind in "biu":
        return [str(int(value)) for value in column.tolist()]
    if column.dtype.kind == "f":
        return [repr(float(value)).removesuffix(".0") for value in column.tolist()]
    return [_quoted(str(value), delimiter) for value in column.tolist()]


def _quoted(text: str, delimiter: str) -> str:
    if any(character in text for character in (delimiter, '"', "\n", "\r")) or text.endswith(".0"):
        return '"' + text.replace('"', '""') + '"'
    return text


def _arrow_writer(path: str | os.PathLike[str], schema: Any, parquet: bool) -> Any:
    if parquet:
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(os.fspath(path), schema, write_page_checksum=True)
    import pyarrow

    return pyarrow.ipc.new_file(os.fspath(path), schema)
