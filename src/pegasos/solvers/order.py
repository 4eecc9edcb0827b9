"""The order in which a solver visits the rows, as arrays of its state."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.problem import Problem
from pegasos.solvers.base import State

Sampling = Literal["iid", "permute", "cycle"]

_CURSOR = ("seen", "steps", "slot", "lo", "hi", "at", "drawn", "draws")

# A full permutation of rows that come from memory costs 1.5 times one that stays within blocks of
# about the size of a core's cache. On text the blocks need no more epochs; on data of few features
# they do, so those get the full permutation.
_BLOCK_BYTES = 1 << 20
_BLOCKS_FROM_BYTES = 1 << 24
_BLOCKS_FROM_FEATURES = 10_000


def block_rows(problem: Problem) -> int:
    """Rows in a block of the permuted order: a function of the data's shape alone."""
    rows = problem.rows
    small = rows.n * rows.row_bytes < _BLOCKS_FROM_BYTES
    if small or not rows.is_sparse or rows.d < _BLOCKS_FROM_FEATURES:
        return rows.n
    return max(64, int(_BLOCK_BYTES / rows.row_bytes))


def start(problem: Problem, sampling: Sampling, seed: int) -> dict[str, NDArray[Any]]:
    """The arrays of an order that has not begun."""
    permute = sampling == "permute"
    n, size = problem.n, block_rows(problem)
    return {
        "seed": np.array([seed], dtype=np.uint64),
        "cursor": np.zeros(len(_CURSOR), dtype=np.int64),
        "order": np.arange(n if permute else 0, dtype=np.uint32),
        "blocks": np.arange(-(-n // size) if permute else 0, dtype=np.uint32),
    }


def sampler(problem: Problem, sampling: Sampling, state: State) -> _core.Sampler:
    """The core's sampler over the state's arrays."""
    return _core.Sampler(
        sampling,
        int(state["seed"][0]),
        problem.n,
        block_rows(problem),
        state["cursor"],
        state["order"],
        state["blocks"],
    )


def visits(problem: Problem, sampling: Sampling, state: State) -> NDArray[np.int64]:
    """How often each row has been visited in a permuted or cyclic order."""
    n = problem.n
    full, rest = divmod(state.seen, n)
    counts = np.full(n, full, dtype=np.int64)
    if rest == 0:
        return counts
    if sampling == "cycle":
        counts[:rest] += 1
        return counts
    cursor = dict(zip(_CURSOR, state["cursor"].tolist(), strict=True))
    size = block_rows(problem)
    for block in state["blocks"][: cursor["slot"] - 1].tolist():
        counts[block * size : (block + 1) * size] += 1
    counts[state["order"][cursor["lo"] : cursor["lo"] + cursor["at"]]] += 1
    return counts
