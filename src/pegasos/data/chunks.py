"""Rows on disk that are read a block at a time, in any order: data larger than memory.

``open_chunks`` takes caches, npy, Parquet and plain svmlight files; other text is converted to a
cache first, and ``spill`` does the same with rows that come only once, from a generator.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.data import read
from pegasos.data.cache import Cache
from pegasos.data.cache_manifest import NAME
from pegasos.data.dataset import ALIGNED, Chunks, Data, DataError, Options, take
from pegasos.data.formats import resolved
from pegasos.data.svmlight import SvmlightChunks
from pegasos.util import sparse
from pegasos.util.files import AnyPath
from pegasos.util.memory import total

MANY_BLOCKS, LEAST_BYTES, MOST_BYTES = 128, 1 << 18, 1 << 26
"""Blocks of rows, unless told otherwise."""

_SHARE = 0.6  # of the machine's memory that rows may take at once


class _EvenChunks(Chunks):
    """Blocks of as many rows each; all at once where nothing else is asked for and they fit."""

    def __init__(self, n: int, size: int, block_bytes: int | None) -> None:
        memory = total()
        fits = memory is not None and size <= _SHARE * memory
        self._n, self._at_once = n, block_bytes is None and fits
        if block_bytes is None:  # many, so that a random order of them mixes rows
            block_bytes = max(LEAST_BYTES, min(MOST_BYTES, size // MANY_BLOCKS))
        self._rows = max(1, int(n * block_bytes / max(size, 1)) // ALIGNED) * ALIGNED

    @property
    def n_blocks(self) -> int:
        return -(-self._n // self._rows)

    def whole(self) -> Data | None:
        return self._some(0, self._n) if self._at_once else None

    def read(self, number: int) -> Data:
        return self._some(*self._range(number))

    def _range(self, number: int) -> tuple[int, int]:
        return number * self._rows, min(self._n, (number + 1) * self._rows)

    @abstractmethod
    def _some(self, lo: int, hi: int) -> Data:
        """The rows from ``lo`` to ``hi``, in place."""


class CacheChunks(_EvenChunks):
    """A cache, memory-mapped: its pages are the system's, to keep or to drop."""

    def __init__(self, cache: Cache | AnyPath, block_bytes: int | None = None) -> None:
        """Blocks of about so many bytes; those of the cache are checked when they are read.

        Without ``block_bytes``, rows that fit the machine's memory are used at once, where they
        are mapped.
        """
        self.cache = cache if isinstance(cache, Cache) else Cache(cache)
        manifest = self.cache.manifest
        size = sum(part[1] for block in manifest.blocks for part in block.ranges.values())
        super().__init__(manifest.rows, size, block_bytes)

    @property
    def in_place(self) -> bool:
        """They are pages of files."""
        return True

    def expect(self, number: int) -> None:
        """Ask the system to read ahead."""
        self.cache.will_need(*self._range(number))

    def _some(self, lo: int, hi: int) -> Data:
        return self.cache.some_rows(lo, hi)


class ArrayChunks(_EvenChunks):
    """Arrays, memory-mapped or not: X dense or CSR, y, and sample weights."""

    def __init__(
        self, X: Any, y: Any = None, sample_weight: Any = None, block_bytes: int | None = None
    ) -> None:
        """Blocks of about so many bytes; without, rows at once if they fit the machine's memory."""
        y, weight = (None if one is None else np.asarray(one) for one in (y, sample_weight))
        self.data = Data(X, y, weight)
        n, d = X.shape
        size = X.nnz * 12 if sparse.issparse(X) else n * d * X.itemsize
        super().__init__(n, size, block_bytes)

    def _some(self, lo: int, hi: int) -> Data:
        return self.data if (lo, hi) == (0, self.data.n) else take(self.data, lo, hi)


def open_chunks(
    path: AnyPath | Sequence[AnyPath],
    options: Options | None = None,
    *,
    block_bytes: int | None = None,
    **changes: Any,
) -> Chunks:
    """A file, or Parquet files (several, or a folder of them), as chunks.

    Options are those of ``pegasos.data.read``.
    """
    options = replace(options or Options(), **changes)
    paths: list[Any] = [path] if isinstance(path, str | os.PathLike) else list(path)
    if len(paths) == 1 and Path(paths[0]).is_dir() and not (Path(paths[0]) / NAME).exists():
        paths = sorted(Path(paths[0]).rglob("*.parquet"))
        if not paths:
            raise DataError(path, "a folder that is no cache, and holds no Parquet files")
    if not paths:
        raise ValueError("no files to read")
    options = resolved(paths[0], options)
    kind = options.format
    if kind == "parquet":
        from pegasos.data.arrow import ParquetChunks

        return ParquetChunks(paths, options)
    if len(paths) > 1:
        raise ValueError(f"{len(paths)} files: several are taken of Parquet only, not of {kind}")
    if kind == "cache":
        return CacheChunks(paths[0], block_bytes)
    if kind == "npy":
        data = read(paths[0], options)
        return ArrayChunks(data.X, data.y, data.sample_weight, block_bytes)
    if kind == "svmlight":
        return SvmlightChunks(paths[0], options, block_bytes)
    raise ValueError(
        f"{kind} files are not read in any order: convert them to a cache first "
        "(pegasos convert FILE FILE.cache)"
    )


def spill(parts: Iterable[Any], folder: AnyPath, *, overwrite: bool = False) -> CacheChunks:
    """Write (X, y) or (X, y, weight) that come only once to a cache, and open it."""
    from pegasos.data.cache_writer import write_cache

    write_cache(_parts(parts), folder, overwrite=overwrite)
    return CacheChunks(folder)


def _parts(parts: Iterable[Any]) -> Iterator[Data]:
    for number, part in enumerate(parts):
        if not isinstance(part, tuple) or len(part) not in (2, 3):
            raise ValueError(
                f"part {number} must be (X, y) or (X, y, sample_weight), got {type(part).__name__}"
            )
        X, y = part[0], np.asarray(part[1])
        X = X.tocsr() if sparse.issparse(X) else np.atleast_2d(np.asarray(X))
        if y.shape != (X.shape[0],):
            raise ValueError(f"part {number}: X has {X.shape[0]} rows, y the shape {y.shape}")
        weight = np.asarray(part[2], dtype=np.float64) if len(part) == 3 else None
        yield Data(X, y, weight)
