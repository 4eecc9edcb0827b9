"""From any format to any other, by blocks where both allow it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pegasos.data import blocks, format_of, read, writers
from pegasos.data.cache_writer import write_cache
from pegasos.data.dataset import SHOWN, BadLine, Data, DataError, Options
from pegasos.util.atomic import atomic_path
from pegasos.util.files import AnyPath


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
        writers.write_npz(data, target)
        return
    # Tables need all features before the first row.
    features = _features(source, options) if kind in writers.TABLES else 0
    rows = done.counted(blocks(source, options))
    if kind == "svmlight":
        svmlight: Any = importlib.import_module("pegasos.data.svmlight")
        svmlight.write_blocks(rows, target)
    elif kind in writers.TABLES:
        writers.write_table(rows, target, kind, features)
    else:
        raise ValueError(f"{kind!r} is not a format that can be written")


def _features(source: Path, options: Options) -> int:
    if options.features is not None:
        return options.features
    # Blocks of svmlight have the features met so far; those of other formats all of them.
    widths = (int(block.X.shape[1]) for block in blocks(source, options))
    return max(widths) if (options.format or format_of(source)) == "svmlight" else next(widths)
