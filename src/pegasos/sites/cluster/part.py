"""What a worker holds: some of the rows, their labels and duals, and the work on them.

A part is found by its key in the worker's memory (``HELD``), and lives as long as the client keeps
the future that made it. ``work`` calls a method of parts and adds up what they reply; keys that
are not here come back as missing, and it is for the client to bring them up again.

A reply is a dict of (how replies are merged, value): ``"sum"``, ``"min"``, or ``"each"`` for a dict
by part. A part without rows replies with nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.problem import Intercept, Loss, Problem, lanes_over
from pegasos.rows import Rows, as_rows
from pegasos.sites.cluster.loading import Loaded, load_chunks, threads_of, widened
from pegasos.sites.cluster.part_duals import padded
from pegasos.sites.cluster.part_passes import PartPasses, Shapes
from pegasos.sites.cluster.part_sums import CertifiedPart
from pegasos.sites.merge import Reply, merge
from pegasos.sites.method import About, Bools, RowMethod


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
    features: int
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

    def __init__(self, name: str, loaded: Loaded, threads: int) -> None:
        """Check the rows."""
        self.name, self.threads = name, threads
        self.X, self.y, self.weight, self.chunks = loaded
        self.n = int(self.X.shape[0])
        self.rows = as_rows(self.X, n_jobs=threads) if self.n else None
        self.passes: dict[int, PartPasses] = {}
        self.looked: dict[tuple[int, ...], Any] = {}
        self.lock = threading.Lock()
        self.generation = 0  # of the client's, in which it was last spoken to

    def describe(self, *, signs: bool) -> Reply:
        """Sizes, and the classes with their weights, if y does not hold ``signs``."""
        if not signs and self.y.ndim == 2 and self.y.shape[1] == 1:
            self.y = self.y[:, 0]
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
        self.looked.clear()
        if self.rows is None:
            return {}
        if self.X.shape[1] < lanes.features:
            self.X = widened(self.X, lanes.features)
            self.rows = as_rows(self.X, n_jobs=self.threads)
        self.labels = self._labels(lanes)
        if self.weight is not None:  # a weight of zero is a row that is not there
            self.labels[self.weight[:, 0] == 0] = 0
        if lanes.intercept == "regularized":
            self.rows = as_rows(self.X, bias=lanes.scaling, n_jobs=self.threads)
        self.step_rows = self.rows
        if lanes.step_scaling != self.rows.core.bias:
            self.step_rows = as_rows(self.X, bias=lanes.step_scaling, n_jobs=self.threads)
        self.problem = lanes_over(
            self.rows, self.labels, self.weight, lanes.positive, lanes.negative, lanes.s,
            lanes.total_weight, lanes.intercept, lanes.loss, self.threads,
        )  # fmt: skip
        self.start_duals()
        weight = np.ones(self.n) if self.weight is None else self.weight[:, 0]
        signs = self.labels.T > 0, self.labels.T < 0
        counts = [*(np.count_nonzero(side, axis=1) for side in signs), *(s @ weight for s in signs)]
        return {"counts": ("sum", np.stack(counts).astype(float))}

    def _labels(self, lanes: Lanes) -> NDArray[np.int8]:
        if lanes.classes is None:
            labels = np.asarray(self.y)
            bad = np.argwhere(~np.isin(labels, (-1, 0, 1)))
            if bad.size:
                raise ValueError(f"y must hold -1, 0 and +1, got {labels[tuple(bad[0])]!r}")
            return labels.astype(np.int8)
        codes = np.searchsorted(lanes.classes, self.y)
        K = lanes.classes.size
        # Of two classes the second is the positive one.
        labels = np.where(codes[:, None] == np.arange(K)[1 if K == 2 else 0 :], 1, -1)
        labels = labels.astype(np.int8)
        if not lanes.folds:
            return labels
        fold = self.fold_of_rows(codes)
        return np.concatenate(
            [np.where(fold[:, None] == k, 0, labels) for k in range(lanes.folds)], axis=1
        ).astype(np.int8)

    def fold_of_rows(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The fold that holds a row out: the rows of a class in a chunk are dealt to all of them.

        Chunks begin with different folds, and what they deal depends on nothing but their number.
        """
        assert self.lanes.classes is not None
        folds, fold = self.lanes.folds, np.empty(self.n, dtype=np.intp)
        first = 0
        for number, size in self.chunks:
            rng = np.random.default_rng([self.lanes.seed, number])
            order = first + rng.permutation(size)
            start = rng.integers(folds)
            for code in range(self.lanes.classes.size):
                rows = order[codes[order] == code]
                fold[rows] = (np.arange(rows.size) + start + code) % folds
            first += size
        return fold

    def score(self, W: Floats, b: Floats) -> Reply:
        """Of every fold: the weight of the rows held out, and of those that its model has right."""
        if self.rows is None or self.lanes.classes is None:
            return {}
        z = self.rows.products(padded(W), W.shape[1], self.threads) + b
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

    def start_passes(self, lane: int, method: RowMethod, about: About) -> Reply:
        """Begin a second-order solver's run on a lane."""
        if self.rows is not None:
            self.passes[lane] = PartPasses(self.problem.take(np.array([lane])), method, about)
        return {}

    def run_pass(self, lane: int, name: str, shapes: Shapes, arguments: dict[str, Any]) -> Reply:
        """One of its passes."""
        if self.rows is None:
            return {}
        if lane not in self.passes:
            return self.lost()
        return self.passes[lane].reply(name, shapes, arguments)

    def change_passes(self, lane: int, swap: Bools | None) -> Reply:
        """Swap directions; None: the variables become those of the start."""
        if self.rows is None:
            return {}
        if lane not in self.passes:
            return self.lost()
        if swap is None:
            self.passes[lane].restart()
        else:
            self.passes[lane].swap(swap)
        return {}

    def end_passes(self, lane: int) -> Reply:
        """Forget the lane's variables."""
        self.passes.pop(lane, None)
        return {}


