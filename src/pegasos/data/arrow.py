"""Tables of Arrow: Parquet, Feather and IPC files, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.columns import NO_NUMBER, Columns, assign
from pegasos.data.dataset import VALUES, Chunks, Data, DataError, Options, joined
from pegasos.util.files import AnyPath


def read(path: AnyPath, options: Options) -> Data:
    """The whole file."""
    return joined(list(blocks(path, options)))


def blocks(path: AnyPath, options: Options) -> Iterator[Data]:
    """The file in order, some megabytes at a time."""
    row = 0
    with _opened(path, options) as (file, columns):
        for batch in _batches(file, columns):
            if batch.num_rows:
                yield _data(path, columns, batch, options, row)
                row += batch.num_rows
    if not row:
        raise DataError(path, "no rows")


class ParquetChunks(Chunks):
    """Row groups of Parquet files; one is opened for each read, so that threads share nothing."""

    def __init__(self, paths: Sequence[AnyPath], options: Options) -> None:
        """Look at the schema of each file."""
        self._options = options
        self._groups: list[tuple[AnyPath, Columns, int]] = []
        for path in paths:
            with _opened(path, options) as (file, columns):
                self._groups += [(path, columns, group) for group in range(file.num_row_groups)]
        if not self._groups:
            raise DataError(paths[0], "no row groups: there are no rows")

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._groups)

    def read(self, number: int) -> Data:
        """The rows of a row group."""
        path, columns, group = self._groups[number]
        with _opened(path, self._options, columns) as (file, _):
            batches = file.read_row_group(group).combine_chunks().to_batches()
            if not batches:
                raise DataError(path, f"row group {group} has no rows")
            return _data(path, columns, batches[0], self._options, 0)


def need_pyarrow() -> Any:
    """pyarrow, or an ImportError that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "Parquet, Feather and Arrow files need pyarrow: pip install 'pegasos[arrow]'"
        ) from None
    return pyarrow


@contextmanager
def _opened(
    path: AnyPath, options: Options, columns: Columns | None = None
) -> Iterator[tuple[Any, Columns]]:
    """A file and its columns, unless they are known; damage is told by the file's name."""
    pa = need_pyarrow()
    try:
        with _reader(path, options) as file:
            if columns is None:
                schema = file.schema_arrow if options.format == "parquet" else file.schema
                columns = assign(path, schema.names, len(schema.names), options)
                _check_types(path, columns, schema)
            yield file, columns
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise DataError(path, f"not a whole file of this format: {error}") from None


def _reader(path: AnyPath, options: Options) -> Any:
    import pyarrow

    if options.format == "parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
    with open(path, "rb") as file:
        whole = file.read(6) == b"ARROW1"  # a file; streams have no such start
    source = pyarrow.memory_map(os.fspath(path))
    return (pyarrow.ipc.open_file if whole else pyarrow.ipc.open_stream)(source)


def _batches(file: Any, columns: Columns) -> Iterator[Any]:
    rows = max(1, VALUES // columns.count)
    if hasattr(file, "iter_batches"):
        yield from file.iter_batches(batch_size=rows)
        return
    whole = hasattr(file, "num_record_batches")
    found = (file.get_batch(at) for at in range(file.num_record_batches)) if whole else file
    for batch in found:
        for lo in range(0, batch.num_rows, rows):
            yield batch.slice(lo, rows)


def _check_types(path: AnyPath, columns: Columns, schema: Any) -> None:
    """Refuse columns that cannot be numbers before anything is read."""
    for at in columns.numbers:
        if not _numeric(schema.field(at).type):
            raise _of_type(path, columns, schema, at, NO_NUMBER)
    if columns.text is not None and not _textual(schema.field(columns.text).type):
        raise _of_type(path, columns, schema, columns.text, "not text")
    if columns.label is not None:
        kind = schema.field(columns.label).type
        if not _numeric(kind) and not _textual(kind):
            raise _of_type(path, columns, schema, columns.label, "no label")


def _of_type(path: AnyPath, columns: Columns, schema: Any, at: int, what: str) -> DataError:
    return DataError(path, f"{columns.called(at)} is of type {schema.field(at).type}, {what}")


def _numeric(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)  # type: ignore[no-any-return]


def _textual(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind)  # type: ignore[no-any-return]


def _data(path: AnyPath, columns: Columns, batch: Any, options: Options, row: int) -> Data:
    batch.validate(full=True)  # offsets out of range would be followed blindly

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
    text = None if columns.text is None else column(columns.text).to_pylist()
    return columns.data(X, y, weight, text)
