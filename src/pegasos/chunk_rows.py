"""Rows on disk as solvers see them: blocks that are read when they are visited."""

from __future__ import annotations

import zlib
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import sparse
from pegasos.data.csr import make_csr
from pegasos.data.dataset import ALIGNED, Chunks, Data
from pegasos.rows import Blocks, as_rows


class ChunkRows(Blocks):
    """What one pass over chunks finds: their sizes, norms, labels and weights."""

    transform = None

    def __init__(self, chunks: Chunks, n_jobs: int | None = None) -> None:
        """Read every block once, and check it."""
        self.chunks = chunks
        self._kept: dict[int, Any] = {}
        sizes, norms, labels, weights = [], [], [], []
        self.features = self.values = self.longest = 0
        self.value_bytes = 0.0
        for number in range(chunks.n_blocks):
            if number + 1 < chunks.n_blocks:
                chunks.expect(number + 1)
            data = chunks.read(number)
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
            raise ValueError("there are no blocks: no rows to train on")
        self._ends = np.concatenate([[0], np.cumsum(sizes)])
        self._norms = np.concatenate(norms)
        self.y = _joined("labels", labels)
        self.sample_weight = _joined("sample weights", weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self._ends[-1]), self.features

    @property
    def size(self) -> int:
        """Stored values."""
        return self.values

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        return list(pairwise(self._ends.tolist()))

    @property
    def stored(self) -> tuple[float, float, int]:
        """Values and bytes of a row, on average, and values of the longest."""
        n = max(1, self.shape[0])
        return self.values / n, self.value_bytes / n, self.longest

    @property
    def dense(self) -> bool:
        """Whether blocks are arrays."""
        return self.values == self.shape[0] * self.features

    def ranges(self) -> list[tuple[int, int]]:
        """The rows of each block."""
        return self._ranges

    @property
    def aligned(self) -> bool:
        """Whether blocks begin where samples of rows do."""
        return not np.any(self._ends[:-1] % ALIGNED)

    def block(
        self,
        lo: int,
        hi: int,
        workers: int,  # noqa: ARG002
        only: NDArray[np.bool_] | None = None,  # noqa: ARG002
    ) -> Any:
        """The rows of a block."""
        number = int(np.searchsorted(self._ends, lo))
        if number in self._kept:
            return self._kept[number]
        data: Data = self.chunks.read(number)
        if data.X.shape[0] != hi - lo:
            raise ValueError(
                f"block {number} had {hi - lo} rows when it was first read, and now "
                f"{data.X.shape[0]}: were the files changed?"
            )
        X = data.X
        if sparse.issparse(X) and X.shape[1] < self.features:
            X = make_csr(X.data, X.indices, X.indptr, self.features)
        if self.chunks.in_place:
            self._kept[number] = X
        return X

    def checksum(self) -> int:
        """CRC-32 of all rows."""
        crc = 0
        for number in range(self.chunks.n_blocks):
            if number + 1 < self.chunks.n_blocks:
                self.chunks.expect(number + 1)
            X = self.chunks.read(number).X
            arrays = (X.indptr, X.indices, X.data) if sparse.issparse(X) else (X,)
            for array in arrays:
                crc = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, crc)
        return crc

    def expect(self, lo: int) -> None:
        """Hear that the block that begins with this row will be read soon."""
        self.chunks.expect(int(np.searchsorted(self._ends, lo)))

    def norm_bounds(self) -> NDArray[np.float64]:
        """|x|^2."""
        return self._norms

    def condition(self) -> float:
        """Rows are what they are."""
        return 1.0


def _joined(what: str, parts: list[Any]) -> Any:
    """One array of all; None if none has any."""
    missing = [number for number, part in enumerate(parts) if part is None]
    if len(missing) == len(parts):
        return None
    if missing:
        raise ValueError(f"block {missing[0]} has no {what}, while others have")
    return np.concatenate(parts)
