"""From chunks of rows, whatever they are, to the matrix, labels and weights of a part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.util import sparse, threads


class Loaded(NamedTuple):
    """Chunks one below the other."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None  # (n, 1)
    chunks: list[tuple[int, int]]  # the number of each in the source, and its rows


def load_chunks(numbers: list[int], chunks: list[tuple[Any, Any, Any]]) -> Loaded:
    """Check that the chunks (X, y, weight or None) fit together, and join them."""
    Xs, ys, sizes = [], [], []
    weights: list[Floats | None] = []
    for number, (X, y, weight) in zip(numbers, chunks, strict=True):
        rows, labels, w = as_matrix(X), as_labels(y), as_weights(weight, number)
        for what, size in (("y", len(labels)), ("sample_weight", None if w is None else w.size)):
            if size is not None and size != rows.shape[0]:
                raise ValueError(f"chunk {number}: X has {rows.shape[0]} rows, {what} has {size}")
        Xs.append(rows)
        ys.append(labels)
        weights.append(w)
        sizes.append((number, int(rows.shape[0])))
    weight = None
    if any(w is not None for w in weights):  # chunks without any weigh one each
        filled = [np.ones(n) if w is None else w for (_, n), w in zip(sizes, weights, strict=True)]
        weight = np.concatenate(filled).reshape(-1, 1)
    return Loaded(joined(Xs), np.concatenate(ys), weight, sizes)


def as_matrix(chunk: Any) -> Any:
    """Rows of a chunk: an array, a sparse matrix or a data frame."""
    if sparse.issparse(chunk) or hasattr(chunk, "tocsr"):  # the latter of the package `sparse`
        return chunk.tocsr()
    if not hasattr(chunk, "to_numpy"):
        array = np.asarray(chunk)
    else:
        array = np.asarray(chunk.to_numpy())
        if array.dtype == object:  # columns of several types
            try:
                array = np.asarray(chunk.to_numpy(dtype=np.float64))
            except (TypeError, ValueError) as error:
                raise TypeError(f"X must hold real numbers: {error}; encode the columns") from None
    return array.reshape(-1, 1) if array.ndim == 1 else array


def as_labels(chunk: Any) -> NDArray[Any]:
    """Labels of a chunk."""
    if sparse.issparse(chunk):
        chunk = chunk.toarray()
    return np.asarray(chunk.to_numpy() if hasattr(chunk, "to_numpy") else chunk)


def as_weights(chunk: Any, number: int) -> Floats | None:
    """Weights of a chunk, finite and not negative."""
    if chunk is None:
        return None
    weight = np.asarray(chunk, dtype=np.float64).reshape(-1)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(f"sample_weight must be finite and not negative (in chunk {number})")
    return weight


def joined(matrices: list[Any]) -> Any:
    """Matrices one below the other; one alone is used where it is.

    Sparse ones may differ in width: columns at the end may have no value in some.
    """
    some = [m for m in matrices if m.shape[0]] or matrices[:1]
    if len(some) == 1:
        return some[0]
    if sparse.issparse(some[0]):
        from scipy.sparse import vstack

        width = max(m.shape[1] for m in some)
        return vstack([widened(m, width) for m in some], format="csr")
    widths = sorted({m.shape[1] for m in some})
    if len(widths) > 1:
        raise ValueError(f"chunks of X differ in their number of features: {widths}")
    return np.concatenate(some)


def widened(matrix: Any, width: int) -> Any:
    """A CSR matrix with more columns at its end."""
    if matrix.shape[1] == width:
        return matrix
    arrays = matrix.data, matrix.indices, matrix.indptr
    return sparse.csr_matrix(arrays, shape=(matrix.shape[0], width))


def threads_of(n_jobs: int | None) -> int:
    """Threads for tasks of this worker: as many as it has, unless told otherwise."""
    if n_jobs is not None:
        return threads.resolve(n_jobs, 2**40)
    from distributed import get_worker

    return max(1, int(get_worker().state.nthreads))
