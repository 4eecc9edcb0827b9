"""DualCoordinate over rows that come by blocks (Yu, Hsieh, Chang & Lin 2010, block minimisation).

A sweep visits all blocks, in a fresh random order; a visit is one pass over the block's list of
rows that have not settled, in a random order of their own. w is shared by all blocks, and always
that of all duals. A free intercept's multiplier moves after a sweep, not after a pass over a block.
All rows come back to the lists when a certificate was not good enough, after ten sweeps, or when
nothing on the lists moves any more. Many small blocks take about as many sweeps as rows in memory;
few large ones take far more, since w follows each of them for too long. A pause is between blocks.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.solvers.dual_groups import bounds_of
from pegasos.solvers.dual_tuning import FIRST_ROUNDS_OF_BLOCK
from pegasos.solvers.stream import block_order
from pegasos.state import Field, State, expect

_PASS = {name: i for i, name in enumerate(_core.LANE_PASS)}
_CURSOR = {name: i for i, name in enumerate(_core.GROUP_CURSOR)}
# Entries of state["meeting"].
_ROUNDS, _LOST, _RISE = range(3)
_BEGUN = [_CURSOR[name] for name in ("seen", "steps", "recalled")]
_AHEAD = [_PASS["last_up"], _PASS["last_down"]]
# Entries of state["sweep"]: how many are done, the place in the one in hand, the last that had all
# rows, sweeps of all rows in which nothing moved.
_DONE, _PLACE, _WHOLE, IDLE = range(4)


def block_fields(problem: Problem) -> tuple[Field, ...]:
    """What a state has in the place of lists of rows in memory."""
    groups, sizes = bounds_of(problem).size - 1, _sizes(problem)
    balance = (Field("balance", ("lanes",)),)  # sum a y - tau
    return (
        Field("gaps", (len(sizes), "lanes"), start=np.inf),  # as met in its last pass
        Field("sweep", (4,), np.int64),
        Field("rows", (groups, "rows"), np.uint32, start=lambda _: _places(sizes)),
        Field("active", (groups, len(sizes)), np.int64, partial(_check_lists, problem), sizes),
        Field("far", (2, "lanes"), start=np.inf),  # a tenth of the worst in the sweep before
        Field("worst", (2, "lanes")),  # violations met in this sweep
        Field("meeting", (3,), start=(FIRST_ROUNDS_OF_BLOCK, 0.0, 0.0)),
        *(balance if problem.intercept == "free" else ()),
    )


def _check_lists(problem: Problem, state: State, name: str) -> None:
    """The lists, and where the sweep stands."""
    ranges, meeting = problem.site.ranges(problem), state["meeting"]
    expect(state["sweep"][_PLACE] < len(ranges), "sweep is at no block")
    expect(np.isfinite(meeting).all(), "meeting is not finite")
    expect(0 <= meeting[_ROUNDS] <= problem.n + 4, "threads do not meet so often")
    expect((state[name] <= _sizes(problem)).all(), "a list has no such size")
    for lo, hi in ranges:
        expect(state["rows"][:, lo:hi].max() < hi - lo, "rows has rows that there are not")


def _sizes(problem: Problem) -> list[int]:
    return [hi - lo for lo, hi in problem.site.ranges(problem)]


def _places(sizes: list[int]) -> NDArray[np.uint32]:
    """Each row's place in its block."""
    return np.concatenate([np.arange(size, dtype=np.uint32) for size in sizes])


def recall(problem: Problem, state: State) -> None:
    """All rows come back to the lists."""
    sizes = _sizes(problem)
    state["rows"][...], state["active"][...] = _places(sizes), sizes
    state["sweep"][_WHOLE] = state["sweep"][_DONE]


class Block(NamedTuple):
    """A block, its rows, and where the one after it begins."""

    number: int
    lo: int
    hi: int
    ahead: int


def next_block(problem: Problem, state: State) -> Block:
    """The block in hand."""
    ranges = problem.site.ranges(problem)
    seed, (done, place) = int(state["seed"][0]), state["sweep"][: _PLACE + 1].tolist()
    number = int(block_order(seed, done, len(ranges))[place])
    later, place = divmod(place + 1, len(ranges))
    ahead = int(block_order(seed, done + later, len(ranges))[place])
    return Block(number, *ranges[number], ranges[ahead][0])


