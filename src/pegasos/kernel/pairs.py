"""Gram matrices of pairs of classes, which share what they have in common: rows within a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.kernel.gram import KernelGram
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.points import Points


class ClassBlocks:
    """K of the rows of each class with each other, in float32, each row computed when first asked.

    Threads may compute a row twice, and then write the same.
    """

    def __init__(self, kernel: Kernel, X: Any, rows: Sequence[NDArray[np.intp]]) -> None:
        """``rows`` are those of each class."""
        self.kernel = kernel
        self.points = [Points(kernel, X[some], 1) for some in rows]
        self.blocks = [np.empty((some.size, some.size), dtype=np.float32) for some in rows]
        self.known = [np.zeros(some.size, dtype=bool) for some in rows]

    @staticmethod
    def megabytes(rows: Sequence[NDArray[np.intp]]) -> float:
        """What they take."""
        return sum(4e-6 * some.size**2 for some in rows)

    def own(self, at: int, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """K of some rows of class ``at`` with all of that class."""
        new = chosen[~self.known[at][chosen]]
        if new.size:
            self.points[at].rows(new, self.blocks[at], new)
            self.known[at][new] = True
        return np.asarray(self.blocks[at][chosen])

    def cross(self, at: int, chosen: NDArray[np.intp], other: int) -> NDArray[np.float32]:
        """K of some rows of class ``at`` with all of class ``other``."""
        to = self.points[other]
        out = np.empty((chosen.size, to.n), dtype=np.float32)
        to.rows_with(self.points[at].X[chosen], out, np.arange(chosen.size))
        return out


class PairGram(KernelGram):
    """K of the rows of two classes, those of the first before those of the second."""

    def __init__(self, blocks: ClassBlocks, first: int, second: int, X: Any) -> None:
        """X holds the rows of both."""
        super().__init__(blocks.kernel, X, 1)
        self.blocks, self.pair = blocks, (first, second)
        self.border = blocks.points[first].n

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        first, second = self.pair
        left = chosen < self.border
        for some, at, other in ((left, first, second), (~left, second, first)):
            here = chosen[some] - (0 if at == first else self.border)
            if here.size:
                parts = [self.blocks.own(at, here), self.blocks.cross(at, here, other)]
                out[place[some]] = np.hstack(parts if at == first else parts[::-1])
