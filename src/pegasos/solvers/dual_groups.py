"""The groups of lanes of DualCoordinate: each has lists and cursors of its own.

They are a function of the number of lanes and of threads, so that they form anew where lanes leave.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.problem import Problem
from pegasos.solvers import order
from pegasos.state import Field, State, below, equal_to, expect

_GROUP_LANES = 16  # wide enough that a row is read once for many lanes, few enough to shrink
_SPAN_BYTES = 1 << 24  # the most that the span of changes may take
_FIRST_ROUNDS = 16  # in which threads merge in the first pass
_FEWEST_CHUNKS = 2048  # as in core/src/dual.cpp


def bounds_of(problem: Problem) -> NDArray[np.int64]:
    """The first lane of each group, and the number of lanes."""
    K, threads = problem.lanes, problem.threads
    fours = -(-K // 4)
    wanted = -(-K // _GROUP_LANES)
    if fours >= threads > 1:
        wanted = -(-max(wanted, threads) // threads) * threads
    count = min(fours, wanted)
    return np.minimum(K, np.arange(count + 1, dtype=np.int64) * fours // count * 4)


def group_fields(problem: Problem) -> tuple[Field, ...]:
    """The arrays of groups that begin a pass over all rows, wherever these come from."""
    bounds, in_memory = bounds_of(problem), problem.site.in_memory
    first = {"active": problem.n if in_memory else 0, "rounds": _FIRST_ROUNDS, "known": -1}
    cursor = [first.get(name, 0) for name in _core.GROUP_CURSOR]
    check = partial(_check_groups, problem) if in_memory else None
    return (
        Field("bounds", bounds.shape, np.int64, equal_to(bounds), bounds.tolist()),
        Field("cursor", (bounds.size - 1, len(cursor)), np.int64, check, cursor, least=-1),
    )


def list_fields(problem: Problem, n: int) -> tuple[Field, ...]:
    """The lists of n rows in memory, and what a pass over them needs; the core checks the knot."""
    count = bounds_of(problem).size - 1
    spanned = n + problem.weights_shape[0]
    if problem.lanes > 1 or 8 * _core.SPAN_SLOTS * spanned > _SPAN_BYTES:
        spanned = 0
    chunks = n if order.chunk_bits(problem) else 0
    return (
        Field("orders", (count * problem.threads, _core.THREAD_ORDER_SIZE), np.int64),
        Field("rows", (count, n), np.uint32, below(problem.n), np.arange),
        Field("chunks", (count, chunks), np.uint32, below(problem.n)),
        Field("leaving", (count, n), np.uint8),
        Field("slots", (_core.SPAN_SLOTS, spanned)),
        Field("slot_sums", (_core.SPAN_SLOTS, 2)),
        Field("knot", (_core.KNOT_SIZE,), np.int64, least=None),
    )


def _check_groups(problem: Problem, state: State, name: str) -> None:
    """The lists, and where each group stands in its own."""
    together = problem.threads if len(state[name]) == 1 else 1
    for group, numbers in enumerate(state[name].tolist()):
        cursor = dict(zip(_core.GROUP_CURSOR, numbers, strict=True))
        active, parts, place = cursor["active"], cursor["parts"], cursor["place"]
        expect(0 <= active <= problem.n and parts in (0, 1, together), "a list has no such size")
        expect(active > 0 or cursor["recall"], "a list is empty")
        expect(cursor["rounds"] <= max(problem.n, 1 << 20), "threads do not meet so often")
        expect(parts == 0 or active >= max(1, parts), "a pass over no rows is in hand")
        expect(min(cursor[name] for name in cursor if name != "known") >= 0, "a cursor is negative")
        end = active if parts <= 1 else cursor["rounds"]
        expect(parts == 0 or place <= end, "a cursor is past its end")
        bits = _chunk_bits(problem, active)
        for part in range(parts if bits > 0 else 0):
            ends = [active // parts * p + active % parts * p // parts for p in (part, part + 1)]
            used = state["chunks"][group, ends[0] :][: (ends[1] - ends[0]) >> bits]
            right = np.array_equal(np.sort(used), np.arange(used.size))
            expect(right, "chunks is no order of rows")


def _chunk_bits(problem: Problem, active: int) -> int:
    """As in the core: short lists have smaller chunks."""
    bits = order.chunk_bits(problem)
    enough = min(_FEWEST_CHUNKS, problem.n >> bits)
    while bits > 0 and active >> bits < enough:
        bits -= 1
    return bits
