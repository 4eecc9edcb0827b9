"""Gram matrices of pairs of classes, which share what they have in common: rows within a class."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.kernel.kernels import Floats32, Index, Kernel
from pegasos.kernel.points import Points
from pegasos.state import expect

_NUMBER = 1 << 16  # a row's batch, and its place in that, as one number


class ClassBlocks:
    """K of the rows of each class with each other, in float32, each row computed when first asked.

    Threads may compute a row twice, and then write the same up to rounding. The last bits of a row
    depend on those it was computed with: ``made`` keeps them, and ``remember`` makes them again.
    """

    def __init__(self, kernel: Kernel, X: Any, rows: Sequence[Index]) -> None:
        """``rows`` are those of each class."""
        self.kernel = kernel
        self.points = [Points(kernel, X[some], 1) for some in rows]
        self.blocks = [np.empty((some.size, some.size), dtype=np.float32) for some in rows]
        self.known = [np.zeros(some.size, dtype=bool) for some in rows]
        self.made = [np.full(some.size, -1, dtype=np.int64) for some in rows]
        self.count = [0 for _ in rows]  # batches
        self._lock = threading.Lock()

    @staticmethod
    def megabytes(rows: Sequence[Index]) -> float:
        """What they take."""
        return sum(4e-6 * some.size**2 for some in rows)

    def own(self, at: int, chosen: Index) -> Floats32:
        """K of some rows of class ``at`` with all of that class."""
        known, made = self.known[at], self.made[at]
        before = np.unique(made[chosen[~known[chosen] & (made[chosen] >= 0)]] // _NUMBER)
        for number in before:  # as they were made before this process
            batch = np.flatnonzero(made // _NUMBER == number)
            self._make(at, batch[np.argsort(made[batch])])
        new = chosen[~known[chosen]]
        if new.size:
            with self._lock:
                made[new] = self.count[at] * _NUMBER + np.arange(new.size)
                self.count[at] += 1
            self._make(at, new)
        return np.asarray(self.blocks[at][chosen])

    def _make(self, at: int, rows: Index) -> None:
        self.points[at].rows(rows, self.blocks[at], rows)
        self.known[at][rows] = True

    def remember(self, at: int, made: NDArray[np.int64]) -> None:
        """Rows of class ``at`` were made in these batches."""
        right = made.shape == self.made[at].shape and made.dtype == np.int64
        expect(right and made.min() >= -1 and made.max() < 1 << 60, "rows of K have no such order")
        with self._lock:
            new = (made >= 0) & (self.made[at] < 0)
            self.made[at][new] = made[new]
            self.count[at] = max(self.count[at], int(made.max()) // _NUMBER + 1)

    def cross(self, at: int, chosen: Index, other: int) -> Floats32:
        """K of some rows of class ``at`` with all of class ``other``."""
        to = self.points[other]
        out = np.empty((chosen.size, to.n), dtype=np.float32)
        to.rows_with(self.points[at].X[chosen], out, np.arange(chosen.size))
        return out


class PairGram(Points):
    """K of the rows of two classes, those of the first before those of the second."""

    def __init__(self, blocks: ClassBlocks, first: int, second: int, X: Any) -> None:
        """X holds the rows of both."""
        super().__init__(blocks.kernel, X, 1)
        self.blocks, self.pair = blocks, {"first": first, "second": second}
        self.border = blocks.points[first].n

    def rows(self, chosen: Index, out: Floats32, place: Index) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        first, second = self.pair.values()
        left = chosen < self.border
        for some, at, other in ((left, first, second), (~left, second, first)):
            here = chosen[some] - (0 if at == first else self.border)
            if here.size:
                parts = [self.blocks.own(at, here), self.blocks.cross(at, here, other)]
                out[place[some]] = np.hstack(parts if at == first else parts[::-1])

    def memory(self) -> dict[str, NDArray[Any]]:
        """In what order rows of the two classes were made."""
        return {name: self.blocks.made[at].copy() for name, at in self.pair.items()}

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Make them in this order."""
        for name, at in self.pair.items():
            self.blocks.remember(at, memory[name])
