"""Whether a state that was read from a file can be that of a run.

A checksum proves that a file is as it was written, not that it makes sense. The core trusts the
lists and cursors of a state as it trusts its own, and a certificate trusts the duals: so each is
looked at once, before the run goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import DualsOf, blocks
from pegasos.joint import feasible
from pegasos.problem import Problem
from pegasos.sites.policy import Policy, State
from pegasos.solvers import newton_phases, order, stream

_MOST = 1 << 60  # of any counter
_GROUP = {name: i for i, name in enumerate(_core.GROUP_CURSOR)}
_JOINT = {name: i for i, name in enumerate(_core.JOINT_CURSOR)}
_FEWEST_CHUNKS = 2048  # as in core/src/dual.cpp
_INDICES = ("rows", "chunks", "batch", "deal")


def check(solver: Policy, problem: Problem, state: State) -> None:
    """Raise ValueError with what is wrong."""
    fresh = solver.start(problem, 0)
    check_structure(state, fresh)
    arrays = state.arrays
    for name, array in arrays.items():
        if array.dtype.kind == "i" and array.size and name != "knot":  # the core looks at that
            least = -1 if array.ndim == 2 and name == "cursor" else 0
            expect(least <= array.min() and array.max() < _MOST, f"{name} is out of range")
        elif array.dtype == np.uint32 and name in _INDICES and array.size:
            expect(array.max() < problem.n, f"{name} has rows that there are not")
    if "place" in arrays:
        phase, block = arrays["place"].tolist()
        expect(phase < len(solver.phases), "place is that of no phase")
        matrix = solver.phases[phase] == solver.matrix_phase
        ranges = problem.site.ranges(problem, matrix=matrix)
        expect(block < len(ranges), "place is that of no block")
    if "batch_cursor" in arrays:
        applying, collected, applied = arrays["batch_cursor"].tolist()
        expect(applying <= 1 and applied <= collected <= arrays["batch"].size, "a batch is none")
    if "deal" in arrays:
        _check_stream(problem, arrays)
    elif "chunks" in arrays and arrays["chunks"].ndim == 1:
        expect(_is_permutation(arrays["chunks"]), "chunks is no order of rows")
    if "orders" in arrays:
        for group in range(len(arrays["cursor"])):
            _check_group(problem, arrays, group)
    if "active" in arrays:
        _check_lists(problem, arrays)
    if "share" in arrays:
        near = np.allclose(arrays["share"], fresh["share"], rtol=1e-9, atol=0)  # sums of weights
        expect(near, "share is that of other classes")
        expect((arrays["rows"][0] >= 0).all(), "rows has duals below 0")
    if "search" in arrays:
        _check_newton(arrays)
    if problem.joint:
        _check_joint(problem, arrays)
    _check_duals(solver, problem, state)


def expect(true: Any, what: str) -> None:
    """Raise for what cannot be."""
    if not true:
        raise ValueError(what)


def check_structure(state: State, fresh: State) -> None:
    """The same arrays as that of a run that begins."""
    expect(state.arrays.keys() == fresh.arrays.keys(), "it has other arrays")
    expect(
        state.weights == fresh.weights and state.per_lane == fresh.per_lane,
        "its arrays have other uses",
    )
    for name, array in state.arrays.items():
        expected = fresh[name]
        expect(
            array.dtype == expected.dtype and array.shape == expected.shape,
            f"{name} has the type {array.dtype} and the shape {array.shape}, "
            f"not {expected.dtype} and {expected.shape}",
        )


def _check_stream(problem: Problem, arrays: dict[str, NDArray[Any]]) -> None:
    """The rows of the block in hand are each there once."""
    ranges = problem.site.ranges(problem)
    done, place = arrays["sweep"].tolist()
    expect(place < len(ranges), "sweep is at no block")
    sizes = [hi - lo for lo, hi in ranges]
    expect(arrays["inner"][0] <= max(sizes), "inner is at no row")
    deal = arrays["deal"]
    expect(_is_permutation(deal), "deal is no order of rows")
    number = stream.block_order(int(arrays["seed"][0]), done, len(ranges))[place]
    expect(deal[: sizes[number]].max() < sizes[number], "deal is that of another block")


def _check_group(problem: Problem, arrays: dict[str, NDArray[Any]], group: int) -> None:
    """The lists of a group of DualCoordinate, and where it stands in them."""
    cursor = {name: int(arrays["cursor"][group, i]) for name, i in _GROUP.items()}
    active, parts, place = cursor["active"], cursor["parts"], cursor["place"]
    together = problem.threads if len(arrays["cursor"]) == 1 else 1
    expect(0 <= active <= problem.n and parts in (0, 1, together), "a list has no such size")
    expect(active > 0 or cursor["recall"], "a list is empty")
    expect(cursor["rounds"] <= max(problem.n, 1 << 20), "threads do not meet so often")
    expect(parts == 0 or active >= max(1, parts), "a pass over no rows is in hand")
    expect(min(cursor[name] for name in cursor if name != "known") >= 0, "a cursor is negative")
    end = active if parts <= 1 else cursor["rounds"]
    expect(parts == 0 or place <= end, "a cursor is past its end")
    bounds = arrays["bounds"]
    expect(bounds[-1] == problem.lanes and (np.diff(bounds) > 0).all(), "bounds of no groups")
    bits = _chunk_bits(problem, active)
    for part in range(parts if bits > 0 else 0):
        first, after = (active // parts * p + active % parts * p // parts for p in (part, part + 1))
        count = (after - first) >> bits
        used = arrays["chunks"][group, first : first + count]
        expect(_is_permutation(used), "chunks is no order of rows")


def _chunk_bits(problem: Problem, active: int) -> int:
    """As in the core: short lists have smaller chunks."""
    bits = order.chunk_bits(problem)
    enough = min(_FEWEST_CHUNKS, problem.n >> bits)
    while bits > 0 and active >> bits < enough:
        bits -= 1
    return bits


def _check_lists(problem: Problem, arrays: dict[str, NDArray[Any]]) -> None:
    """The lists of blocks."""
    ranges = problem.site.ranges(problem)
    expect(arrays["sweep"][1] < len(ranges), "sweep is at no block")
    expect(np.isfinite(arrays["meeting"]).all(), "meeting is not finite")
    expect(0 <= arrays["meeting"][0] <= problem.n + 4, "threads do not meet so often")
    for number, (lo, hi) in enumerate(ranges):
        expect(arrays["rows"][:, lo:hi].max() < hi - lo, "rows has rows that there are not")
        expect((arrays["active"][:, number] <= hi - lo).all(), "a list has no such size")


def _check_newton(arrays: dict[str, NDArray[Any]]) -> None:
    """The counters of Newton, and what rows are looked at."""
    numbers, tries = arrays["numbers"], arrays["search"][newton_phases.TRIES]
    expect(0 <= tries <= newton_phases.MOST_TRIES, "a line search does not go on for so long")
    idle = numbers[newton_phases.IDLE]
    expect(0 <= idle <= newton_phases.IDLE_STEPS, "there are no so many idle steps")
    expect(numbers[newton_phases.EVERY] in (1, newton_phases.SAMPLED), "a sample is none")
    width, before = numbers[newton_phases.WIDTH], numbers[newton_phases.BEFORE]
    expect(0 < width < np.inf and 0 <= before < np.inf, "a width is none")


def _check_joint(problem: Problem, arrays: dict[str, NDArray[Any]]) -> None:
    """The list of CrammerSinger."""
    active, place = (int(arrays["cursor"][_JOINT[name]]) for name in ("active", "place"))
    expect(active <= problem.n and (place < active or place == 0), "a cursor is past its end")
    expect(active > 0 or arrays["cursor"][_JOINT["recall"]], "a list is empty")


def _check_duals(solver: Policy, problem: Problem, state: State) -> None:
    if problem.joint:
        check_feasible(problem, lambda lo, hi: state["duals"][lo:hi])
        return
    if "errors" in state.arrays:
        visits = _visits(solver, problem, state)
        expect(not state["errors"][visits == 0].any(), "rows erred that were not visited")
    check_feasible(problem, solver.duals(problem, state))


def check_feasible(problem: Problem, duals: DualsOf) -> None:
    """Raise ValueError unless a certificate may take them for feasible."""
    for lo, hi in blocks(problem):
        a = duals(lo, hi)
        if problem.joint:
            own = problem.labels[lo:hi] > 0
            right = feasible(a, own, problem.costs(lo, hi)[own])
            near = np.abs(a - right) <= 1e-9 * (1 + np.abs(right))
        else:
            near = (a >= 0) & (a <= problem.largest_duals(lo, hi))
        expect(near.all(), "duals are not feasible")


def _visits(solver: Any, problem: Problem, state: State) -> NDArray[Any]:
    """How often each row was visited, of a solver that counts errors."""
    if "draws" in state.arrays:
        return state["draws"]
    every = getattr(solver, "batch_size", 1) == "all"
    return order.visits(problem, "cycle" if every else solver.sampling, state)


def _is_permutation(array: NDArray[Any]) -> bool:
    return np.array_equal(np.sort(array), np.arange(array.size))
