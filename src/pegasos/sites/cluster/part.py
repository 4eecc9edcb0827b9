"""What a worker holds: some of the rows, their labels and duals, and the work on them.

A part is found by its key in the worker's memory (``HELD``), and lives as long as the client keeps
the future that made it. ``work`` calls a method of parts and merges what they reply; a part without
rows is not asked. Keys that are not here come back as missing: the client brings them up again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.losses import Loss
from pegasos.problem import Intercept, lanes_over
from pegasos.rows import as_rows
from pegasos.sites.cluster.part_duals import DualPart, Settled, padded, sums_over
from pegasos.sites.cluster.passes import PartPasses
from pegasos.sites.cluster.source import Loaded, load_chunks, threads_of, widened
from pegasos.sites.merge import Reply, merge
from pegasos.sites.method import About, RowMethod

LabelsOf = Callable[["Part"], NDArray[np.int8]]
"""Makes the lanes' labels (n, K) in {-1, 0, +1} of a part's rows; it travels to the parts."""


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


class CameUpAnewError(Exception):
    """What a part is asked of was lost with the worker that had it."""


class Part(DualPart):
    """Rows, labels, weights; after ``set_lanes`` a problem, duals and what solvers need."""

    def __init__(self, name: str, loaded: Loaded, threads: int) -> None:
        """Check the rows."""
        self.name, self.threads = name, threads
        self.X, self.y, self.weight, self.chunks = loaded
        ends = np.cumsum([0, *(size for _, size in self.chunks)]).tolist()
        self.spans = [
            (k, end - size, end) for (k, size), end in zip(self.chunks, ends[1:], strict=True)
        ]
        self.n = ends[-1]
        if self.n:
            self.rows = as_rows(self.X, n_jobs=threads)
        self.passes: dict[int, PartPasses] = {}
        # By lanes: the weights that were looked at, and w.x.
        self.looked: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self.lock = threading.Lock()
        self.generation = 0  # of the client's, in which it was last spoken to

    def __reduce__(self) -> Any:
        """Parts never travel, and are not spilled to disk."""
        raise TypeError(f"{self.name} stays on its worker")

    def __sizeof__(self) -> int:
        """What Dask may count with."""
        return int(self.n * (self.rows.row_bytes + 32)) if self.n else 0

    def describe(self, *, signs: bool) -> Reply:
        """Sizes, and the classes with their weights, if y does not hold ``signs``."""
        if not signs and self.y.ndim == 2 and self.y.shape[1] == 1:
            self.y = self.y[:, 0]
        rows, d = self.rows, int(self.X.shape[1])
        reply: Reply = {
            "chunks": ("each", dict(self.chunks)),
            "rows": ("sum", self.n), "values": ("sum", rows.row_size * self.n),
            "bytes": ("sum", rows.row_bytes * self.n), "longest": ("max", rows.longest),
            "features": ("max", d), "fewest_features": ("min", d),
            "all_dense": ("min", rows.dense is not None),
            "some_dense": ("max", rows.dense is not None),
            "largest_norm": ("max", float(rows.squared_norms.max())),
            "norms": ("sum", float(rows.squared_norms.sum())),
        }  # fmt: skip
        if self.y.ndim > 1:
            return reply | {"lanes": ("max", self.y.shape[1])}
        values, codes = np.unique(self.y, return_inverse=True)
        weight = None if self.weight is None else self.weight[:, 0]
        counted = np.bincount(codes, weight, minlength=values.size).astype(float)
        return reply | {"classes": ("each", {self.name: (values, counted)})}

    def set_lanes(self, lanes: Lanes) -> Reply:
        """Make the problem; every dual is zero again."""
        self.passes.clear()
        self.looked.clear()
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

    def at(self, C: float) -> Reply:
        """Another C, the same for every lane."""
        self.passes.clear()
        self.problem = self.problem.at(C)
        return {}

    def apply(self, function: Callable[..., Reply], **arguments: Any) -> Reply:
        """What a function makes of the part."""
        return function(self, **arguments)

    # Second-order solvers: a run on a lane.
    def start_passes(
        self,
        lane: int,
        method: RowMethod,
        about: About,
        points: Mapping[int, Floats] = MappingProxyType({}),
    ) -> Reply:
        """Begin it, or go on with one that was saved, from the ``points`` of chunks."""
        run = self.passes[lane] = PartPasses(self.problem.take(np.array([lane])), method, about)
        for number, lo, hi in self.spans if points else ():
            run.point[:, lo:hi] = points[number]
        return {}

    def on_passes(self, lane: int, call: str, **arguments: Any) -> Reply:
        """Call a method of what the run has here."""
        return getattr(self._run(lane), call)(**arguments) or {}

    def points(self, lane: int) -> Reply:
        """What of the variables makes the point, of every chunk."""
        point = self._run(lane).point
        return {"points": ("each", {number: point[:, lo:hi] for number, lo, hi in self.spans})}

    def end_passes(self, lane: int) -> Reply:
        """Forget the lane's variables."""
        self.passes.pop(lane, None)
        return {}

    def _run(self, lane: int) -> PartPasses:
        if lane not in self.passes:
            raise CameUpAnewError
        return self.passes[lane]

    # Certificates: over all rows, those that are away included.
    def look(self, *, live: NDArray[np.intp], W: Floats) -> Reply:
        """Keep W and w.x of all rows for what follows; where the loss's kinks in b end."""
        products = self.rows.products(padded(W), live.size, self.threads)
        self.looked[tuple(live.tolist())] = W, products
        labels = self.labels[:, live]
        kinks, inside = labels - products, labels != 0
        least = np.where(inside, kinks, np.inf).min(axis=0)
        most = np.where(inside, kinks, -np.inf).max(axis=0)
        return {"least": ("min", least), "most": ("max", most)}

    def losses(self, *, live: NDArray[np.intp], at: Floats) -> Reply:
        """The loss of every lane with each intercept of ``at`` (tries, lanes)."""
        if tuple(live.tolist()) not in self.looked:
            raise CameUpAnewError
        _, products = self.looked[tuple(live.tolist())]
        problem = self.problem.take(live)
        costs = problem.costs()
        out = np.empty(at.shape)
        for i, b in enumerate(at):
            slack = 1.0 - problem.labels * (products + b)
            out[i] = problem.loss.value(slack, costs).sum(axis=0)
        return {"losses": ("sum", out)}

    def gap_sums(
        self,
        *,
        live: NDArray[np.intp],
        W: Floats | None = None,
        b: Floats,
        settled: Settled | None = None,
        lane: int | None = None,
        at: float = 0.0,
        **away: Any,
    ) -> Reply:
        """The sums of ``pegasos.certificate.GapSums`` over the part.

        The duals are those of rounds (with the client's of the rows that are ``away``), or of a
        second-order solver's run on ``lane``, read off its variables with ``at``. Without ``W`` it
        is the one that was looked at.
        """
        looked = self.looked.pop(tuple(live.tolist()), None)
        if W is None:
            if looked is None:
                raise CameUpAnewError
            W = looked[0]
        reply: Reply = {}
        if lane is None:
            reply = self.snapshot(settled, **away)
            a = self.duals[:, live]
        else:
            a = self._run(lane).duals(at)
        problem = self.problem.take(live)
        a = np.clip(a, 0.0, problem.largest_duals())  # D is a bound whatever went before
        total = sums_over(problem, a, padded(W), b)
        reply["sums"] = ("sum", total.sums)
        reply["U_positive"] = ("sum", total.U_positive[:, : live.size])
        if total.U_negative is not None:
            reply["U_negative"] = ("sum", total.U_negative[:, : live.size])
        return reply


