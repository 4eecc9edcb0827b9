"""Predictions on Dask collections: lazy, chunk by chunk, where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.sites.cluster.loading import as_matrix
from pegasos.sites.cluster.source import row_chunks


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

    chunks = row_chunks("X", X)
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(chunks)
    shared = delayed(of_chunk, pure=True)
    tail = () if columns is None else (columns,)
    parts = [
        da.from_delayed(shared(chunk), shape=(size, *tail), dtype=like.dtype, meta=like)
        for chunk, size in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
