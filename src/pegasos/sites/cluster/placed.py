"""Rows on the workers of a cluster with classes and weights, as tasks see them.

What is asked of the parts here are functions that travel there: labels, folds and scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.rows import Rows
from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part import LabelsOf, Lanes, Part
from pegasos.sites.cluster.part_duals import padded
from pegasos.sites.cluster.site import Said, problem_on, summary
from pegasos.sites.cluster.source import Source
from pegasos.sites.costs import PULL
from pegasos.sites.errors import InterruptedSiteError, PartsLostError
from pegasos.sites.merge import Reply
from pegasos.sites.placed import Choose, Dealt, Folds, HeldOut, Placed
from pegasos.util.arguments import regularization

if TYPE_CHECKING:
    from pegasos.tasks.lanes import ClassLanes
    from pegasos.tasks.training import Training

_SCORED_BYTES = 1 << 30  # of the scores that come here to be calibrated


@dataclass(frozen=True, eq=False)
class OfParts:
    """What parts are told of classes and folds."""

    classes: NDArray[Any]
    dealt: Dealt | None = None

    def codes(self, part: Part) -> NDArray[np.intp]:
        """The place of each row's class."""
        return np.searchsorted(self.classes, part.y)

    def folds(self, codes: NDArray[np.intp], chunks: list[tuple[int, int]]) -> NDArray[np.intp]:
        """The fold that holds a row out: the rows of a class in a chunk are dealt to all of them.

        Chunks begin with different folds, and what they deal depends on nothing but their number.
        """
        assert self.dealt is not None
        fold, first = np.empty(codes.size, dtype=np.intp), 0
        for number, size in chunks:
            rng = np.random.default_rng([self.dealt.seed, number])
            order = first + rng.permutation(size)
            start = rng.integers(self.dealt.count)
            for code in range(self.classes.size):
                rows = order[codes[order] == code]
                fold[rows] = (np.arange(rows.size) + start + code) % self.dealt.count
            first += size
        return fold

    def fold_totals(self, part: Part) -> Reply:
        """(folds, classes) the weight of the rows that each fold trains on."""
        assert self.dealt is not None
        codes = self.codes(part)
        fold, weight = self.folds(codes, part.chunks), _weight(part)
        held = np.zeros((self.dealt.count, self.classes.size))
        np.add.at(held, (fold, codes), weight)
        return {"totals": ("sum", held.sum(axis=0) - held)}

    def score(self, part: Part, W: Floats, b: Floats, choose: Choose | None) -> Reply:
        """Of every fold: the weight of the rows held out, and of those that its model has right."""
        codes = self.codes(part)
        fold, weight = self.folds(codes, part.chunks), _weight(part)
        assert self.dealt is not None
        out = np.zeros((2, self.dealt.count))
        for k, scores in enumerate(np.split(_products(part, W) + b, self.dealt.count, axis=1)):
            held = fold == k
            out[0, k] = weight[held].sum()
            out[1, k] = weight[held & (_chosen(scores, choose) == codes)].sum()
        return {"held_out": ("sum", out)}

    def scores(self, part: Part, W: Floats, b: Floats) -> Reply:
        """Every row's scores by the model of the fold that holds it out, its class, its weight."""
        codes = self.codes(part)
        fold = self.folds(codes, part.chunks)
        assert self.dealt is not None
        every = np.stack(np.split(_products(part, W) + b, self.dealt.count, axis=1))
        own = every[fold, np.arange(part.n)]
        return {"scores": ("each", {part.name: (own, codes, _weight(part))})}


@dataclass(frozen=True, eq=False)
class SignsOfClasses:
    """Labels of a part by a table of classes and lanes."""

    of: OfParts
    lanes: ClassLanes

    def __call__(self, part: Part) -> NDArray[np.int8]:
        """(n, K)."""
        codes = self.of.codes(part)
        labels = self.lanes.labels(codes)
        if self.lanes.fold is not None:
            fold = self.of.folds(codes, part.chunks)
            labels[fold[:, None] == self.lanes.fold] = 0
        return labels


def own_signs(part: Part) -> NDArray[np.int8]:
    """Those that y holds, of every lane."""
    labels = np.asarray(part.y)
    bad = np.argwhere(~np.isin(labels, (-1, 0, 1)))
    if bad.size:
        raise ValueError(f"y must hold -1, 0 and +1, got {labels[tuple(bad[0])]!r}")
    return labels.astype(np.int8)


