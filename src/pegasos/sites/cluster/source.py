"""From what users have to chunks of rows, and from chunks to the matrix and labels of a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.util import arguments, sparse, threads

DEFAULT_TIMEOUT = 60.0

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

        return delayed(tuple, pure=True)(list(self.chunks[number]))

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
        # The length of a delayed one is known on the worker only.
        take = delayed(_whole, pure=True) if isinstance(part, Delayed) else _whole
        whole = take(part, number)
        chunks.append((whole[0], whole[1], whole[2]))
    return Source(chunks)


def _whole(part: Any, number: int) -> Chunk:
    """A part as X, y and weight."""
    if not isinstance(part, list | tuple) or len(part) not in (2, 3):
        raise TypeError(
            f"part {number} must give (X, y) or (X, y, weight), delayed or each delayed"
        )
    return part[0], part[1], part[2] if len(part) == 3 else None


# On the workers.
class Loaded(NamedTuple):
    """Chunks one below the other."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None  # (n, 1)
    chunks: list[tuple[int, int]]  # the number of each in the source, and its rows


def load_chunks(numbers: list[int], chunks: list[Chunk]) -> Loaded:
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


# The cluster to use.
def client_of(given: Any) -> Any:
    """``given``, or the default client, as XGBoost and LightGBM find it."""
    try:
        from distributed import Client, get_client
    except ImportError as error:
        raise ImportError("pegasos.dask needs Dask: pip install 'pegasos[dask]'") from error
    if given is not None:
        if not isinstance(given, Client):
            raise TypeError(f"client must be a dask.distributed.Client, got {type(given).__name__}")
        if given.asynchronous:
            raise ValueError("pegasos.dask needs a client that is not asynchronous")
        return given
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: make one with dask.distributed.Client(), or give client="
        ) from None


def check_timeout(timeout: float) -> float:
    """Seconds without a sign of life after which a worker is given up."""
    if not 0 < arguments.number("timeout", timeout) < np.inf:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout}")
    return float(timeout)
