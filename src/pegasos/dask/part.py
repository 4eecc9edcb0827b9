"""What a worker holds: some of the rows, their labels and duals, and the work on them.

A part is found by its name in the worker's memory (``HELD``), and lives as long as the client keeps
the future that made it. ``work`` calls a method of parts and adds up what they reply; names that
are not here come back as missing, and it is for the client to bring them up again.

A reply is a dict of (how replies are merged, value): ``"sum"``, ``"min"``, or ``"each"`` for a dict
by part. A part without rows replies with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pegasos import sparse
from pegasos.certificate import Floats
from pegasos.dask.passes import LanePasses
from pegasos.dask.reply import Reply, merge
from pegasos.dask.sums import CertifiedPart
from pegasos.problem import Intercept, Loss, Problem, part_of_problem
from pegasos.rows import Rows, as_rows
from pegasos.tasks.labels import one_vs_rest


@dataclass(frozen=True)
class Lanes:
    """The binary problems of all parts; arrays of one entry per lane."""

    classes: NDArray[Any] | None  # lanes are one-vs-rest; None: y holds the signs of every lane
    positive: Floats
    negative: Floats
    s: Floats
    total_weight: Floats
    intercept: Intercept
    scaling: float  # of the constant feature, if the intercept is regularized
    step_scaling: float  # the same where duals are moved: a free intercept needs one there, too
    loss: Loss
    folds: int = 0  # lanes are those of every fold, one fold after the other
    seed: int = 0  # of the folds

    @property
    def count(self) -> int:
        """Lanes in all."""
        return int(self.s.size)


class Part(CertifiedPart):
    """Rows, labels, weights; after ``set_lanes`` a problem, duals and what solvers need."""

    problem: Problem
    step_rows: Rows

    def __init__(self, name: str, X: Any, y: NDArray[Any], weight: Floats | None, threads: int):
        """Check the rows."""
        self.name, self.X, self.y, self.threads = name, X, y, threads
        self.weight = None if weight is None else weight.reshape(-1, 1)
        self.n = int(X.shape[0])
        self.rows = as_rows(X, n_jobs=threads) if self.n else None
        self.passes: dict[int, LanePasses] = {}

    def describe(self) -> Reply:
        """Sizes, and the classes with their weights."""
        about: dict[str, Any] = {"features": int(self.X.shape[1]), "rows": self.n}
        if self.y.ndim == 1:
            values, codes = np.unique(self.y, return_inverse=True)
            weight = None if self.weight is None else self.weight[:, 0]
            about["classes"] = values
            about["weights"] = np.bincount(codes, weight, minlength=values.size).astype(float)
        else:
            about["lanes"] = self.y.shape[1]
        if self.rows is not None:
            rows = self.rows
            about |= {
                "values": rows.row_size * self.n, "bytes": rows.row_bytes * self.n,
                "longest": rows.longest, "dense": rows.dense is not None,
                "largest_norm": float(rows.squared_norms.max()),
                "norms": float(rows.squared_norms.sum()),
            }  # fmt: skip
        return {"about": ("each", {self.name: about})}

    def set_lanes(self, lanes: Lanes) -> Reply:
        """Make the problem; every dual is zero again."""
        self.lanes = lanes
        self.passes.clear()
        if self.rows is None:
            return {}
        labels = self.labels = self._labels(lanes)
        if lanes.intercept == "regularized":
            self.rows = as_rows(self.X, bias=lanes.scaling, n_jobs=self.threads)
        self.step_rows = self.rows
        if lanes.step_scaling != self.rows.core.bias:
            self.step_rows = as_rows(self.X, bias=lanes.step_scaling, n_jobs=self.threads)
        self.problem = part_of_problem(
            self.rows, labels, self.weight, lanes.positive, lanes.negative, lanes.s,
            lanes.total_weight, lanes.intercept, lanes.loss, self.threads,
        )  # fmt: skip
        self.labels = self.problem.labels
        self.start_duals()
        counts = np.stack([
            np.count_nonzero(self.labels > 0, axis=0), np.count_nonzero(self.labels < 0, axis=0),
            *self._weights_by_sign(),
        ])  # fmt: skip
        return {"counts": ("sum", counts.astype(float))}

    def _labels(self, lanes: Lanes) -> NDArray[np.int8]:
        if lanes.classes is None:
            labels = np.asarray(self.y)
            bad = np.argwhere(~np.isin(labels, (-1, 0, 1)))
            if bad.size:
                raise ValueError(f"y must hold -1, 0 and +1, got {labels[tuple(bad[0])]!r}")
            return labels.astype(np.int8)
        codes = np.searchsorted(lanes.classes, self.y)
        labels, _, _ = one_vs_rest(codes, np.ones(lanes.classes.size))
        if not lanes.folds:
            return labels
        fold = self.fold_of_rows(codes)
        return np.concatenate(
            [np.where(fold[:, None] == k, 0, labels) for k in range(lanes.folds)], axis=1
        ).astype(np.int8)

    def fold_of_rows(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The fold that holds a row out: every class is dealt to all of them."""
        assert self.lanes.classes is not None
        order = np.random.default_rng([self.lanes.seed, *self.name.encode()]).permutation(self.n)
        fold = np.empty(self.n, dtype=np.intp)
        for code in range(self.lanes.classes.size):
            rows = order[codes[order] == code]
            fold[rows] = (np.arange(rows.size) + code) % self.lanes.folds
        return fold

    def _weights_by_sign(self) -> tuple[Floats, Floats]:
        weight = np.ones((self.n, 1)) if self.weight is None else self.weight
        return (self.labels > 0).T @ weight[:, 0], (self.labels < 0).T @ weight[:, 0]

    def score(self, W: Floats, b: Floats) -> Reply:
        """Of every fold: the weight of the rows held out, and of those that its model has right."""
        if self.rows is None or self.lanes.classes is None:
            return {}
        z = self.products_of(W) + b
        codes = np.searchsorted(self.lanes.classes, self.y)
        fold = self.fold_of_rows(codes)
        weight = np.ones(self.n) if self.weight is None else self.weight[:, 0]
        out = np.zeros((2, self.lanes.folds))
        for k, scores in enumerate(np.split(z, self.lanes.folds, axis=1)):
            held = fold == k
            one = scores.shape[1] == 1
            guess = (scores[:, 0] > 0).astype(np.intp) if one else scores.argmax(axis=1)
            out[0, k] = weight[held].sum()
            out[1, k] = weight[held & (guess == codes)].sum()
        return {"held_out": ("sum", out)}

    def start_passes(self, lane: int, kind: str, shares: dict[int, float]) -> Reply:
        """Begin a second-order solver's run on a lane."""
        if self.rows is not None:
            self.passes[lane] = LanePasses(self.problem.take(np.array([lane])), kind, shares)
        return {}

    def run_pass(self, lane: int, method: str, arguments: tuple[Any, ...]) -> Reply:
        """One of its passes; they are in ``pegasos.dask.passes``."""
        if self.rows is None:
            return {}
        if lane not in self.passes:
            return {"lost": ("each", {self.name: True})}  # it came up anew
        reply: Reply = getattr(self.passes[lane], method)(*arguments)
        return reply

    def end_passes(self, lane: int) -> Reply:
        """Forget the lane's variables."""
        self.passes.pop(lane, None)
        return {}


