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
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.losses import Loss
from pegasos.problem import Intercept, Problem, lanes_over
from pegasos.rows import Rows, as_rows
from pegasos.sites.cluster.loading import Loaded, load_chunks, threads_of, widened
from pegasos.sites.cluster.part_passes import PartPasses, Shapes
from pegasos.sites.cluster.part_sums import CertifiedPart
from pegasos.sites.merge import Reply, merge
from pegasos.sites.method import About, Bools, RowMethod


class LabelsOf(Protocol):
    """Makes the lanes' labels; it travels to the parts."""

    def __call__(self, part: Part) -> NDArray[np.int8]:
        """(n, K) in {-1, 0, +1} of a part's rows."""


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """The binary problems of all parts; arrays of one entry per lane."""

    labels: LabelsOf
    positive: Floats
    negative: Floats
    s: Floats
    total_weight: Floats
    intercept: Intercept
    scaling: float  # of the constant feature, if the intercept is regularized
    step_scaling: float  # the same where duals are moved: a free intercept needs one there, too
    loss: Loss
    features: int

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
        self.labels = lanes.labels(self)
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

    def apply(self, function: Callable[..., Reply], **arguments: Any) -> Reply:
        """What a function makes of the part."""
        return {} if self.rows is None else function(self, **arguments)

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
