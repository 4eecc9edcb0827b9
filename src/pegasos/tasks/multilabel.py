"""Many labels per row: a lane for each column of an indicator matrix, in blocks that fit memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats, certify
from pegasos.problem import Problem
from pegasos.run.history import History, Record
from pegasos.run.outcome import Outcome, StopReason
from pegasos.sites.placed import Placed
from pegasos.tasks.lanes import class_weights
from pegasos.tasks.training import Training
from pegasos.util import sparse

BLOCK_BYTES = 1 << 29  # of weights and duals
_GROUP = 16  # lanes that read a row together
_SPARSE = 1 / 3  # share of weights other than 0 below which a sparse matrix is smaller


@dataclass(frozen=True)
class Pruning:
    """What pruning left, and what it cost."""

    kept: float  # share of the weights
    primal: Any  # before it, one per lane
    rise: float  # of the primal, relative: the largest over the lanes


@dataclass(frozen=True)
class Labels:
    """The models of all labels."""

    coef: Any  # (labels, d), an array or CSR
    outcome: Outcome  # without W
    pruning: Pruning | None


def train_labels(
    training: Training,
    X: Any,
    indicator: Any,
    sample_weight: Floats | None,
    class_weight: Any,
    prune: float | None,
    block_bytes: int = BLOCK_BYTES,
) -> Labels:
    """A model for each column of ``indicator`` (n, labels), dense or CSC, of zeros and ones.

    X are rows here, or those of a site, which then has their weights, too. A label that all rows
    have, or none, is not trained: its score is 1 or -1 for any row. Labels whose weights and duals
    take ``block_bytes`` are trained together.
    """
    count = indicator.shape[1]
    rows = X if isinstance(X, Placed) else _Here(X, sample_weight)
    walk = _Blocks(training, count, rows.n)
    label_bytes = 17 * rows.n + 40 * rows.features  # its duals, and its weights a few times over
    size = max(_GROUP, int(block_bytes / label_bytes) // _GROUP * _GROUP)
    for first in range(0, count, size):
        lanes = np.arange(first, min(count, first + size))
        labels = _signs(indicator, lanes)
        positive, negative = _weights(labels, class_weight, sample_weight)
        counted = labels if sample_weight is None else labels[sample_weight[:, 0] > 0]
        some = (counted > 0).any(axis=0)
        trained = some & (counted < 0).any(axis=0)
        walk.intercept[lanes] = np.where(some, 1.0, -1.0)
        weights: Any = np.zeros((lanes.size, rows.features))
        kept, signs = lanes[trained], np.ascontiguousarray(labels[:, trained])
        positive, negative = positive[trained], negative[trained]
        if walk.ended:
            walk.leave_out(kept, signs, positive, negative, sample_weight)
        elif kept.size:
            problem = rows.signed(training, signs, positive, negative)
            own = training.options.of(f"{first}")
            outcome = training.run(problem, replace(own, keep_duals=prune is not None))
            walk.add(kept, outcome)
            W = walk.pruned(kept, problem, outcome, prune)
            weights[trained] = W[:-1].T
        walk.keep(weights)
    if walk.last is None:
        raise ValueError(
            "y has no label to learn: every column is the same for all rows that count"
        )
    return walk.finish(prune)


class _Here:
    """Rows in memory or on disk, which are looked at once."""

    def __init__(self, X: Any, sample_weight: Floats | None) -> None:
        self.X, self.sample_weight = X, sample_weight
        self.n, self.features = X.shape
        self.base: Problem | None = None

    def signed(
        self, training: Training, signs: NDArray[np.int8], positive: Floats, negative: Floats
    ) -> Problem:
        """Lanes with these labels."""
        if self.base is not None:
            return self.base.with_labels(signs, positive, negative, self.base.threads)
        self.base = training.problem(self.X, signs, positive, negative, self.sample_weight)
        return self.base


class _Blocks:
    """What is known so far of all labels."""

    def __init__(self, training: Training, count: int, rows: int) -> None:
        self.training, self.rows = training, rows
        self.intercept = np.zeros(count)
        self.proof = Certificate(*np.zeros((3, count)))
        self.before = np.zeros(count)  # primal, unpruned
        self.parts: list[Any] = []
        self.records: list[Record] = []
        self.epochs, self.certifying, self.kept, self.all = 0.0, 0.0, 0, 0
        self.ended: StopReason | None = None
        self.reason: StopReason = "converged"
        self.last: Outcome | None = None

    def leave_out(
        self, lanes: NDArray[np.intp], signs: NDArray[np.int8], positive: Floats, negative: Floats,
        sample_weight: Floats | None,
    ) -> None:  # fmt: skip
        """Labels that a limit left untrained: w = 0, and nothing is proven."""
        weight = np.ones(self.rows) if sample_weight is None else sample_weight[:, 0]
        ups, downs = weight @ (signs > 0), weight @ (signs < 0)
        self.intercept[lanes] = 0.0
        cost = positive * ups + negative * downs
        self.before[lanes] = cost / (ups + downs)
        self.proof = self.proof.replaced(lanes, Certificate.untrained(self.before[lanes]))

    def add(self, lanes: NDArray[np.intp], outcome: Outcome) -> None:
        """Take note of a block."""
        self.last = outcome
        self.epochs += outcome.epochs
        self.certifying += outcome.certifying
        self.intercept[lanes] = outcome.b
        self.proof = self.proof.replaced(lanes, outcome.certificate)
        self.before[lanes] = outcome.certificate.primal
        seen = round(self.epochs * self.rows)
        seconds = self.training.options.seconds()
        self.records.append(Record(self.epochs, seconds, seen, self.proof))
        if outcome.stop_reason in ("interrupted", "callback", "max_time"):
            self.ended = outcome.stop_reason
        if self.reason == "converged":
            self.reason = outcome.stop_reason

    def pruned(
        self, lanes: NDArray[np.intp], problem: Problem, outcome: Outcome, prune: float | None
    ) -> Floats:
        """The weights without small ones; the certificate is then that of the pruned model."""
        W: Floats = outcome.W
        if prune is None:
            return W
        W = np.where(np.abs(W) < prune, 0.0, W)
        W[-1] = outcome.W[-1]  # the intercept stays
        self.kept += int(np.count_nonzero(W[:-1]))
        self.all += W[:-1].size
        padded = np.zeros(problem.weights_shape)
        padded[:, : problem.lanes] = W
        found = certify(problem, padded, outcome.b, lambda lo, hi: outcome.duals[lo:hi])
        assert found is not None  # nothing gives up
        proof, self.intercept[lanes] = found
        self.proof = self.proof.replaced(lanes, proof)
        return W

    def keep(self, weights: Floats) -> None:
        """The weights of the next labels; sparse, if that is smaller."""
        small = np.count_nonzero(weights) < _SPARSE * weights.size
        self.parts.append(sparse.csr_matrix(weights) if small else weights)

    def finish(self, prune: float | None) -> Labels:
        assert self.last is not None
        if all(sparse.issparse(part) for part in self.parts):
            coef: Any = sparse.vstack(self.parts, format="csr")
        else:
            coef = np.vstack([p.toarray() if sparse.issparse(p) else p for p in self.parts])
        pruning = None
        if prune is not None:
            rise = np.divide(
                self.proof.primal - self.before, self.before,
                out=np.zeros_like(self.before), where=self.before > 0,
            )  # fmt: skip
            pruning = Pruning(self.kept / max(1, self.all), self.before, float(rise.max()))
        outcome = Outcome(
            W=np.zeros((0, 0)), b=self.intercept, duals=None, certificate=self.proof,
            history=History(self.records), stop_reason=self.ended or self.reason,
            seconds=self.training.options.seconds(), epochs=self.epochs, solver=self.last.solver,
            reason=self.last.reason, certifying=self.certifying,
        )  # fmt: skip
        return Labels(coef, outcome, pruning)


def _signs(indicator: Any, lanes: NDArray[np.intp]) -> NDArray[np.int8]:
    columns = indicator[:, lanes[0] : lanes[-1] + 1]
    signs = np.full(columns.shape, -1, dtype=np.int8)
    signs[columns.nonzero() if sparse.issparse(columns) else np.asarray(columns) != 0] = 1
    return signs


def _weights(
    labels: NDArray[np.int8], class_weight: Any, sample_weight: Floats | None
) -> tuple[Floats, Floats]:
    """The weights of rows with and without each label; a dict weighs 1 and 0."""
    if class_weight is None:
        return np.ones(labels.shape[1]), np.ones(labels.shape[1])
    classes = np.array([0, 1])
    codes = (labels > 0).view(np.uint8)
    pairs = np.array([class_weights(class_weight, classes, own, sample_weight) for own in codes.T])
    return pairs[:, 1].copy(), pairs[:, 0].copy()
