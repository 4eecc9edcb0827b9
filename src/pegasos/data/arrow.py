"""Tables of Arrow: Parquet, Feather and IPC files, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.columns import Columns, assign
from pegasos.data.dataset import VALUES, Data, DataError, Options


def blocks(path: str | os.PathLike[str], options: Options) -> Iterator[Data]:
    """The file in order, some megabytes at a time."""
    parquet = options.format == "parquet"
    row = 0
    with _whole(path), _open(path, parquet) as file:
        schema = file.schema_arrow if parquet else file.schema
        columns = assign(path, schema.names, len(schema.names), options)
        _check_types(path, columns, schema)
        for batch in _batches(file, parquet, columns):
            batch.validate(full=True)  # offsets out of range would be followed blindly
            if batch.num_rows:
                yield _data(path, columns, batch, options, row)
                row += batch.num_rows
    if not row:
        raise DataError(path, "no rows")


class RowGroups:
    """The row groups of a Parquet file, in any order."""

    def __init__(self, path: str | os.PathLike[str], options: Options) -> None:
        """Look at its schema; the file is opened for each read, so that threads share nothing."""
        need_pyarrow()
        self.path, self.options = path, options
        with _whole(path), _open(path, True) as file:
            self.schema, self.count = file.schema_arrow, int(file.num_row_groups)
        self.columns = assign(path, self.schema.names, len(self.schema.names), options)
        _check_types(path, self.columns, self.schema)

    def read(self, number: int) -> Data:
        """One of them."""
        with _whole(self.path), _open(self.path, True) as file:
            table = file.read_row_group(number).combine_chunks()
            batch = table.to_batches()[0] if table.num_rows else None
            if batch is None:
                raise DataError(self.path, f"row group {number} has no rows")
            batch.validate(full=True)
            return _data(self.path, self.columns, batch, self.options, 0)


@contextmanager
def _whole(path: Any) -> Iterator[None]:
    """Damage by its name."""
    pa = need_pyarrow()
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise DataError(path, f"not a whole file of this format: {error}") from None


def read(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file."""
    parts = list(blocks(path, options))
    first = parts[0]

    def joined(name: str) -> Any:
        if getattr(first, name) is None:
            return None
        return np.concatenate([getattr(part, name) for part in parts])

    text = None if first.text is None else [one for part in parts for one in part.text or ()]
    return Data(
        joined("X"), joined("y"), joined("sample_weight"), text=text,
        feature_names=first.feature_names, notes=first.notes,
    )  # fmt: skip


def need_pyarrow() -> Any:
    """pyarrow, or an ImportError that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "Parquet, Feather and Arrow files need pyarrow: pip install 'pegasos[arrow]'"
        ) from None
    return pyarrow


def _open(path: str | os.PathLike[str], parquet: bool) -> Any:
    if parquet:
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
    import pyarrow

    with open(path, "rb") as file:
        whole = file.read(6) == b"ARROW1"  # a file; streams have no such start
    source = pyarrow.memory_map(os.fspath(path))
    return (pyarrow.ipc.open_file if whole else pyarrow.ipc.open_stream)(source)


def _batches(file: Any, parquet: bool, columns: Columns) -> Iterator[Any]:
    rows = max(1, VALUES // columns.count)
    if parquet:
        yield from file.iter_batches(batch_size=rows)
        return
    whole = hasattr(file, "num_record_batches")
    found = (file.get_batch(at) for at in range(file.num_record_batches)) if whole else file
    for batch in found:
        for lo in range(0, batch.num_rows, rows):
            yield batch.slice(lo, rows)


def _check_types(path: Any, columns: Columns, schema: Any) -> None:
    """Refuse columns that cannot be numbers before anything is read."""
    numbers = [*columns.features, *(() if columns.weight is None else (columns.weight,))]
    for at in numbers:
        kind = schema.field(at).type
        if not _numeric(kind):
            raise DataError(
                path,
                f"{columns.called(at)} is of type {kind}, not a number: one-hot encode the column, "
                "or if it is text name it (text=, --text)",
            )
    if columns.text is not None and not _textual(schema.field(columns.text).type):
        kind = schema.field(columns.text).type
        raise DataError(path, f"{columns.called(columns.text)} is of type {kind}, not text")
    if columns.label is not None:
        kind = schema.field(columns.label).type
        if not _numeric(kind) and not _textual(kind):
            raise DataError(path, f"{columns.called(columns.label)} is of type {kind}, no label")


def _numeric(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)  # type: ignore[no-any-return]


def _textual(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind)  # type: ignore[no-any-return]


def _data(path: Any, columns: Columns, batch: Any, options: Options, row: int) -> Data:
    def column(at: int) -> Any:
        found = batch.column(at)
        if found.null_count:
            first = row + int(np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))[0])
            what = f"{columns.called(at)}: the value in row {first} is missing"
            raise DataError(path, f"{what}: fill it in, or leave the row out")
        return found

    def numbers(at: int) -> NDArray[Any]:
        values: NDArray[Any] = column(at).to_numpy(zero_copy_only=False)
        if values.dtype == np.bool_:
            values = values.astype(np.int64)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            what = f"{values[bad[0]]} in row {row + int(bad[0])} is not finite"
            raise DataError(path, f"{columns.called(at)}: {what}")
        return values

    X: NDArray[Any] | None = None
    if columns.text is None:
        X = np.empty((batch.num_rows, len(columns.features)), options.dtype)
        largest = np.finfo(options.dtype).max
        for place, at in enumerate(columns.features):
            values = numbers(at)
            if values.dtype.itemsize > X.itemsize and (np.abs(values) > largest).any():
                raise DataError(path, f"{columns.called(at)} has values too large for {X.dtype}")
            X[:, place] = values
    y = weight = None
    if columns.label is not None:
        named = _textual(batch.schema.field(columns.label).type)
        y = np.array(column(columns.label).to_pylist()) if named else numbers(columns.label)
        if y.dtype.kind in "iu":
            y = y.astype(np.int64)
    if columns.weight is not None:
        weight = numbers(columns.weight).astype(np.float64)
        if (weight < 0).any():
            raise DataError(path, f"{columns.called(columns.weight)} has negative weights")
    return Data(
        X,
        y,
        weight,
        feature_names=columns.feature_names if X is not None else None,
        text=None if columns.text is None else column(columns.text).to_pylist(),
        notes=columns.notes,
    )