HELD: WeakValueDictionary[str, Part] = WeakValueDictionary()
"""The parts in this process."""


class Held:
    """Keeps a part in the worker's memory; parts never travel, and are not spilled to disk."""

    def __init__(self, part: Part) -> None:
        """Hold it."""
        self.part = part

    def __reduce__(self) -> Any:
        """Refuse to be copied."""
        raise TypeError(f"{self.part.name} stays on its worker")

    def __sizeof__(self) -> int:
        """What Dask may count with."""
        rows = self.part.rows
        return 0 if rows is None else int(self.part.n * (rows.row_bytes + 32))


def hold(
    key: str, numbers: list[int], chunks: list[tuple[Any, Any, Any]], n_jobs: int | None
) -> Held:
    """Make a part of its chunks (X, y, weight or None), and keep it."""
    part = Part(key, load_chunks(numbers, chunks), threads_of(n_jobs))
    HELD[key] = part
    return Held(part)


# Calls that change duals, or need them all: one at a time.
_ALONE = {"set_lanes", "restore", "scale", "at", "sync", "step", "snapshot", "gap_sums"}


def work(
    keys: Iterable[str],
    command: str,
    common: dict[str, Any],
    each: dict[str, dict[str, Any]],
    generation: int,
) -> tuple[Reply, list[str]]:
    """Call a method of the parts here, one after the other; what they reply, and who is missing.

    ``step`` carries its weights on from part to part. Calls of an older ``generation`` come too
    late: workers were lost since, and nobody waits for them.
    """
    keys = list(keys)
    parts = [HELD.get(key) for key in keys]
    missing = [key for key, part in zip(keys, parts, strict=True) if part is None]
    if missing:
        return {}, missing
    total: Reply = {}
    extra: dict[str, Any] = {"carry": {}} if command == "step" else {}
    for key, part in zip(keys, parts, strict=True):
        assert part is not None
        method: Callable[..., Reply] = getattr(part, command)
        with part.lock if command in _ALONE else nullcontext():
            if generation < part.generation:
                return {}, []
            part.generation = generation
            merge(total, method(**common, **each.get(key, {}), **extra))
    return total, []
