"""Probabilities from scores: Platt's sigmoid or an isotonic curve per lane, fitted out of fold.

Platt (1999) fits P(y = +1 | f) = 1 / (1 + exp(A f + B)) to scores f of rows that the model was not
trained on, by maximum likelihood with targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2); here by
Newton's method with a line search (Lin, Lin & Weng 2007). Several classes: one-vs-rest is
normalised to a sum of 1, one-vs-one coupled by the second method of Wu, Lin & Weng (2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.tasks.decision import from_scores

METHODS = ("sigmoid", "isotonic")
ENOUGH_ROWS = 1000  # for an isotonic curve: with fewer, two parameters are safer
_MOST_NEWTON_STEPS = 100
_MOST_COUPLINGS = 1000


class Calibrator(Protocol):
    """From scores to probabilities of y = +1."""

    def predict(self, scores: Floats) -> Floats:
        """The probabilities."""


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(A f + B))."""

    A: float
    B: float

    def predict(self, scores: Floats) -> Floats:
        """The probabilities."""
        return _sigmoid(-(self.A * scores + self.B))


@dataclass(frozen=True)
class Isotonic:
    """A curve that rises with the scores: straight between its knots, level beyond them."""

    scores: Floats
    values: Floats

    def predict(self, scores: Floats) -> Floats:
        """The probabilities."""
        return np.interp(scores, self.scores, self.values)


def fit_calibrator(
    method: str, scores: Floats, positive: NDArray[np.bool_], weight: Floats | None = None
) -> Calibrator:
    """The calibrator of one lane, from scores of rows it was not trained on."""
    weight = np.ones(scores.size) if weight is None else weight
    if method == "auto":
        method = "isotonic" if scores.size >= ENOUGH_ROWS else "sigmoid"
    if method == "sigmoid":
        return fit_sigmoid(scores, positive, weight)
    return fit_isotonic(scores, positive, weight)


def fit_isotonic(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Isotonic:
    """The curve that rises with the scores and is nearest to the labels."""
    from sklearn.isotonic import IsotonicRegression

    low, high = _targets(positive, weight)
    curve = IsotonicRegression(y_min=low, y_max=high, out_of_bounds="clip").fit(
        scores, positive.astype(np.float64), sample_weight=weight
    )
    return Isotonic(np.asarray(curve.X_thresholds_), np.asarray(curve.y_thresholds_))


def _targets(positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """Platt's for y = -1 and +1: no row is certain."""
    ups, downs = float(weight[positive].sum()), float(weight[~positive].sum())
    return 1 / (downs + 2), (ups + 1) / (ups + 2)


def fit_sigmoid(scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Sigmoid:
    """Platt's A and B."""
    ups, downs = float(weight[positive].sum()), float(weight[~positive].sum())
    low, high = _targets(positive, weight)
    target = np.where(positive, high, low)
    # Scores of size one: so that A and B are, too.
    size = float(np.abs(scores).max()) or 1.0
    features = np.column_stack([scores / size, np.ones(scores.size)])
    at = np.array([0.0, np.log((ups + 1) / (downs + 1))])  # of A f + B, the sign reversed

    def loss(at: Floats) -> float:
        z = features @ at
        return float(weight @ (np.logaddexp(0, z) - target * z))

    value = loss(at)
    for _ in range(_MOST_NEWTON_STEPS):
        p = _sigmoid(features @ at)
        gradient = features.T @ (weight * (p - target))
        curvature = features.T @ (features * (weight * p * (1 - p))[:, None])
        curvature[np.diag_indices(2)] += 1e-12 * weight.sum()
        step = np.linalg.solve(curvature, gradient)
        fall = float(gradient @ step)
        length = 1.0
        while loss(at - length * step) > value - 1e-4 * length * fall and length > 1e-10:
            length /= 2
        at = at - length * step
        before, value = value, loss(at)
        if before - value <= 1e-12 * abs(before):
            break
    return Sigmoid(-float(at[0]) / size, -float(at[1]))


def class_probabilities(
    X: Any,
    coef: Any,
    intercept: Floats,
    calibrators: Sequence[Calibrator],
    classes: int,
    pairs: bool,
) -> Floats:
    """(n, classes), rows of sum 1, a block of rows at a time."""
    made = partial(probabilities, calibrators, classes=classes, pairs=pairs)
    return from_scores(X, coef, intercept, classes, made)


def probabilities(
    calibrators: Sequence[Calibrator], scores: Floats, classes: int, pairs: bool
) -> Floats:
    """(n, classes), rows of sum 1, from scores (n, lanes)."""
    columns = [
        np.asarray(one.predict(column)) for one, column in zip(calibrators, scores.T, strict=True)
    ]
    p = np.column_stack(columns)
    if classes == 2:
        return np.column_stack([1 - p[:, 0], p[:, 0]])
    if pairs:
        return couple(p, classes)
    total = p.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / classes), where=total > 0))


def couple(pairwise: Floats, classes: int) -> Floats:
    """Class probabilities that agree best with those of the pairs i < j, P(j | i or j).

    Minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2, r_ij = P(i | i or j), on the simplex,
    by the iteration of Wu, Lin & Weng (2004).
    """
    n = pairwise.shape[0]
    r = np.zeros((n, classes, classes))
    for column, (i, j) in zip(pairwise.T, combinations(range(classes), 2), strict=True):
        # Certainty of all pairs at once could contradict itself.
        r[:, j, i] = np.clip(column, 1e-7, 1 - 1e-7)
        r[:, i, j] = 1 - r[:, j, i]
    Q = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(classes)
    Q[:, diagonal, diagonal] = (np.swapaxes(r, 1, 2) ** 2).sum(axis=2)
    p = np.full((n, classes), 1 / classes)
    for _ in range(_MOST_COUPLINGS):
        Qp = np.einsum("nij,nj->ni", Q, p)
        pQp = np.einsum("ni,ni->n", p, Qp)
        if np.abs(Qp - pQp[:, None]).max() < 0.001 / classes:
            break
        for t in range(classes):
            change = (pQp - Qp[:, t]) / Q[:, t, t]
            p[:, t] += change
            pQp = (pQp + change * (change * Q[:, t, t] + 2 * Qp[:, t])) / (1 + change) ** 2
            Qp = (Qp + change[:, None] * Q[:, t]) / (1 + change)[:, None]
            p /= (1 + change)[:, None]
    total: Floats = p.sum(axis=1, keepdims=True)
    return np.asarray(p / total)


def _sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z)) without overflow."""
    e = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1, e) / (1 + e))


def method_of(probability: Any) -> str | None:
    """The method that the option stands for; None without probabilities."""
    if probability is True:
        return "auto"
    if probability is False or probability is None:
        return None
    if probability not in METHODS:
        raise ValueError(
            f"probability must be True, False, 'sigmoid' or 'isotonic', got {probability!r}"
        )
    return str(probability)
