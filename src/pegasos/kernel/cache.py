"""Rows of K that stay in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.kernel.gram import Gram


class Cache:
    """Rows of K in float32, as many as memory allows; the least recently used make room.

    ``marks`` of rows that are here say so.
    """

    def __init__(self, gram: Gram, marks: NDArray[np.uint8], megabytes: float) -> None:
        """Room for at least four rows: half of them may be replaced, and a step needs two."""
        n = gram.n
        room = int(min(n, max(4, megabytes * 1e6 / (4 * n))))
        self._memory = np.empty(room * n, dtype=np.float32)
        self.computed, self.clock = 0, 0
        self._begin(gram, marks)

    def _begin(self, gram: Gram, marks: NDArray[np.uint8]) -> None:
        n = gram.n
        self.gram, self.marks = gram, marks
        places = min(n, self._memory.size // n)
        self.rows = self._memory[: places * n].reshape(places, n)
        self.place = np.full(n, -1, dtype=np.int32)
        self.used = np.full(places, -1, dtype=np.int64)
        self.owner = np.full(places, -1, dtype=np.intp)

    def fetch(self, chosen: NDArray[np.intp]) -> None:
        """Have these rows, none of which is here."""
        chosen = chosen[: max(1, self.used.size // 2)]
        at = np.argpartition(self.used, chosen.size - 1)[: chosen.size]
        gone = self.owner[at]
        gone = gone[gone >= 0]
        self.place[gone] = -1
        self.marks[gone] &= ~np.uint8(_core.SMO_HERE)
        self.owner[at] = -1
        self.gram.rows(chosen, self.rows, at)
        self.computed += chosen.size
        self._here(chosen, at)
        self.clock += 1
        self.used[at] = self.clock

    def narrow(self, keep: NDArray[np.intp], gram: Gram, marks: NDArray[np.uint8]) -> None:
        """Go on with some rows and columns; ``gram`` and ``marks`` are of those alone."""
        old, owner, used = self.rows, self.owner, self.used
        place = np.full(self.place.size, -1, dtype=np.intp)
        place[keep] = np.arange(keep.size)
        # In their order, a row is moved to where no later one lies.
        stay = np.flatnonzero((owner >= 0) & (place[owner] >= 0))
        self._begin(gram, marks)
        self.marks &= ~np.uint8(_core.SMO_HERE)
        for to, at in enumerate(stay):
            self.rows[to] = old[at][keep]
        where = np.arange(stay.size)
        self.used[where] = used[stay]
        self._here(place[owner[stay]], where)

    def widen(self, gram: Gram, marks: NDArray[np.uint8]) -> None:
        """Begin again with all rows: none is here."""
        self._begin(gram, marks)
        self.marks &= ~np.uint8(_core.SMO_HERE)

    def _here(self, rows: NDArray[np.intp], at: NDArray[np.intp]) -> None:
        self.owner[at], self.place[rows] = rows, at
        self.marks[rows] |= _core.SMO_HERE