HELD: WeakValueDictionary[str, Part] = WeakValueDictionary()
"""The parts in this process."""


def hold(
    run: str, name: str, numbers: list[int], chunks: list[tuple[Any, Any, Any]], n_jobs: int | None
) -> Part:
    """Make a part of its chunks (X, y, weight or None), to be kept by who asks for it."""
    part = HELD[run + name] = Part(name, load_chunks(numbers, chunks), threads_of(n_jobs))
    return part


# Calls that change duals, or need them all: one at a time.
_ALONE = {"set_lanes", "restore", "scale", "at", "sync", "step", "snapshot", "gap_sums"}


def work(
    run: str,
    names: list[str],
    command: str,
    common: dict[str, Any],
    each: dict[str, dict[str, Any]],
    generation: int,
) -> tuple[Reply, list[str]]:
    """Call a method of parts of a run, one after the other: what they reply, and who is missing.

    ``step`` carries its weights on from part to part. Calls of an older ``generation`` come too
    late: workers were lost since, and nobody waits for them.
    """
    parts = {name: HELD.get(run + name) for name in names}
    missing = [name for name, part in parts.items() if part is None]
    if missing:
        return {}, missing
    total: Reply = {}
    extra: dict[str, Any] = {"carry": {}} if command == "step" else {}
    for name, part in parts.items():
        assert part is not None
        with part.lock if command in _ALONE else nullcontext():
            if generation < part.generation:
                return {}, []
            part.generation = generation
            if not part.n:
                continue
            try:
                merge(total, getattr(part, command)(**common, **each.get(name, {}), **extra))
            except CameUpAnewError:
                return {"lost": ("max", True)}, []
    return total, []
