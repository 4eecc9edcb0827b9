"""The order in which a solver visits the rows, as arrays of its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.problem import Problem
from pegasos.solvers import stream
from pegasos.state import SEED, Field, State, expect, permutation

Sampling = Literal["iid", "permute", "cycle"]

# Rows that come from memory one at a time cost three times those that stream by in chunks of a few
# pages. On text in no particular order, chunks of consecutive rows need no more epochs than single
# rows; on data of few features they need many more, so those get a plain permutation. Rows sorted
# by class slow the stochastic solvers when a chunk is much of the data: hence many chunks.
# benchmarks/order.py measures epochs by the rows of a chunk, benchmarks/epoch.py what they take;
# docs/design/stochastic.md has the table.
_MOST_CHUNK_BYTES = 48_000  # a few pages; not measured apart
_MOST_CHUNK_ROWS = 64  # the most that was measured
_LEAST_BYTES_FOR_CHUNKS = 1 << 24  # smaller data live in the cache, where any order is as fast
_FEWEST_FEATURES_FOR_CHUNKS = 10_000  # w8a and covtype lose by chunks, RCV1 does not


def chunk_bits(problem: Problem) -> int:
    """A chunk of the permuted order has 2^bits rows: a function of the data's shape alone."""
    rows = problem.rows
    small = rows.n * rows.row_bytes < _LEAST_BYTES_FOR_CHUNKS
    if small or rows.dense is not None or rows.d < _FEWEST_FEATURES_FOR_CHUNKS:
        return 0
    size = min(
        _MOST_CHUNK_ROWS, rows.n // _core.FEWEST_CHUNKS, int(_MOST_CHUNK_BYTES / rows.row_bytes)
    )
    return max(1, size).bit_length() - 1


def fields(problem: Problem, sampling: Sampling) -> tuple[Field, ...]:
    """The arrays of an order, and how often each row was drawn, if that does not follow."""
    chunks = problem.n >> chunk_bits(problem) if sampling == "permute" else 0
    found: tuple[Field, ...] = (
        SEED,
        Field("cursor", (_core.CURSOR_SIZE,), np.int64),
        Field("chunks", (chunks,), np.uint32, permutation, np.arange),
    )
    if not problem.site.in_memory:
        found = stream.fields(problem)
    return (*found, Field("draws", ("rows",), np.uint32)) if sampling == "iid" else found


def errors(problem: Problem, sampling: Sampling) -> Field:
    """How often each row erred when it was visited; checked after the arrays of the order."""

    def check(state: State, name: str) -> None:
        unseen = visits(problem, sampling, state) == 0
        expect(not state[name][unseen].any(), "rows erred that were not visited")

    return Field("errors", ("rows", "lanes"), np.uint32, check)


def blocks(problem: Problem) -> int:
    """How many blocks the rows come by; 1 in memory."""
    return 1 if problem.site.in_memory else len(problem.site.ranges(problem))


def advance(
    problem: Problem,
    sampling: Sampling,
    state: State,
    visit: stream.Visit,
    *,
    in_hand: Callable[[], bool] = stream.nothing_in_hand,
    **budget: int,
) -> bool:
    """Call ``visit`` with the rows in their order: all at once, or block after block."""
    if not problem.site.in_memory:
        return stream.advance(problem, state, sampling, visit, in_hand=in_hand, **budget)
    whole = stream.Part(problem.core, sampler(problem, sampling, state), slice(None), 0)
    return visit(whole, **budget)


def sampler(problem: Problem, sampling: Sampling, state: State) -> _core.Sampler:
    """The core's sampler over the state's arrays."""
    seed, bits = int(state["seed"][0]), chunk_bits(problem)
    return _core.Sampler(sampling, seed, problem.n, bits, state["cursor"], state["chunks"])


def visits(problem: Problem, sampling: Sampling, state: State) -> NDArray[np.integer[Any]]:
    """How often each row has been visited."""
    if sampling == "iid":
        return state["draws"]
    if not problem.site.in_memory:
        return stream.visits(problem, sampling, state)
    counts = np.empty(problem.n, dtype=np.int64)
    sampler(problem, sampling, state).count_visits(problem.n, counts)
    return counts