@dataclass(frozen=True, eq=False)
class OnCluster(Placed):
    """Labels are made on the workers; folds are dealt there."""

    cluster: Cluster
    about: dict[str, Said]
    rows: Rows  # none of which is here
    classes: NDArray[Any]
    counted: Floats  # (classes,) the weight of their rows
    dealt: Dealt | None = None

    where: ClassVar[str] = "on a cluster"
    together: ClassVar[int | None] = None

    @property
    def n(self) -> int:
        """How many rows."""
        return self.rows.n

    @property
    def features(self) -> int:
        """Columns of X."""
        return self.rows.d

    @property
    def totals(self) -> Floats:
        """As the parts have counted."""
        return self.counted

    @property
    def error(self) -> Exception | None:  # type: ignore[override]
        """What ended the cluster."""
        return self.cluster.error

    @property
    def of_parts(self) -> OfParts:
        """What travels."""
        return OfParts(self.classes, self.dealt)

    def in_folds(self, folds: Folds) -> OnCluster:
        """That are dealt by their number and a seed."""
        assert isinstance(folds, Dealt)
        return replace(self, dealt=folds)

    def fold_totals(self) -> Floats:
        """Counted by the parts."""
        found: Floats = self._apply(self.of_parts.fold_totals)["totals"]
        return found

    def problem(
        self, training: Training, lanes: ClassLanes, *, C: Floats | float | None
    ) -> Problem:
        """All parts are told the table."""
        total = np.abs(lanes.sides).T @ self.totals
        if lanes.fold is not None:
            of_folds = self.fold_totals()
            total = np.einsum("ck,kc->k", np.abs(lanes.sides), of_folds[lanes.fold])
        labels = SignsOfClasses(self.of_parts, lanes)
        return _problem(self, training, labels, (lanes.positive, lanes.negative), total, C)

    def at(self, problem: Problem, C: float) -> Problem:
        """Parts scale their duals."""
        changed = problem.at(C)
        self.cluster.keep("at", {"C": C})
        # If parts are lost some start anew, and some as they were: any duals in the box will do.
        with suppress(PartsLostError):
            self.cluster.ask("scale", {"ratio": changed.s / problem.s})
        return changed

    def accuracies(
        self, W: Floats, b: Floats, folds: Sequence[int], choose: Choose | None
    ) -> Floats:
        """Of all folds at once."""
        assert list(folds) == list(range(len(folds)))
        held, right = self._apply(self.of_parts.score, W=W, b=b, choose=choose)["held_out"]
        return np.asarray(np.divide(right, held, out=np.full(held.size, np.nan), where=held > 0))

    def held_out(self, coefs: Floats, intercepts: Floats) -> HeldOut:
        """A score of each row and lane comes here; refused where those are too many."""
        lanes = intercepts.shape[1]
        if 8.0 * self.n * lanes > _SCORED_BYTES:
            raise ValueError(
                f"probability brings {lanes} scores of each of {self.n} rows to the client, more "
                "than it should hold: calibrate to_local() on some of the rows"
            )
        W = np.zeros((self.features + 1, intercepts.size))
        W[:-1] = coefs.reshape(intercepts.size, -1).T
        found = self._apply(self.of_parts.scores, W=W, b=intercepts.ravel())["scores"]
        parts = [found[name] for name in sorted(found)]
        scores, codes, weights = (np.concatenate(some) for some in zip(*parts, strict=True))
        return scores, codes, weights

    def _apply(self, function: Any, **arguments: Any) -> Any:
        return self.cluster.ask_again("apply", {"function": function, **arguments})


def _weight(part: Part) -> Floats:
    return np.ones(part.n) if part.weight is None else part.weight[:, 0]


def _products(part: Part, W: Floats) -> Floats:
    assert part.rows is not None
    return part.rows.products(padded(W), W.shape[1], part.threads)


def _chosen(scores: Floats, choose: Choose | None) -> NDArray[np.intp]:
    if choose is not None:
        return choose(scores)
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


@contextmanager
def on_cluster(
    client: Any, source: Source, n_jobs: int | None, timeout: float
) -> Iterator[Cluster]:
    """The source's parts on the workers, while they are needed."""
    with Interruption() as interruption:
        try:
            cluster = Cluster(client, source, timeout, n_jobs, interruption)
            try:
                yield cluster
            finally:
                cluster.close()
        except InterruptedSiteError:
            raise KeyboardInterrupt from None  # there is no model yet


