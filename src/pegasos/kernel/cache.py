"""Rows of K that stay in memory, and how they came there.

What a row of K is to the last bit depends on those it was computed with, since matrix products of
other shapes round otherwise. So the cache keeps, beside its order, the batch of every row: from
that ``Cache.filled`` makes the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.kernel.gram import Gram
from pegasos.kernel.kernels import Index
from pegasos.kernel.smo_tuning import BATCH
from pegasos.state import Field, expect

Arrays = dict[str, NDArray[Any]]
Marks = NDArray[np.uint8]

CACHED = (
    Field("used", (None,), np.int64, least=-1),
    Field("owner", (None,), np.int64, least=-1),
    Field("fetched", (None,), np.int64, least=-1),
    Field("depths", (None,), np.uint8),
    Field("batches", (None, None), np.int32, least=-1),
)
"""Of a run's state: the order of a cache, from which its rows are made again.

All begin as their least: no row is there.
"""


class Cache:
    """Rows of K in float32, as many as memory allows; the least recently used make room.

    ``marks`` of rows that are here say so. ``arrays`` are its order: for each place the row
    (``owner``, -1: none), when it was last ``used``, when it was ``fetched``, with which ``batch``
    of all rows, and at what ``depth`` of the rows in hand.
    """

    def __init__(self, gram: Gram, marks: Marks, megabytes: float, index: Index) -> None:
        """Room for at least four rows: half of them may be replaced, and a step needs two."""
        n = gram.n
        room = int(min(n, max(4, megabytes * 1e6 / (4 * n))))
        self._memory = np.empty(room * n, dtype=np.float32)
        self.computed, self.clock = 0, 0
        self.begin(gram, marks, index)

    def begin(self, gram: Gram, marks: Marks, index: Index, depth: int = 0) -> None:
        """Have none of the rows ``index`` of all, at that depth."""
        n, self.depth = gram.n, depth
        places = min(n, self._memory.size // n)
        self.gram, self.marks, self.index = gram, marks, index
        self.marks &= ~np.uint8(_core.SMO_HERE)
        self.rows = self._memory[: places * n].reshape(places, n)
        self.place = np.full(n, -1, dtype=np.int32)
        shapes = {"batches": (places, BATCH)}
        self._hold({
            field.name: np.full(shapes.get(field.name, places), field.least, field.dtype)
            for field in CACHED
        })  # fmt: skip

    def _hold(self, arrays: Arrays) -> None:
        self.arrays, self.used, self.owner = arrays, arrays["used"], arrays["owner"]

    def fetch(self, chosen: Index) -> None:
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
        self.used[at] = self.arrays["fetched"][at] = self.clock
        self.arrays["depths"][at] = self.depth
        self.arrays["batches"][at] = -1
        self.arrays["batches"][at, : chosen.size] = self.index[chosen]

    def narrow(self, keep: Index, gram: Gram, marks: Marks) -> None:
        """Go on with some rows and columns; ``gram`` and ``marks`` are of those alone."""
        old, before, owner = self.rows, self.arrays, self.owner
        place = np.full(self.place.size, -1, dtype=np.intp)
        place[keep] = np.arange(keep.size)
        # In their order, a row is moved to where no later one lies.
        stay = np.flatnonzero((owner >= 0) & (place[owner] >= 0))
        self.begin(gram, marks, self.index[keep], self.depth + 1)
        for to, at in enumerate(stay):
            self.rows[to] = old[at][keep]
        where = np.arange(stay.size)
        for name in ("used", "fetched", "depths", "batches"):
            self.arrays[name][where] = before[name][stay]
        self._here(place[owner[stay]], where)

    def filled(
        self, arrays: Arrays, marks: Marks, depth: int, levels: Callable[[int], Index]
    ) -> None:
        """Become what had these ``arrays``; ``levels`` are the rows in hand at each depth.

        ``gram`` is that of all rows; it becomes that of those in hand now.
        """
        whole, index = self.gram, levels(depth)
        self.begin(_part(whole, index), marks, index, depth)
        self._check(arrays, whole.n)
        fetched = arrays["fetched"]
        for number in np.unique(fetched[arrays["owner"] >= 0]):
            at = np.flatnonzero((fetched == number) & (arrays["owner"] >= 0))
            there = levels(int(arrays["depths"][at[0]]))
            batch = arrays["batches"][at[0]]
            batch = batch[batch >= 0]
            wanted = index[arrays["owner"][at]]
            expect(np.isin(batch, there).all() and np.isin(wanted, batch).all(), "a batch is none")
            made = np.empty((batch.size, there.size), dtype=np.float32)
            local = np.searchsorted(there, batch)
            _part(whole, there).rows(local, made, np.arange(batch.size))
            order = np.argsort(batch)
            of = order[np.searchsorted(batch, wanted, sorter=order)]
            self.rows[at] = made[np.ix_(of, np.searchsorted(there, index))]
        self._hold(arrays)
        here = np.flatnonzero(self.owner >= 0)
        self._here(self.owner[here], here)

    def _check(self, arrays: Arrays, n: int) -> None:
        for name, like in self.arrays.items():
            array = arrays[name]
            same = array.shape == like.shape and array.dtype == like.dtype
            expect(same, f"{name} has the type {array.dtype} and the shape {array.shape}")
        owner, batches = arrays["owner"], arrays["batches"]
        held = owner[owner >= 0]
        expect(owner.min() >= -1 and owner.max() < self.gram.n, "owner has rows that there are not")
        expect(np.unique(held).size == held.size, "a row is in two places")
        expect(batches.min() >= -1 and batches.max() < n, "batches has rows that there are not")
        expect((arrays["depths"] <= self.depth).all(), "depths are too large")
        expect(max(arrays["used"].max(), arrays["fetched"].max()) <= self.clock, "a clock is late")

    def _here(self, rows: NDArray[Any], at: Index) -> None:
        self.owner[at], self.place[rows] = rows, at
        self.marks[rows] |= _core.SMO_HERE


def _part(gram: Gram, index: Index) -> Gram:
    return gram if index.size == gram.n else gram.take(index)
