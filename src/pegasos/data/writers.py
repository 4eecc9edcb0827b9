"""Writing CSV, Parquet, Feather, npy (by blocks) and npz (at once)."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.columns import LABEL_NAMES
from pegasos.data.csv_table import delimiter_of
from pegasos.data.dataset import VALUES, Data, DataError, Options, slices
from pegasos.data.files import create_binary
from pegasos.data.npy import GrowingArray
from pegasos.util import sparse

_MOST_COLUMNS = 1 << 20


def write_table(blocks: Iterable[Data], path: Path, kind: str, features: int) -> None:
    """Rows of ``features`` columns, the label first: a kind of ``TABLES``."""
    TABLES[kind](_dense(blocks, path, features), path, kind)


def _write_csv(blocks: Iterable[Data], path: Path, _kind: str) -> None:
    """CSV with a header; numbers are written so that they come back exactly."""
    delimiter = delimiter_of(path, Options())
    with create_binary(path) as file:
        for number, data in enumerate(blocks):
            if number == 0:
                names = [_quoted(name, delimiter) for name in _names(path, data)]
                file.write((delimiter.join(names) + "\n").encode())
            leading = [_cells(column, delimiter) for column in _leading(data)]
            for at, row in enumerate(np.asarray(data.X, np.float64).tolist()):
                cells = [*(column[at] for column in leading), *map(repr, row), ""]
                # The cell at the end makes ".0" end with a delimiter in every number.
                line = delimiter.join(cells).replace(".0" + delimiter, delimiter)
                file.write((line.removesuffix(delimiter) + "\n").encode())


def _write_arrow(blocks: Iterable[Data], path: Path, kind: str) -> None:
    """Parquet or Feather, a column for each feature."""
    import pyarrow as pa

    with ExitStack() as stack:
        writer: Any = None
        for data in blocks:
            columns = [pa.array(np.ascontiguousarray(one)) for one in (*_leading(data), *data.X.T)]
            if writer is None:
                types = (column.type for column in columns)
                schema = pa.schema(list(zip(_names(path, data), types, strict=True)))
                writer = stack.enter_context(_arrow_writer(path, schema, kind))
            if [column.type for column in columns] != schema.types:
                raise DataError(path, "labels or values change their type on the way")
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_npy(blocks: Iterable[Data], path: Path, _kind: str) -> None:
    """One array, the label in its first column."""
    with ExitStack() as stack:
        file: GrowingArray | None = None
        for data in blocks:
            if data.y is None or np.asarray(data.y).dtype.kind not in "biuf":
                what = "npy needs labels that are numbers, in its first column"
                raise DataError(path, f"{what}: write npz or a cache")
            if data.sample_weight is not None:
                raise DataError(path, "npy has no place for weights: write npz or a cache")
            rows = np.column_stack([np.asarray(data.y, np.float64), data.X])
            if file is None:
                exact = np.asarray(data.X).dtype == np.float32 and data.y.dtype.kind != "f"
                file = GrowingArray(path, np.float32 if exact else np.float64, rows.shape[1:])
                stack.callback(file.close)
            if (rows.astype(file.dtype)[:, 0] != rows[:, 0]).any():
                raise DataError(path, "labels are too large for float32: write npz or a cache")
            file.add(rows)


TABLES: dict[str, Callable[[Iterable[Data], Path, str], None]] = {
    "csv": _write_csv,
    "parquet": _write_arrow,
    "arrow": _write_arrow,
    "npy": _write_npy,
}
"""What writes tables: dense rows, as they come."""


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


def _names(path: Path, data: Data) -> list[str]:
    names = list(data.feature_names or (f"x{at}" for at in range(data.X.shape[1])))
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


def _arrow_writer(path: Path, schema: Any, kind: str) -> Any:
    if kind == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(str(path), schema, write_page_checksum=True)
    import pyarrow

    return pyarrow.ipc.new_file(str(path), schema)
