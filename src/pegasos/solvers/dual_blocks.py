"""DualCoordinate over rows that come by blocks (Yu, Hsieh, Chang & Lin 2010, block minimisation).

A sweep visits all blocks, in a fresh random order; a visit is one pass over the block's list of
rows that have not settled, in a random order of their own. w is shared by all blocks, and always
that of all duals. A free intercept's multiplier moves after a sweep, not after a pass over a block.
All rows come back to the lists when a certificate was not good enough, after ten sweeps, or when
nothing on the lists moves any more. Many small blocks take about as many sweeps as rows in memory;
few large ones take far more, since w follows each of them for too long.

State: ``W``, ``duals``, ``b``, ``centre``, ``passes``, ``bounds``, ``cursor`` as of
``DualCoordinate``; ``rows`` (per group: the lists, block after block, by places in the block),
``active`` (per group and block: how long they are), ``gaps`` (per block and lane: what its last
pass met), ``worst`` and ``far`` (the violations met in this sweep, and a tenth of those in the one
before), ``balance`` (sum a y, for a free intercept), ``sweep`` (how many are done; the place in the
one in hand; the last that had all rows; sweeps of all rows in which nothing moved). A pause is
between blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.stream import block_order

_TRUSTED = 10  # sweeps after which all rows are looked at again, come what may
_LAST_DIGITS = 1e-14
# As in the core, but of the sweep before: rows that far from moving leave.
_FAR_ENOUGH = 0.1
_PASS = {name: i for i, name in enumerate(_core.LANE_PASS)}
_CURSOR = {name: i for i, name in enumerate(_core.GROUP_CURSOR)}
_FIRST_ROUNDS = 4  # in which threads merge in a pass over a block
_MUCH_LOST, _LITTLE_LOST = 0.25, 0.06  # of what they gain, as in the core
# Entries of state["meeting"].
_ROUNDS, _LOST, _RISE = range(3)
_BEGUN = [_CURSOR[name] for name in ("seen", "steps", "recalled")]
_AHEAD = [_PASS["last_up"], _PASS["last_down"]]
# Entries of state["sweep"].
_DONE, _PLACE, _WHOLE, IDLE = range(4)


def block_arrays(problem: Problem, groups: int) -> dict[str, NDArray[Any]]:
    """What a state has besides those of rows in memory."""
    ranges = problem.site.ranges(problem)
    arrays = {
        "gaps": np.full((len(ranges), problem.lanes), np.inf),
        "sweep": np.zeros(4, dtype=np.int64),
        "rows": np.empty((groups, problem.n), dtype=np.uint32),
        "active": np.empty((groups, len(ranges)), dtype=np.int64),
        "far": np.full((2, problem.lanes), np.inf),
        "worst": np.zeros((2, problem.lanes)),
        "meeting": np.array([_FIRST_ROUNDS, 0.0, 0.0]),
    }
    _recall(ranges, arrays)
    return arrays


def recall(problem: Problem, state: State) -> None:
    """All rows come back to the lists."""
    _recall(problem.site.ranges(problem), state.arrays)


def _recall(ranges: list[tuple[int, int]], arrays: dict[str, NDArray[Any]]) -> None:
    for number, (lo, hi) in enumerate(ranges):
        arrays["rows"][:, lo:hi] = np.arange(hi - lo, dtype=np.uint32)
        arrays["active"][:, number] = hi - lo
    arrays["sweep"][_WHOLE] = arrays["sweep"][_DONE]


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
    labels, K = problem.labels[lo:hi], problem.lanes
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
    if meeting[_LOST] > _MUCH_LOST * meeting[_RISE]:
        meeting[_ROUNDS] *= 2
    elif meeting[_LOST] < _LITTLE_LOST * meeting[_RISE]:
        meeting[_ROUNDS] = max(1.0, meeting[_ROUNDS] // 2)
    meeting[1:] = 0.0
    sweep[_DONE] += 1
    sweep[_PLACE] = 0
    whole = sweep[_WHOLE] == sweep[_DONE] - 1
    quiet = not (state["worst"] / problem.unit).max() > _LAST_DIGITS
    state["far"][:] = np.where(state["worst"] > 0, _FAR_ENOUGH * state["worst"], np.inf)
    state["worst"][:] = 0.0
    if pull is not None:
        step = state["b"][0] - state["centre"][0]
        size = np.ones_like(step)
        size[: problem.lanes] = problem.unit
        size += np.abs(state["b"][0])
        quiet = quiet and bool(np.all(np.abs(step) <= _LAST_DIGITS * size))
        state["centre"][0] = state["b"][0]
        state["b"][0] += step
    sweep[IDLE] = sweep[IDLE] + 1 if quiet and whole else 0
    if quiet or sweep[_DONE] - sweep[_WHOLE] >= _TRUSTED or not state["active"].any():
        recall(problem, state)
