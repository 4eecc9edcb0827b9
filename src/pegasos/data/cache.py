"""A cache: a folder of npy files that opens at once, memory-mapped, and is checked as it is read.

Opening checks the manifest, the size of every file and its header. A block (some rows of all
arrays) is checked when it is first touched: its CRCs, then what CRCs cannot know: indices in order
and in range, finite values.
"""

from __future__ import annotations

import os
import weakref
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pegasos.data.cache_manifest import STARTS, read_manifest
from pegasos.data.csr import check_csr, check_dense, make_csr
from pegasos.data.dataset import Data, DataError, Options
from pegasos.data.npy import HEADER, crc, map_array
from pegasos.util.files import AnyPath


class Cache:
    """A folder that was opened; safe to read from several threads."""

    def __init__(self, path: AnyPath) -> None:
        """Map the files of a cache; DataError for one that is damaged, unfinished or newer."""
        self.path = Path(path)
        if not self.path.is_dir():
            raise DataError(path, "not a folder, so not a cache")
        self.manifest = read_manifest(self.path)
        self._arrays = {name: self._mapped(name) for name in self.manifest.arrays}
        # A check only reads, so threads that meet in a block may both make it: no lock.
        self._checked = bytearray(len(self.manifest.blocks))
        self._starts = [block.row for block in self.manifest.blocks]
        self._files: dict[str, int] = {}

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.manifest.blocks)

    def block(self, number: int) -> Data:
        """The rows of a block."""
        block = self.manifest.blocks[number]
        return self.some_rows(block.row, block.row + block.rows)

    def read(self) -> Data:
        """All rows, checked; arrays stay memory-mapped."""
        return self.some_rows(0, self.manifest.rows)

    def some_rows(self, lo: int, hi: int) -> Data:
        """Rows from ``lo`` to ``hi``, checked, in place."""
        for number in self._touched(lo, hi):
            self._check(number)
        return self._data(self._between(lo, hi))

    def will_need(self, lo: int, hi: int) -> None:
        """Ask the system to read rows ahead, where it can be asked and they are not there yet."""
        if not hasattr(os, "posix_fadvise"):
            return
        wanted = self._touched(lo, hi)
        if not wanted:
            return
        first, last = self.manifest.blocks[wanted[0]], self.manifest.blocks[wanted[-1]]
        with suppress(OSError):
            for name in self._arrays:
                begin, end = first.ranges[name][0], sum(last.ranges[name][:2])
                number = self._opened(name)
                if name == "values" and _in_memory(number, (begin + end) // 2):
                    return  # so are the others
                os.posix_fadvise(number, begin, end - begin, os.POSIX_FADV_WILLNEED)

    def _opened(self, name: str) -> int:
        """The file of an array, open as long as the cache is."""
        if name not in self._files:
            self._files[name] = os.open(self._file(name), os.O_RDONLY)
            weakref.finalize(self, os.close, self._files[name])
        return self._files[name]

    def _touched(self, lo: int, hi: int) -> list[int]:
        """The blocks that hold rows from ``lo`` to ``hi``."""
        starts = self._starts
        return list(range(bisect_right(starts, lo) - 1, bisect_left(starts, hi)))

    def _between(self, lo: int, hi: int) -> dict[str, NDArray[Any]]:
        """Rows of all arrays; of starts, the end of the last row too."""
        arrays, ragged = self._arrays, self.manifest.ragged
        parts = {}
        for name, array in arrays.items():
            first, last = lo, hi + (name in STARTS)
            if name in ragged:
                first, last = arrays[ragged[name]][[lo, hi]].tolist()
            parts[name] = array[first:last]
        return parts

    def _data(self, arrays: dict[str, NDArray[Any]]) -> Data:
        manifest, values = self.manifest, cast(Any, arrays["values"])
        if manifest.sparse:
            starts = arrays["indptr"]
            starts = starts - starts[0] if starts[0] else starts
            values = make_csr(values, arrays["indices"], starts, manifest.features)
        y, names = self._labels(arrays)
        return Data(
            values, y, arrays.get("weights"), arrays.get("qid"), manifest.feature_names, names
        )

    def _labels(self, arrays: dict[str, NDArray[Any]]) -> tuple[Any, NDArray[np.float64] | None]:
        kind, names = self.manifest.labels, np.array(self.manifest.label_names)
        if kind is None:
            return None, None
        if kind == "indicator":
            # Labels were numbered as they came; here they are in order.
            order = np.argsort(names)
            starts = arrays["label_indptr"]
            found = np.argsort(order).astype(np.int32)[arrays["label_indices"]]
            ones = np.ones(found.size, np.int64)
            y = make_csr(ones, found, starts - starts[0], names.size).scipy()
            y.has_sorted_indices = False
            y.sort_indices()
            return y, names[order]
        if kind == "text":
            return names[arrays["labels"]], None
        return arrays["labels"].astype(np.int64 if kind == "int" else np.float64, copy=False), None

    # Checks

    def _check(self, number: int) -> None:
        if self._checked[number]:
            return
        block = self.manifest.blocks[number]
        for name, array in self._arrays.items():
            begin, size, told = block.ranges[name]
            row_size = self.manifest.arrays[name].row_size
            first = (begin - HEADER) // row_size
            if crc(array[first : first + size // row_size]) != told:
                where = f"block {number} (rows {block.row} to {block.row + block.rows - 1})"
                raise DataError(self._file(name), f"the checksum of {where} is wrong: damaged")
            if name in STARTS and array[0] != 0:
                raise DataError(self._file(name), "does not begin with 0")
        for entries, starts in self.manifest.ragged.items():
            begin, size, _ = block.ranges[entries]
            row_size = self.manifest.arrays[entries].row_size
            ends = self._arrays[starts][[block.row, block.row + block.rows]] * row_size
            if ends.tolist() != [begin - HEADER, begin - HEADER + size]:
                raise DataError(self._file(starts), f"does not fit {entries} in row {block.row}")
        part = self._between(block.row, block.row + block.rows)
        if self.manifest.sparse:
            starts_here, d = part["indptr"] - part["indptr"][0], self.manifest.features
            check_csr(self.path, part["values"], part["indices"], starts_here, d, block.row)
        else:
            check_dense(self.path, part["values"], block.row)
        weights = part.get("weights")
        if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise DataError(self._file("weights"), "holds weights that are negative or not finite")
        self._check_labels(part)
        self._checked[number] = 1

    def _check_labels(self, part: dict[str, NDArray[Any]]) -> None:
        kind, names = self.manifest.labels, self.manifest.label_names
        if kind == "indicator" and (np.diff(part["label_indptr"]) < 0).any():
            raise DataError(self._file("label_indptr"), "decreases")
        if names is not None:
            numbers = part["label_indices" if kind == "indicator" else "labels"]
            if numbers.size and (numbers.min() < 0 or numbers.max() >= len(names)):
                what = f"holds numbers outside the {len(names)} labels"
                raise DataError(self._file("labels"), what)
        elif kind is not None:
            y = part["labels"]
            if not np.isfinite(y).all() or (kind == "int" and (y % 1 != 0).any()):
                raise DataError(self._file("labels"), f"holds labels that are no {kind}")

    def _mapped(self, name: str) -> NDArray[Any]:
        told, place = self.manifest.arrays[name], self._file(name)
        try:
            with open(place, "rb") as file:
                size, start = os.fstat(file.fileno()).st_size, file.read(HEADER)
        except FileNotFoundError:
            raise DataError(place, "this file of the cache is missing") from None
        if size != told.file_size:
            raise DataError(place, f"{size} bytes instead of {told.file_size}: truncated?")
        if zlib.crc32(start) != told.header_crc:
            raise DataError(place, "the checksum of the header is wrong: damaged")
        array = map_array(place)
        same = (array.shape, array.dtype.str) == (told.shape, told.dtype)
        if not same or not array.flags.c_contiguous:
            raise DataError(place, "the header is not what the manifest says")
        return array

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.npy"


def _in_memory(number: int, at: int) -> bool:
    """Whether a byte of a file is there without waiting for the disk; False if nobody knows."""
    try:
        return os.preadv(number, [bytearray(1)], at, os.RWF_NOWAIT) == 1
    except (OSError, AttributeError):
        return False


def read(path: AnyPath, options: Options) -> Data:  # noqa: ARG001 - as other formats
    """The whole cache, memory-mapped."""
    return Cache(path).read()


def blocks(path: AnyPath, options: Options) -> Iterator[Data]:  # noqa: ARG001
    """Its blocks in order."""
    cache = Cache(path)
    return map(cache.block, range(cache.n_blocks))