HELD: WeakValueDictionary[str, Part] = WeakValueDictionary()
"""The parts in this process."""


class Held:
    """Keeps a part in the worker's memory. Elsewhere it is only the name."""

    def __init__(self, name: str, part: Part | None = None) -> None:
        """Hold it."""
        self.name, self.part = name, part

    def __reduce__(self) -> tuple[type[Held], tuple[str]]:
        """Parts never travel."""
        return Held, (self.name,)

    def __sizeof__(self) -> int:
        """What Dask may count with."""
        return 0 if self.part is None else int(self.part.n * 64)


def hold(name: str, chunks: list[tuple[Any, Any, Any]], threads: int | None) -> Held:
    """Make a part of its chunks (X, y, weight or None)."""
    if threads is None:
        from distributed import get_worker

        threads = int(get_worker().state.nthreads)
    X = joined([as_matrix(chunk[0]) for chunk in chunks])
    y = np.concatenate([as_labels(chunk[1]) for chunk in chunks])
    weight = None
    if chunks[0][2] is not None:
        weight = np.concatenate([np.asarray(w, dtype=np.float64).reshape(-1) for *_, w in chunks])
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError(f"sample_weight must be finite and not negative (in {name})")
    for what, size in (
        ("y", y.shape[0]),
        ("sample_weight", None if weight is None else weight.size),
    ):
        if size is not None and size != X.shape[0]:
            raise ValueError(f"{name}: X has {X.shape[0]} rows, {what} has {size}")
    try:
        part = Part(name, X, y, weight, threads)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    HELD[name] = part
    return Held(name, part)


def as_matrix(chunk: Any) -> Any:
    """Rows of a chunk: an array, a sparse matrix or a data frame."""
    if sparse.issparse(chunk):
        return chunk.tocsr()
    if hasattr(chunk, "tocsr"):  # of the package `sparse`
        return chunk.tocsr()
    array = np.asarray(chunk.to_numpy() if hasattr(chunk, "to_numpy") else chunk)
    return array.reshape(-1, 1) if array.ndim == 1 else array


def as_labels(chunk: Any) -> NDArray[Any]:
    """Labels of a chunk."""
    if sparse.issparse(chunk):
        chunk = chunk.toarray()
    array = np.asarray(chunk.to_numpy() if hasattr(chunk, "to_numpy") else chunk)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def joined(matrices: list[Any]) -> Any:
    """Chunks one below the other; one alone is used where it is."""
    some = [m for m in matrices if m.shape[0]] or matrices[:1]
    if len(some) == 1:
        return some[0]
    if sparse.issparse(some[0]):
        from scipy.sparse import vstack

        return vstack(some, format="csr")
    return np.concatenate(some)


def work(
    names: Iterable[str], command: str, common: dict[str, Any], each: dict[str, dict[str, Any]]
) -> tuple[Reply, list[str]]:
    """Call a method of the parts here, one after the other; what they reply, and who is missing.

    If the method takes ``carry``, a part begins with what the one before it left there.
    """
    names = list(names)
    missing = [name for name in names if HELD.get(name) is None]
    if missing:
        return {}, missing
    total: Reply = {}
    carry: dict[str, Any] = {}
    for name in names:
        method: Callable[..., Reply] = getattr(HELD[name], command)
        extra = {"carry": carry} if command in ("step",) else {}
        merge(total, method(**common, **each.get(name, {}), **extra))
    return total, []
