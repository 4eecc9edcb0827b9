"""Predictions on Dask collections: lazy, chunk by chunk, where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.dask.loading import as_matrix


def is_collection(X: Any) -> bool:
    """Whether X is one of Dask's."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(X))


def by_chunks(
    X: Any, function: Callable[[Any], NDArray[Any]], like: NDArray[Any], columns: int | None
) -> Any:
    """A Dask array of ``function`` of each chunk of rows.

    ``like`` is an empty array of the type that comes out; ``columns`` None: one number a row.
    """
    import dask.array as da
    from dask.delayed import delayed

    def of_chunk(chunk: Any) -> NDArray[Any]:
        rows = as_matrix(chunk)
        if not rows.shape[0]:
            return np.empty((0,) if columns is None else (0, columns), dtype=like.dtype)
        return function(rows)

    if hasattr(X, "chunks"):
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        sizes = X.chunks[0]
        chunks = np.ravel(np.asarray(X.to_delayed(), dtype=object))
    else:
        chunks = X.to_delayed()
        sizes = (np.nan,) * len(chunks)
    shared = delayed(of_chunk, pure=True)
    tail = () if columns is None else (columns,)
    parts = [
        da.from_delayed(shared(chunk), shape=(size, *tail), dtype=like.dtype, meta=like)
        for chunk, size in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