def visit_block(
    problem: Problem,
    state: State,
    block: Block,
    lists: dict[str, Any],
    pull: Floats | None,
    options: dict[str, Any],
) -> int:
    """A pass over the block's list; the rows visited. ``lists`` are of its size, for any use."""
    number, lo, hi, ahead = block
    core, _, _ = problem.site.part(problem, lo, hi, ahead=ahead)
    passes, duals = state["passes"], state["duals"][lo:hi]
    labels, K = problem.sides(lo, hi), problem.lanes
    balance = kept = None
    if pull is not None:
        balance, kept = np.einsum("nk,nk->k", duals, labels), state["centre"].copy()
    cursor, active = lists["cursor"], state["active"][:, number]
    seen = state.seen
    # As many visits as if it were alone: by those it is decided when second-order steps begin.
    begun = seen // problem.n * (hi - lo)
    cursor[:] = 0
    cursor[:, _BEGUN] = begun
    cursor[:, _CURSOR["active"]] = active
    cursor[:, _CURSOR["known"]] = -1
    cursor[:, _CURSOR["rounds"]] = int(state["meeting"][_ROUNDS])
    lists["orders"][:] = 0
    lists["leaving"][:] = 0  # a group with a short list may have stopped in its next pass
    lists["orders"][:, 3] = seen  # random numbers used
    lists["rows"][:] = state["rows"][:, lo:hi]
    passes[:, _AHEAD] = state["far"].T
    visited = int(active.max())
    _core.dual_advance(
        core,
        seed=int(state["seed"][0]) + 1,
        ends_passes=True,
        goal=0.0,
        W=state["W"],
        duals=duals,
        b=None if pull is None else state["b"][0],
        centre=None if pull is None else state["centre"][0],
        pull=pull,
        passes=passes,
        slots=None,
        slot_sums=None,
        work=2**62,
        stop_seen=begun + visited,
        stop_steps=2**62,
        **lists,
        **options,
    )
    state["gaps"][number] = passes[:, _PASS["last_gap"]]
    met = passes[:, [_PASS["up"], _PASS["down"]]].T
    np.maximum(state["worst"], met, out=state["worst"])
    state["meeting"][_LOST] += passes[:, _PASS["lost"]].sum()
    state["meeting"][_RISE] += passes[:, _PASS["rise"]].sum()
    # Where the core would bring all rows back, a sweep does: what left the lists stays away.
    state["rows"][:, lo:hi] = lists["rows"]
    state["active"][:, number] = cursor[:, _CURSOR["active"]]
    state["cursor"][:, [_CURSOR["seen"], _CURSOR["steps"]]] += max(1, visited)
    if pull is not None:
        assert kept is not None
        assert balance is not None
        # The core ends every pass with a step of the multiplier: here only a sweep does.
        state["centre"][:] = kept
        state["balance"][:] += np.einsum("nk,nk->k", duals, labels) - balance
        state["b"][0, :K] = kept[0, :K] + pull[:K] * state["balance"]
    state["sweep"][_PLACE] += 1
    if state["sweep"][_PLACE] == len(state["gaps"]):
        _end_sweep(problem, state, pull)
    return max(1, visited)


def _end_sweep(problem: Problem, state: State, pull: Floats | None) -> None:
    sweep, meeting = state["sweep"], state["meeting"]
    if meeting[_LOST] > _core.LOSS_FOR_MORE_ROUNDS * meeting[_RISE]:
        meeting[_ROUNDS] *= 2
    elif meeting[_LOST] < _core.LOSS_FOR_FEWER_ROUNDS * meeting[_RISE]:
        meeting[_ROUNDS] = max(1.0, meeting[_ROUNDS] // 2)
    meeting[1:] = 0.0
    sweep[_DONE] += 1
    sweep[_PLACE] = 0
    whole = sweep[_WHOLE] == sweep[_DONE] - 1
    worst = state["worst"]
    quiet = not (worst / problem.unit).max() > _core.LEAST_VIOLATION
    # As in the core, but of the whole sweep: rows that far from moving leave.
    state["far"][:] = np.where(worst > 0, _core.VIOLATION_SHARE_TO_LEAVE * worst, np.inf)
    worst[:] = 0.0
    if pull is not None:
        step = state["b"][0] - state["centre"][0]
        size = np.ones_like(step)
        size[: problem.lanes] = problem.unit
        size += np.abs(state["b"][0])
        quiet = quiet and bool(np.all(np.abs(step) <= _core.LEAST_VIOLATION * size))
        state["centre"][0] = state["b"][0]
        state["b"][0] += step
    sweep[IDLE] = sweep[IDLE] + 1 if quiet and whole else 0
    if (
        quiet
        or sweep[_DONE] - sweep[_WHOLE] >= _core.MOST_EPOCHS_OF_LIST
        or not state["active"].any()
    ):
        recall(problem, state)
