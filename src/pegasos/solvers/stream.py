"""The stochastic solvers over rows that come by blocks.

An epoch is a sweep over all blocks, in a fresh random order (``cycle``: in their own), and in each
over its rows: permuted, in order, or as many drawn with repetition as it has (``iid``). So w meets
the rows of a block in one go; with many blocks that takes no more epochs than rows in memory do.
Batches end with their block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.problem import Problem
from pegasos.state import COUNTS, SEED, Field, State, expect, permutation

# Entries of state["sweep"].
DONE, PLACE = range(2)


class Part(NamedTuple):
    """A block of rows, or all."""

    core: _core.Problem
    sampler: _core.Sampler
    rows: slice
    number: int


class Visit(Protocol):
    """Advances over some rows."""

    def __call__(self, part: Part, *, work: int, stop_seen: int, stop_steps: int) -> bool:
        """Whether a stop was reached; if not, the work is done."""


def nothing_in_hand() -> bool:
    """Rows of a step that are visited have been applied."""
    return False


def fields(problem: Problem) -> tuple[Field, ...]:
    """Where the sweep stands, and the order of the block in hand."""
    longest = max(hi - lo for lo, hi in problem.site.ranges(problem))
    return (
        SEED,
        COUNTS,
        Field("sweep", (2,), np.int64),  # how many are done; the place in the one in hand
        Field("inner", (_core.CURSOR_SIZE,), np.int64),  # the cursor inside the block
        Field("deal", (longest,), np.uint32, partial(_check_deal, problem), np.arange),
    )


def _check_deal(problem: Problem, state: State, name: str) -> None:
    """The rows of the block in hand are each there once."""
    ranges = problem.site.ranges(problem)
    done, place = state["sweep"].tolist()
    expect(place < len(ranges), "sweep is at no block")
    sizes = [hi - lo for lo, hi in ranges]
    expect(state["inner"][0] <= max(sizes), "inner is at no row")
    permutation(state, name)
    size = sizes[block_order(int(state["seed"][0]), done, len(ranges))[place]]
    expect(state[name][:size].max() < size, f"{name} is that of another block")


def advance(
    problem: Problem,
    state: State,
    sampling: str,
    visit: Visit,
    *,
    in_hand: Callable[[], bool] = nothing_in_hand,
    work: int,
    stop_seen: int,
    stop_steps: int,
) -> bool:
    """Visit rows until a stop is reached (True) or ``work`` visits are done (False).

    A step that is ``in_hand`` is ended first, though all rows up to the stop have been visited.
    """
    cursor, inner = state["cursor"], state["inner"]
    ranges = problem.site.ranges(problem)
    while in_hand() or (cursor[0] < stop_seen and cursor[1] < stop_steps):
        if work <= 0:
            return False
        number = _block_in_hand(state, sampling, len(ranges))
        lo, hi = ranges[number]
        following = _block_in_hand(state, sampling, len(ranges), 1)
        core, _, _ = problem.site.part(problem, lo, hi, ahead=ranges[following][0])
        before = inner[:2].copy()
        budget = {
            "work": work,
            "stop_seen": min(hi - lo, int(inner[0]) + stop_seen - int(cursor[0])),
            "stop_steps": int(inner[1]) + stop_steps - int(cursor[1]),
        }
        sampler = _sampler(state, sampling, number, hi - lo)
        stopped = visit(Part(core, sampler, slice(lo, hi), number), **budget)
        gone = inner[:2] - before
        cursor += gone
        work -= max(1, int(gone[0]))
        if stopped and inner[0] == hi - lo:
            _next_block(state, len(ranges))
    return True


def visits(problem: Problem, sampling: str, state: State) -> NDArray[np.int64]:
    """How often each row has been visited in a permuted or cyclic order."""
    ranges = problem.site.ranges(problem)
    counts = np.full(problem.n, state["sweep"][DONE], dtype=np.int64)
    order = _order(state, sampling, len(ranges))
    place = int(state["sweep"][PLACE])
    for number in order[:place]:
        counts[slice(*ranges[number])] += 1
    if state["inner"].any():
        lo, hi = ranges[order[place]]
        inside = np.empty(hi - lo, dtype=np.int64)
        _sampler(state, sampling, int(order[place]), hi - lo).count_visits(hi - lo, inside)
        counts[lo:hi] += inside
    return counts


def _next_block(state: State, count: int) -> None:
    state["inner"][:] = 0
    state["deal"][:] = np.arange(state["deal"].size, dtype=np.uint32)
    state["sweep"][PLACE] += 1
    if state["sweep"][PLACE] == count:
        state["sweep"][:] = state["sweep"][DONE] + 1, 0


def _block_in_hand(state: State, sampling: str, count: int, later: int = 0) -> int:
    """Its number; or that of a later one, which may be of the next sweep."""
    sweep, place = divmod(int(state["sweep"][PLACE]) + later, count)
    return int(_order(state, sampling, count, sweep)[place])


def _order(state: State, sampling: str, count: int, later: int = 0) -> NDArray[np.intp]:
    if sampling == "cycle":
        return np.arange(count)
    return block_order(int(state["seed"][0]), int(state["sweep"][DONE]) + later, count)


@lru_cache(maxsize=4)
def block_order(seed: int, sweep: int, count: int) -> NDArray[np.intp]:
    """That of a sweep: a function of the seed."""
    return np.random.default_rng([seed, sweep]).permutation(count)


def _sampler(state: State, sampling: str, number: int, rows: int) -> _core.Sampler:
    """Over the rows of a block, with random numbers of this sweep and block."""
    key = [int(state["seed"][0]), int(state["sweep"][DONE]), number]
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    deal = state["deal"][: rows if sampling == "permute" else 0]
    return _core.Sampler(sampling, seed, rows, 0, state["inner"], deal)
