"""Training data on a cluster, as chunks of rows: arrays, data frames, or delayed parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Chunk = tuple[Any, Any, Any]
"""X, y and weight (or None) of some rows, each delayed."""


@dataclass(frozen=True)
class Source:
    """Chunks of rows, and the names of features if there are any."""

    chunks: list[Chunk]
    names: list[str] | None = None

    def bundle(self, number: int) -> Any:
        """One chunk as a delayed (X, y, weight)."""
        from dask.delayed import delayed

        return delayed(_together, pure=True)(*self.chunks[number])

    def groups(self, locations: dict[int, str | None], parts_per_worker: int) -> list[list[int]]:
        """Numbers of chunks that become one part each: neighbours that are on the same worker."""
        at: dict[str | None, list[int]] = {}
        for number, place in locations.items():
            at.setdefault(place, []).append(number)
        groups: list[list[int]] = []
        for numbers in at.values():
            count = min(len(numbers), max(1, parts_per_worker))
            cuts = np.linspace(0, len(numbers), count + 1).astype(int).tolist()
            groups += [numbers[lo:hi] for lo, hi in pairwise(cuts)]
        return sorted(groups)


def _together(X: Any, y: Any, weight: Any) -> Chunk:
    return X, y, weight


def source_of(X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Chunks of Dask collections, or of delayed (X, y) or (X, y, weight) parts."""
    if isinstance(X, list | tuple) and y is None:
        return _parts(X)
    if not is_collection(X):
        raise TypeError(
            "X must be a Dask array or data frame, or a list of delayed (X, y) or (X, y, weight) "
            f"parts, got {type(X).__name__}; pegasos.LinearSVC trains on data of one machine"
        )
    if y is None:
        raise ValueError("y is missing: labels, a Dask array or series in chunks like those of X")
    names = names_of(X)
    xs = row_chunks("X", X)
    ys = row_chunks("y", _like(y, X, "y"))
    ws: Sequence[Any] = [None] * len(xs)
    if sample_weight is not None:
        ws = row_chunks("sample_weight", _like(sample_weight, X, "sample_weight"))
    for name, chunks in (("y", ys), ("sample_weight", ws)):
        if len(chunks) != len(xs):
            raise ValueError(
                f"X has {len(xs)} chunks of rows, {name} has {len(chunks)}: they must be the same "
                "rows; rechunk or repartition one of them"
            )
    return Source(list(zip(xs, ys, ws, strict=True)), names)


def names_of(X: Any) -> list[str] | None:
    """The names of a data frame's columns, if all are strings, as scikit-learn has it."""
    columns = list(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(c, str) for c in columns) else None


def is_collection(value: Any) -> bool:
    """Whether it is one of Dask's."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(value))


def _like(value: Any, X: Any, name: str) -> Any:
    """``value`` in chunks of the same rows as X, where sizes are known."""
    if not is_collection(value):
        raise TypeError(
            f"{name} must be a Dask collection, as X is, got {type(value).__name__}; "
            "dask.array.from_array makes one"
        )
    sizes = getattr(X, "chunks", None)
    theirs = getattr(value, "chunks", None)
    if sizes is None or theirs is None or sizes[0] == theirs[0]:
        return value
    if any(np.isnan(size) for size in (*sizes[0], *theirs[0])):
        return value
    if sum(sizes[0]) != sum(theirs[0]):
        raise ValueError(f"X has {sum(sizes[0])} rows, {name} has {sum(theirs[0])}")
    return value.rechunk({0: sizes[0]})


def row_chunks(name: str, collection: Any) -> list[Any]:
    """Delayed chunks of whole rows."""
    if hasattr(collection, "chunks") and len(collection.chunks) > 1:
        if len(collection.chunks) > 2:
            raise ValueError(f"{name} must have one or two dimensions, not {collection.ndim}")
        if len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
    delayed = collection.to_delayed()
    return list(np.ravel(np.asarray(delayed, dtype=object)))


def _parts(parts: Sequence[Any]) -> Source:
    from dask.delayed import Delayed, delayed

    if not parts:
        raise ValueError("there are no parts to train on")
    chunks: list[Chunk] = []
    for number, part in enumerate(parts):
        if isinstance(part, Delayed):
            # Its length is known on the worker only.
            whole = delayed(_whole, pure=True)(part, number)
            chunks.append((whole[0], whole[1], whole[2]))
            continue
        if not isinstance(part, list | tuple) or len(part) not in (2, 3):
            raise TypeError(
                f"part {number} must be delayed, or (X, y) or (X, y, weight), each delayed"
            )
        items = [p if isinstance(p, Delayed) else delayed(p) for p in part]
        chunks.append((items[0], items[1], items[2] if len(items) == 3 else None))
    return Source(chunks)


def _whole(part: Any, number: int) -> tuple[Any, Any, Any]:
    """A part as X, y and weight."""
    if not isinstance(part, list | tuple) or len(part) not in (2, 3):
        raise TypeError(f"part {number} must give (X, y) or (X, y, weight)")
    return part[0], part[1], part[2] if len(part) == 3 else None
