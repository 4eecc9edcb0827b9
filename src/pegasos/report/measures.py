"""Numbers from scores: how good predictions are. Rows count by their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Curve:
    """Points from left to right, and the area below."""

    x: Floats
    y: Floats
    area: float

    def thinned(self, most: int) -> Curve:
        """At most so many of the points, evenly along the curve."""
        if self.x.size <= most:
            return self
        steps = np.abs(np.diff(self.x)) + np.abs(np.diff(self.y))
        along = np.concatenate(([0.0], np.cumsum(steps)))
        places = np.searchsorted(along, np.linspace(0, along[-1], most))
        kept = np.unique(np.concatenate(([0], places, [self.x.size - 1])))
        kept = kept[kept < self.x.size]
        return Curve(self.x[kept], self.y[kept], self.area)


def _falling(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[Floats, Floats]:
    """Weights of positive and negative rows above each distinct score, the largest score first."""
    if not scores.size:
        return np.zeros(1), np.zeros(1)
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.concatenate((np.diff(scores[order]) != 0, [True])))
    ups = np.cumsum(np.where(positive, weight, 0.0)[order])[ends]
    downs = np.cumsum(np.where(positive, 0.0, weight)[order])[ends]
    return ups, downs


def roc(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Curve | None:
    """True against false positive rate; None unless there are rows of both kinds."""
    ups, downs = _falling(scores, positive, weight)
    if ups[-1] <= 0 or downs[-1] <= 0:
        return None
    x, y = (np.concatenate(([0.0], sums / sums[-1])) for sums in (downs, ups))
    return Curve(x, y, float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)))


def precision_recall(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Curve | None:
    """Precision against recall; the area is the average precision. None without positive rows."""
    ups, downs = _falling(scores, positive, weight)
    if ups[-1] <= 0:
        return None
    some = ups + downs > 0
    recall = np.concatenate(([0.0], ups[some] / ups[-1]))
    precision = ups[some] / (ups[some] + downs[some])
    area = float(np.sum(np.diff(recall) * precision))
    return Curve(recall, np.concatenate((precision[:1], precision)), area)


@dataclass(frozen=True)
class PerClass:
    """How each class, or label, fares."""

    rows: Floats  # of the class
    said: Floats  # predicted to be
    hits: Floats  # both

    @classmethod
    def of_confusion(cls, counts: Floats) -> PerClass:
        """From a matrix of (true, predicted)."""
        return cls(counts.sum(axis=1), counts.sum(axis=0), np.diag(counts).copy())

    @property
    def precision(self) -> Floats:
        """Of the rows predicted to be of the class, the share that is; 0 without any."""
        return _ratio(self.hits, self.said)

    @property
    def recall(self) -> Floats:
        """Of the rows of the class, the share predicted to be; 0 without any."""
        return _ratio(self.hits, self.rows)

    @property
    def f1(self) -> Floats:
        """Their harmonic mean."""
        return _ratio(2 * self.hits, self.rows + self.said)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return _mean(self.recall[self.rows > 0])

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that have rows or are predicted."""
        return _mean(self.f1[(self.rows > 0) | (self.said > 0)])

    @property
    def micro_f1(self) -> float:
        """F1 of all classes together."""
        whole = float(self.rows.sum() + self.said.sum())
        return float(2 * self.hits.sum() / whole) if whole else float("nan")


def _ratio(over: Floats, under: Floats) -> Floats:
    return np.divide(over, under, out=np.zeros(over.shape), where=under > 0)


def _mean(values: Floats, weight: Floats | None = None) -> float:
    return float(np.average(values, weights=weight)) if values.size else float("nan")


def confusion(codes: Codes, chosen: Codes, weight: Floats, classes: int) -> Floats:
    """Weights by (true, predicted) class."""
    counts: Any = np.bincount(codes * classes + chosen, weight, minlength=classes**2)
    return np.asarray(counts.reshape(classes, classes), dtype=np.float64)


def margins(scores: Floats, codes: Codes) -> Floats:
    """By how much the true class wins: y s for two classes, else its score less the best other."""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    return own(scores, codes) - rivals(scores, codes)[1]


def own(scores: Floats, codes: Codes) -> Floats:
    """The scores of the true classes."""
    found: Floats = scores[np.arange(codes.size), codes]
    return found


def rivals(scores: Floats, codes: Codes) -> tuple[Codes, Floats]:
    """The best other class of each row, and its score."""
    others = scores.copy()
    others[np.arange(codes.size), codes] = -np.inf
    best = others.argmax(axis=1)
    return best, own(others, best)


def interval(right: float, rows: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    if rows <= 0:
        return float("nan"), float("nan")
    p, z2 = right / rows, z * z / rows
    half = z * np.sqrt(p * (1 - p) / rows + z2 / (4 * rows))
    return float((p + z2 / 2 - half) / (1 + z2)), float((p + z2 / 2 + half) / (1 + z2))


@dataclass(frozen=True)
class Bars:
    """A histogram."""

    edges: Floats
    heights: Floats
    beyond: float  # rows beyond the edges, which stand in the first and last bar


_BARS = 40


def histogram(values: Floats, weight: Floats) -> Bars:
    """Bars with edges at 0 and, where they are as fine, at 1.

    The far ends, half a percent of the rows each, stand in the last bars.
    """
    low, high = np.quantile(values, [0.005, 0.995])
    low, high = min(float(low), 0.0), max(float(high), 1.0)
    parts = 2.0 ** np.round(np.log2(_BARS / (high - low)))  # bars of a unit, or of several
    first, last = np.floor(low * parts), np.ceil(high * parts)
    edges = np.arange(first, last + 1) / parts
    heights, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges, weights=weight)
    beyond = float(weight[values < edges[0]].sum()) + float(weight[values > edges[-1]].sum())
    return Bars(edges, heights, beyond)


@dataclass(frozen=True)
class Reliability:
    """What happened where a probability was given: one entry per bin that has rows."""

    given: Floats  # the mean probability
    happened: Floats  # the share of rows where it came true
    rows: Floats
    error: float  # the mean distance of the two
    brier: float


def reliability(p: Floats, true: NDArray[np.bool_], weight: Floats, bins: int = 10) -> Reliability:
    """Probabilities against shares."""
    at = np.minimum((p * bins).astype(np.intp), bins - 1)
    sums = [np.bincount(at, values, bins) for values in (weight, weight * p, weight * true)]
    rows, given, happened = np.array(sums, dtype=np.float64)[:, sums[0] > 0]
    given, happened = given / rows, happened / rows
    total = max(float(weight.sum()), np.finfo(float).tiny)
    error = float(rows @ np.abs(given - happened)) / total
    return Reliability(given, happened, rows, error, float(weight @ (p - true) ** 2) / total)


def mean_log_loss(p: Floats, codes: Codes, weight: Floats) -> float:
    """Of the probabilities (n, classes)."""
    return _mean(-np.log(np.clip(own(p, codes), np.finfo(float).eps, 1)), weight)


def multiclass_brier(p: Floats, codes: Codes, weight: Floats) -> float:
    """The mean squared distance of the probabilities (n, classes) from what happened."""
    return _mean((p**2).sum(axis=1) - 2 * own(p, codes) + 1, weight)
