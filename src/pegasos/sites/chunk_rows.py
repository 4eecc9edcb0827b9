"""Rows on disk as solvers see them: blocks that are read when they are visited."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.csr import make_csr
from pegasos.data.dataset import Chunks, Data
from pegasos.rows import Rows, as_rows
from pegasos.sites import Blocks
from pegasos.sites.base import Ranges
from pegasos.sites.method import Bools
from pegasos.util import sparse
from pegasos.util.checksums import of_arrays, of_rows

_WORTH_A_THREAD = 0.005  # seconds to read a block


class ChunkRows(Blocks):
    """What one pass over chunks finds: their sizes, norms, labels and weights."""

    transform = None
    exact_norms = True

    def __init__(self, chunks: Chunks, n_jobs: int | None = None) -> None:
        """Read every block once, and check it."""
        self.chunks = chunks
        self._kept: dict[tuple[int, float], Rows] = {}
        self._ahead = _Ahead(chunks)
        self._numbers: list[int] = []  # of blocks that have rows
        sizes, norms, labels, weights = [], [], [], []
        self.features = self.values = self.longest = 0
        self.value_bytes = 0.0
        for number, data in enumerate(self._in_order()):
            if data.n == 0:
                continue
            self._numbers.append(number)
            rows = as_rows(data.X, n_jobs=n_jobs)
            sizes.append(rows.n)
            norms.append(rows.squared_norms)
            labels.append(data.y)
            weights.append(data.sample_weight)
            self.features = max(self.features, rows.d)
            self.values += round(rows.n * rows.row_size)
            self.value_bytes += rows.n * rows.row_bytes
            self.longest = max(self.longest, rows.longest)
        if not sizes:
            raise ValueError("there are no rows to train on")
        self._ends = np.concatenate([[0], np.cumsum(sizes)])
        self._ranges = list(pairwise(self._ends.tolist()))
        self._norms = np.concatenate(norms)
        self.y = _joined("labels", labels)
        self.sample_weight = _joined("sample weights", weights)

    def _in_order(self) -> Iterator[Data]:
        """All blocks, each one read ahead of its turn."""
        for number in range(self.chunks.n_blocks):
            data = self._ahead.take(number)
            if number + 1 < self.chunks.n_blocks:
                self._ahead.expect(number + 1)
            yield data

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self._ends[-1]), self.features

    @property
    def size(self) -> int:
        """Stored values."""
        return self.values

    @property
    def stored(self) -> tuple[float, float, int]:
        """Values and bytes of a row, on average, and values of the longest."""
        n = max(1, self.shape[0])
        return self.values / n, self.value_bytes / n, self.longest

    @property
    def of_arrays(self) -> bool:
        """Whether blocks are arrays."""
        return self.values == self.shape[0] * self.features

    def parts(self) -> Ranges:
        """The rows of each block."""
        return self._ranges

    def block(self, lo: int, hi: int, workers: int, only: Bools | None = None) -> Any:
        """The rows of a block."""
        number = self._number(lo)
        X = self._ahead.take(number).X
        if X.shape[0] != hi - lo:
            raise ValueError(
                f"block {number} had {hi - lo} rows when it was first read, and now "
                f"{X.shape[0]}: were the files changed?"
            )
        if sparse.issparse(X) and X.shape[1] < self.features:
            return make_csr(X.data, X.indices, X.indptr, self.features)
        return X

    def rows(self, lo: int, hi: int, bias: float, workers: int, only: Bools | None = None) -> Rows:
        """The rows of a block; kept where that takes no memory."""
        key = lo, bias
        if key in self._kept:
            return self._kept[key]
        found = super().rows(lo, hi, bias, workers, only)
        if self.chunks.in_place:
            self._kept[key] = found
        return found

    def expect(self, lo: int) -> None:
        """Hear that the block that begins with this row will be read soon."""
        self._ahead.expect(self._number(lo))

    def _number(self, lo: int) -> int:
        return self._numbers[int(np.searchsorted(self._ends, lo))]

    def checksum(self) -> int:
        """CRC-32 of all rows."""
        return of_arrays(np.array([of_rows(data.X) for data in self._in_order()]))

    def norm_bounds(self) -> NDArray[np.float64]:
        """|x|^2."""
        return self._norms

    def condition(self) -> float:
        """Rows are what they are."""
        return 1.0


class _Ahead:
    """Reads the block that is expected on a thread of its own, where reading takes its time."""

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self._seconds = 0.0  # that the last block took
        self._number, self._found = -1, Queue[Data | BaseException](1)

    def expect(self, number: int) -> None:
        if self.chunks.in_place or self._seconds < _WORTH_A_THREAD:
            self.chunks.expect(number)
        elif self._number < 0:  # one at a time
            self._number = number
            Thread(target=self._hand_over, args=(number,), daemon=True).start()

    def take(self, number: int) -> Data:
        if self._number < 0:
            return self._read(number)
        found = self._found.get()
        expected, self._number = self._number, -1
        if isinstance(found, BaseException):
            raise found
        return found if expected == number else self._read(number)

    def _hand_over(self, number: int) -> None:
        try:
            self._found.put(self._read(number))
        except BaseException as error:  # for whoever takes it
            self._found.put(error)

    def _read(self, number: int) -> Data:
        began = time.perf_counter()
        data = self.chunks.read(number)
        self._seconds = time.perf_counter() - began
        return data


def _joined(what: str, parts: list[Any]) -> Any:
    """One array of all; None if none has any."""
    missing = [number for number, part in enumerate(parts) if part is None]
    if len(missing) == len(parts):
        return None
    if missing:
        raise ValueError(f"block {missing[0]} has no {what}, while others have")
    return np.concatenate(parts)
