"""Rows on the workers of a cluster with classes and weights, as tasks see them.

What is asked of the parts here are functions that travel there: labels, folds and scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.rows import Rows
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part import LabelsOf, Lanes, Part
from pegasos.sites.cluster.part_duals import Compressed, padded
from pegasos.sites.cluster.site import ClusterSite
from pegasos.sites.costs import PULL
from pegasos.sites.errors import PartsLostError
from pegasos.sites.merge import Reply
from pegasos.sites.placed import Choose, Dealt, Folds, HeldOut, Placed
from pegasos.util.arguments import regularization
from pegasos.util.checksums import of_arrays, of_rows

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
    about: dict[str, Any]  # what the parts say of themselves, all together
    classes: NDArray[Any]
    counted: Floats  # (classes,) the weight of their rows
    dealt: Dealt | None = None
    begun: Mapping[int, Compressed] = field(default_factory=dict)  # duals of chunks to start from

    where: ClassVar[str] = "on a cluster"
    walks: ClassVar[bool] = True
    together: ClassVar[int | None] = None

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.about["rows"])

    @property
    def features(self) -> int:
        """Columns of X."""
        return int(self.about["features"])

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
        return self._problem(training, labels, (lanes.positive, lanes.negative), total, C)

    def problem_of_signs(self, training: Training) -> Problem:
        """The lanes whose signs are y; the parts have to look at them before they have weights."""
        ones = np.ones(int(self.about["lanes"]))
        return self._problem(training, own_signs, (ones, ones), None, training.C)

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

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each chunk."""
        known, count = self.about["chunks"], len(self.cluster.source.chunks)
        return np.array([known.get(k, 0) for k in range(count)], dtype=np.int64)

    def starting_from(self, duals: Mapping[int, Compressed]) -> OnCluster:
        """The same rows, whose next fit starts from duals that were packed, if they are theirs."""
        own = {number: size for number, size in self.about["chunks"].items() if size}
        if {number: few.shape[0] for number, few in duals.items() if few.shape[0]} != own:
            return self
        return replace(self, begun=duals)

    def duals(self) -> dict[int, Compressed]:
        """Those of all lanes, packed, as they were certified last."""
        found: dict[int, Compressed] = self.cluster.ask_again("snapshot", {"settled": None})[
            "duals"
        ]
        return found

    def fingerprint(self) -> dict[str, Any]:
        """What a checkpoint knows the data by, wherever the chunks are."""
        found = self._apply(_checksums)["checksums"]
        X, y, weight = (np.array([found[number][i] for number in sorted(found)]) for i in range(3))
        return {
            "rows": self.n, "features": self.features, "chunks": of_arrays(self.sizes),
            "X": of_arrays(X), "y": of_arrays(y), "sample_weight": of_arrays(weight),
        }  # fmt: skip

    def _problem(
        self,
        training: Training,
        labels: LabelsOf,
        sides: tuple[Floats, Floats],
        total: Floats | None,
        C: Floats | float | None,
    ) -> Problem:
        """Tell the parts what to learn; without ``total`` they have to look at the signs first."""
        scaling = training.intercept_scaling if training.intercept == "regularized" else 0.0

        def told(total: Floats) -> tuple[Lanes, Floats]:
            s, step_scaling = regularization(training.lam, C, total), scaling
            if training.intercept == "free":  # in rounds b = centre + pull sum a y
                curvature = self.about["norms"] / self.n or 1.0
                curvature += float(training.loss.mean_curvature(1.0, 1.0) * s.min())
                step_scaling = float(np.sqrt(PULL * curvature))
            lanes = Lanes(
                labels=labels, positive=sides[0], negative=sides[1], s=s, total_weight=total,
                intercept=training.intercept, scaling=scaling, step_scaling=step_scaling,
                loss=training.loss, features=self.features,
            )  # fmt: skip
            return lanes, self.cluster.keep("set_lanes", {"lanes": lanes})["counts"]

        if total is None:
            counts = told(np.ones(sides[0].size))[1]
            total = counts[2] + counts[3]
        lanes, counts = told(total)
        for name, count in (("+1", counts[0]), ("-1", counts[1])):
            missing = np.flatnonzero(count == 0)
            if missing.size:
                raise ValueError(
                    f"y needs examples of two classes; none of class {name} is there in lane "
                    f"{missing[0]} with a positive sample weight"
                )
        return self._problem_of(lanes, counts, training.options.tol)

    def _problem_of(self, lanes: Lanes, counts: Floats, tol: float) -> Problem:
        """The problem of all lanes; none of its rows is here."""
        about, n, d, bias = self.about, self.n, self.features, lanes.scaling
        rows = Rows(
            _core.Rows.dense(np.broadcast_to(np.zeros((1, d)), (n, d)), bias),  # takes no memory
            np.array([about["largest_norm"] + bias**2]),  # the largest alone
            about["values"] / n,
            about["bytes"] / n,
            about["longest"],
            None,
        )
        K = lanes.s.size
        up, down = lanes.positive * counts[2], lanes.negative * counts[3]
        site = ClusterSite(
            cluster=self.cluster, tol=tol, arrays=bool(about["all_dense"]),
            step_scaling=lanes.step_scaling, sizes=self.sizes, lanes=K, ids=np.arange(K),
            costs=(up, down), begun=self.begun,
        )  # fmt: skip
        labels, none = np.zeros((0, K), dtype=np.int8), np.zeros(1, dtype=np.int64)
        lane_rows = (counts[0] + counts[1]).astype(np.int64)
        core = _core.Problem(
            _core.Rows.csr(np.zeros(0), none[:0], none, d, bias), labels=labels, weight=None,
            positive=lanes.positive, negative=lanes.negative, s=lanes.s, lam=lanes.s / lane_rows,
            squared_norms=np.zeros(0), loss=lanes.loss.name, threads=1,
        )  # fmt: skip
        return Problem(
            rows=rows, labels=labels, weight=None, positive=lanes.positive,
            negative=lanes.negative, s=lanes.s, total_weight=lanes.total_weight,
            intercept=lanes.intercept, loss=lanes.loss, threads=1, core=core,
            lane_rows=lane_rows, cost=up + down, site=site,
        )  # fmt: skip

    def _apply(self, function: Any, **arguments: Any) -> Any:
        return self.cluster.ask_again("apply", {"function": function, **arguments})