def of_classes(cluster: Cluster) -> OnCluster:
    """The rows and their classes, as the parts tell them."""
    about = _described(cluster, signs=False)
    some = _with_rows(about)
    if "lanes" in some[0]:
        raise ValueError(
            "y must be one-dimensional: a class for every row; indicator matrices of labels are "
            "for pegasos.LinearSVC, on one machine or a device"
        )
    classes, totals = _classes(some)
    return OnCluster(cluster, about, summary(about), classes, totals)


def of_signs(cluster: Cluster, training: Training, two: ClassLanes) -> tuple[Problem, bool]:
    """The problem of y with two values, or with -1, 0 and +1 of every lane; whether it is one.

    ``two`` is the lane of two values.
    """
    about = _described(cluster, signs=True)
    some = _with_rows(about)
    if "lanes" not in some[0]:
        classes, totals = _classes(some)
        if classes.size > 2:
            raise ValueError(
                f"y must have two values, or be (n, K) with -1, 0 and +1; it has {classes.size}"
            )
        placed = OnCluster(cluster, about, summary(about), classes, totals)
        return placed.problem(training, two, C=training.C), True
    K = some[0]["lanes"]
    placed = OnCluster(cluster, about, summary(about), np.zeros(0), np.zeros(0))
    return _problem(placed, training, own_signs, (np.ones(K), np.ones(K)), None, training.C), False


def _described(cluster: Cluster, *, signs: bool) -> dict[str, Said]:
    about: dict[str, Said] = cluster.keep("describe", {"signs": signs})["about"]
    return about


def _with_rows(about: dict[str, Said]) -> list[Said]:
    summary(about)  # which says what does not fit together
    return [a for a in about.values() if a["rows"]]


def _classes(some: list[Said]) -> tuple[NDArray[Any], Floats]:
    """All classes in order, and the weight of each."""
    values = np.concatenate([a["classes"] for a in some])
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        raise ValueError("Unknown label type: y holds continuous numbers, and no classes")
    classes, codes = np.unique(values, return_inverse=True)
    totals: Floats = np.bincount(codes, np.concatenate([a["weights"] for a in some])).astype(float)
    if classes.size < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    if not totals.all():
        raise ValueError(
            f"every example of class {classes[int(np.argmin(totals > 0))]!r} has a sample_weight "
            "of zero: leave the class out of y, or weigh it"
        )
    return classes, totals


def _problem(
    placed: OnCluster,
    training: Training,
    labels: LabelsOf,
    sides: tuple[Floats, Floats],
    total: Floats | None,
    C: Floats | float | None,
) -> Problem:
    """Tell the parts what to learn; without ``total`` they have to look at the signs first."""
    some = [a for a in placed.about.values() if a["rows"]]
    scaling = training.intercept_scaling if training.intercept == "regularized" else 0.0

    def lanes_with(total: Floats) -> Lanes:
        s = regularization(training.lam, C, total)
        return Lanes(
            labels=labels, positive=sides[0], negative=sides[1], s=s, total_weight=total,
            intercept=training.intercept, scaling=scaling,
            step_scaling=_step_scaling(some, training, s), loss=training.loss,
            features=max(a["features"] for a in some),
        )  # fmt: skip

    def told(lanes: Lanes) -> Floats:
        counts: Floats = placed.cluster.keep("set_lanes", {"lanes": lanes})["counts"]
        return counts

    if total is None:
        counts = told(lanes_with(np.ones(sides[0].size)))
        total = counts[2] + counts[3]
    lanes = lanes_with(total)
    counts = told(lanes)
    for name, side in (("+1", 0), ("-1", 1)):
        missing = np.flatnonzero(counts[side] == 0)
        if missing.size:
            raise ValueError(
                f"y needs examples of two classes; none of class {name} is there in lane "
                f"{missing[0]} with a positive sample weight"
            )
    return problem_on(placed.cluster, placed.about, lanes, counts, training.options.tol)


def _step_scaling(some: list[Said], training: Training, s: Floats) -> float:
    """The constant feature in rounds; a free intercept's makes b = centre + pull sum a y."""
    if training.intercept == "none":
        return 0.0
    if training.intercept == "regularized":
        return float(training.intercept_scaling)
    curvature = sum(a["norms"] for a in some) / sum(a["rows"] for a in some) or 1.0
    curvature += float(training.loss.mean_curvature(1.0, 1.0) * s.min())
    return float(np.sqrt(PULL * curvature))
