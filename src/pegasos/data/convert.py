"""From any format to any other, by blocks where both allow it."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data import blocks, format_of, read
from pegasos.data.cache_writer import write_cache
from pegasos.data.columns import LABEL_NAMES
from pegasos.data.csv import delimiter_of
from pegasos.data.dataset import SHOWN, VALUES, BadLine, Data, DataError, Options, slices
from pegasos.data.files import create_binary
from pegasos.data.npy import GrowingArray
from pegasos.util import sparse
from pegasos.util.atomic import atomic_path
from pegasos.util.files import AnyPath

_MOST_COLUMNS = 1 << 20


@dataclass
class Conversion:
    """What was written."""

    rows: int = 0
    features: int = 0
    values: int = 0  # stored: the non-zeros of sparse rows, all of dense ones
    bad_lines: tuple[BadLine, ...] = ()
    bad_count: int = 0
    notes: tuple[str, ...] = ()

    def counted(self, blocks: Iterable[Data]) -> Iterator[Data]:
        """Blocks on their way to the target."""
        for data in blocks:
            n, d = data.X.shape
            self.rows += n
            self.values += getattr(data.X, "nnz", n * d)
            self.features = max(self.features, d)
            self.bad_lines += data.bad_lines[: max(0, SHOWN - len(self.bad_lines))]
            self.bad_count += data.bad_count
            self.notes += tuple(note for note in data.notes if note not in self.notes)
            yield replace(data, bad_lines=(), bad_count=0)


def convert(
    source: AnyPath,
    target: AnyPath,
    options: Options | None = None,
    *,
    target_format: str | None = None,
    overwrite: bool = False,
) -> Conversion:
    """Read ``source`` as ``options`` say, write ``target`` in the format of its name.

    Memory is bounded, except from and to npz, which is in memory as a whole. Tables (CSV,
    Parquet, Arrow, npy) need the number of features before the first row: of svmlight it is
    counted in a pass of its own unless ``options.features`` declares it. The target appears when
    it is whole. What it has no place for (weights, qid, several labels) is an error.
    """
    options = options or Options()
    if options.text is not None:
        raise ValueError("text is turned into numbers by a model: it cannot be converted by itself")
    source, target = Path(source), Path(target)
    if target.exists() and source.exists() and source.samefile(target):
        raise ValueError(f"{source} cannot be converted onto itself")
    kind = target_format or format_of(target)
    if target.exists() and not overwrite:  # before work starts
        raise FileExistsError(f"{target} exists; overwrite it only if you mean to")
    done = Conversion(features=options.features or 0)
    if kind == "cache":
        rows = done.counted(blocks(source, options))
        write_cache(rows, target, features=options.features, overwrite=overwrite)
        return done
    with atomic_path(target, overwrite=overwrite) as unfinished:
        try:
            _write(source, unfinished, kind, options, done)
        except DataError as error:
            # A place in the file that is not there yet says nothing to anyone.
            if error.path == str(unfinished):
                raise DataError(target, error.what, error.line, error.column) from None
            raise
    return done


def _write(source: Path, target: Path, kind: str, options: Options, done: Conversion) -> None:
    if kind == "npz":
        (data,) = done.counted([read(source, options)])
        write_npz(data, target)
        return
    # Tables need all features before the first row.
    features = _features(source, options) if kind in TABLES else 0
    rows = done.counted(blocks(source, options))
    if kind == "svmlight":
        svmlight: Any = importlib.import_module("pegasos.data.svmlight")
        svmlight.write_blocks(rows, target)
    elif kind in TABLES:
        write_table(rows, target, kind, features)
    else:
        raise ValueError(f"{kind!r} is not a format that can be written")


def _features(source: Path, options: Options) -> int:
    if options.features is not None:
        return options.features
    # Blocks of svmlight have the features met so far; those of other formats all of them.
    widths = (int(block.X.shape[1]) for block in blocks(source, options))
    return max(widths) if (options.format or format_of(source)) == "svmlight" else next(widths)


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

    create: Callable[..., Any] = pa.ipc.new_file
    if kind == "parquet":
        from pyarrow.parquet import ParquetWriter

        create = partial(ParquetWriter, write_page_checksum=True)
    with ExitStack() as stack:
        writer: Any = None
        for data in blocks:
            columns = [pa.array(np.ascontiguousarray(one)) for one in (*_leading(data), *data.X.T)]
            if writer is None:
                types = (column.type for column in columns)
                schema = pa.schema(list(zip(_names(path, data), types, strict=True)))
                writer = stack.enter_context(create(str(path), schema))
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
            X = data.X
            if sparse.issparse(X):
                X = np.zeros((data.n, features), X.dtype if X.dtype == np.float32 else np.float64)
                X[:, : data.X.shape[1]] = data.X.tocsr().toarray()
            yield replace(data, X=np.asarray(X))


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