def _weight(part: Part) -> Floats:
    return np.ones(part.n) if part.weight is None else part.weight[:, 0]


def _products(part: Part, W: Floats) -> Floats:
    return part.rows.products(padded(W), W.shape[1], part.threads)


def _chosen(scores: Floats, choose: Choose | None) -> NDArray[np.intp]:
    if choose is not None:
        return choose(scores)
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def of_classes(cluster: Cluster) -> OnCluster:
    """The rows and their classes, as the parts tell them."""
    about = _described(cluster, signs=False)
    if "lanes" in about:
        raise ValueError(
            "y must be one-dimensional: a class for every row; indicator matrices of labels are "
            "for pegasos.LinearSVC, on one machine or a device"
        )
    return OnCluster(cluster, about, *_classes(about))


def of_signs(cluster: Cluster) -> OnCluster:
    """The rows of y with two values, or with -1, 0 and +1 of every lane: then there are no classes.

    ``OnCluster.problem_of_signs`` is what there is to learn of these.
    """
    about = _described(cluster, signs=True)
    if "lanes" in about:
        return OnCluster(cluster, about, np.zeros(0), np.zeros(0))
    classes, totals = _classes(about)
    if classes.size > 2:
        raise ValueError(
            f"y must have two values, or be (n, K) with -1, 0 and +1; it has {classes.size}"
        )
    return OnCluster(cluster, about, classes, totals)


def _described(cluster: Cluster, *, signs: bool) -> dict[str, Any]:
    about = cluster.keep("describe", {"signs": signs})
    if not about:
        raise ValueError("X has no rows: 0 samples, while a minimum of 1 is required")
    widths = [about["fewest_features"], about["features"]]
    # Of sparse rows, columns at the end may have no value in some chunks.
    if widths[0] != widths[1] and about["some_dense"]:
        raise ValueError(f"chunks of X differ in their number of features: {widths}")
    return about


def _classes(about: dict[str, Any]) -> tuple[NDArray[Any], Floats]:
    """All classes in order, and the weight of each."""
    some = about["classes"].values()
    values = np.concatenate([own for own, _ in some])
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        raise ValueError("Unknown label type: y holds continuous numbers, and no classes")
    classes, codes = np.unique(values, return_inverse=True)
    totals = np.bincount(codes, np.concatenate([counted for _, counted in some])).astype(float)
    if classes.size < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    if not totals.all():
        raise ValueError(
            f"every example of class {classes[int(np.argmin(totals > 0))]!r} has a sample_weight "
            "of zero: leave the class out of y, or weigh it"
        )
    return classes, totals


def _checksums(part: Part) -> Reply:
    """Of every chunk: those of its rows, labels and weights."""
    weight = _weight(part)
    found = {
        number: (of_rows(part.X[lo:hi]), of_arrays(part.y[lo:hi]), of_arrays(weight[lo:hi]))
        for number, lo, hi in part.spans
    }
    return {"checksums": ("each", found)}
