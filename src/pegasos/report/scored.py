"""Rows that were scored, a block at a time: counts of all of them, scores of as many as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.report import measures
from pegasos.report.about import About
from pegasos.report.measures import PerClass
from pegasos.tasks.decision import chosen
from pegasos.util import sparse
from pegasos.wording import class_name

_MOST_VALUES = 1 << 25  # scores that are kept: 256 MB
_WORST = 20  # rows


@dataclass(frozen=True)
class Candidate:
    """A row near the bottom."""

    margin: float
    row: int  # from 0
    true: int
    rival: int
    scores: tuple[float, ...]  # of the true class and of the rival; of two classes, the one
    x: Any  # the row, by itself
    text: str | None


@dataclass
class Near:
    """Rows of a block by how near they are to being wrong, or how far beyond."""

    rows: NDArray[np.intp]  # in the block; the other arrays are of those
    margin: Floats
    true: NDArray[np.intp]
    rival: NDArray[np.intp]
    scores: Floats  # (n, 1 or 2)


def codes_among(classes: Sequence[str], y: NDArray[Any]) -> NDArray[np.intp]:
    """The places of values among classes by their names, -1 for those that are unknown."""
    known = {name: code for code, name in enumerate(classes)}
    if y.dtype.kind == "O":  # of several types, perhaps, which have no order
        return np.array([known.get(class_name(value), -1) for value in y], dtype=np.intp)
    found, place = np.unique(y, return_inverse=True)
    return np.array([known.get(class_name(v), -1) for v in found], dtype=np.intp)[place]


@dataclass
class Kept:
    """Scores of every so many rows: curves and histograms are drawn of them."""

    scores: Floats
    truth: NDArray[Any]  # codes of classes (n,), or of labels (n, labels) of zeros and ones
    weight: Floats
    probabilities: Floats | None

    def some(self, rows: Any) -> Kept:
        """Some of them."""
        p = self.probabilities
        arrays = (self.scores[rows], self.truth[rows], self.weight[rows])
        return Kept(*arrays, None if p is None else p[rows])

    @property
    def known(self) -> Kept:
        """Those of classes that the model knows."""
        return self.some(self.truth >= 0)


@dataclass
class Scored:
    """What was counted so far; ``add`` takes the next block."""

    about: About
    most: int = _MOST_VALUES
    rows: int = 0
    features: int = 0  # the widest block
    values: int = 0  # stored, of the rows
    weighted: bool = False
    unknown: int = 0  # rows of classes that the model does not know
    right: float = 0.0  # weight of the rows that are right
    total: float = 0.0
    finite: bool = True  # all scores are
    stride: int = 1  # every so many rows are kept
    worst: list[Candidate] = field(default_factory=list)  # the rows with the smallest margins

    def __post_init__(self) -> None:
        """Nothing counted."""
        self.count = len(self.about.classes)
        self.counts = np.zeros((0, 0) if self.about.labels else (self.count, self.count))
        self.labels = PerClass(*np.zeros((3, self.count)))
        self.wrong_labels = 0.0  # weight of single labels that are wrong
        self._parts: list[Kept] = []
        self._size = 0

    def add(
        self,
        scores: Floats,
        y: Any,
        *,
        weight: Floats | None = None,
        probabilities: Floats | None = None,
        X: Any = None,
        text: Sequence[str] | None = None,
        label_names: Any = None,
    ) -> None:
        """Count a block; ``y`` are classes as they are written, or an indicator matrix."""
        n = scores.shape[0]
        self.finite &= bool(np.isfinite(scores).all())
        self.weighted |= weight is not None
        weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64).ravel()
        if X is not None:
            self.features = max(self.features, int(X.shape[1]))
            self.values += int(X.nnz if sparse.issparse(X) else X.size)
        self.total += float(weight.sum())
        if self.about.labels:
            kept, near = self._add_labels(scores.reshape(n, -1), y, weight, label_names)
        else:
            kept, near = self._add_classes(scores, y, weight, probabilities)
        self._note_worst(near, X, text)
        self._keep(kept, np.arange(self.rows, self.rows + n))
        self.rows += n

    def _add_classes(
        self, scores: Floats, y: Any, weight: Floats, probabilities: Any
    ) -> tuple[Kept, Near]:
        if getattr(y, "ndim", 1) == 2:
            raise ValueError("the data have several labels a row, the model has classes")
        if self.about.binary and scores.ndim == 2:
            scores = scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0]
        codes = codes_among(self.about.classes, np.asarray(y))
        said = chosen(scores)
        known = codes >= 0
        self.unknown += int(np.count_nonzero(~known))
        self.right += float(weight[codes == said].sum())
        some = slice(None) if known.all() else known
        truth, own = codes[some], scores[some]
        self.counts += measures.confusion(truth, said[some], weight[some], self.count)
        if own.ndim == 1:
            rival, shown = 1 - truth, own[:, None]
        else:
            rival, best = measures.rivals(own, truth)
            shown = np.column_stack([measures.own(own, truth), best])
        near = Near(np.flatnonzero(known), measures.margins(own, truth), truth, rival, shown)
        return Kept(scores, codes, weight, probabilities), near

    def _add_labels(self, scores: Floats, y: Any, weight: Floats, names: Any) -> tuple[Kept, Near]:
        truth = np.zeros(scores.shape, dtype=bool)
        given = sparse.coo_matrix(y)
        names = range(given.shape[1]) if names is None else names
        columns = codes_among(self.about.classes, np.array(names, dtype=object))
        at, label = given.row[given.data != 0], columns[given.col[given.data != 0]]
        truth[at[label >= 0], label[label >= 0]] = True
        self.unknown += np.unique(at[label < 0]).size
        said = scores > 0
        wrong = (said != truth).any(axis=1)
        wrong[at[label < 0]] = True
        self.right += float(weight[~wrong].sum())
        self.wrong_labels += float(weight @ (said != truth).sum(axis=1))
        sums = vars(self.labels).values()
        for total, part in zip(sums, (truth, said, truth & said), strict=True):
            total += weight @ part
        margin = np.where(truth, scores, -scores)
        rows, worst = np.arange(scores.shape[0]), margin.argmin(axis=1)
        near = Near(
            rows, margin[rows, worst], worst, truth[rows, worst].astype(np.intp),
            scores[rows, worst][:, None],
        )  # fmt: skip
        return Kept(scores, truth, weight, None), near

    def _note_worst(self, near: Near, X: Any, text: Sequence[str] | None) -> None:
        """Remember the rows with the smallest margins."""
        some = np.arange(near.rows.size)
        if len(self.worst) == _WORST:
            some = np.flatnonzero(near.margin < self.worst[-1].margin)
        if some.size > _WORST:
            some = some[np.argpartition(near.margin[some], _WORST)[:_WORST]]
        new = [
            Candidate(
                float(near.margin[at]), self.rows + row, int(near.true[at]), int(near.rival[at]),
                tuple(near.scores[at].tolist()), None if X is None else X[[row]],
                None if text is None else str(text[row]),
            )
            for at, row in zip(some, near.rows[some].tolist(), strict=True)
        ]  # fmt: skip
        self.worst = sorted(self.worst + new, key=lambda one: (one.margin, one.row))[:_WORST]

    def _keep(self, block: Kept, numbers: NDArray[np.intp]) -> None:
        """Every ``stride``-th row; half as many when they would take too much memory."""
        self._parts.append(block.some(numbers % self.stride == 0))
        self._size += self._parts[-1].scores.size
        while self._size > self.most and self.rows + numbers.size > self.stride:
            self.stride *= 2
            self._parts = [self.kept.some(slice(None, None, 2))]
            self._size = self._parts[0].scores.size

    @property
    def kept(self) -> Kept:
        """The rows that were kept."""
        if len(self._parts) > 1:
            self._parts = [_joined(self._parts)]
        return self._parts[0]

    @property
    def accuracy(self) -> float:
        """The share of rows that are right; of labels, in all of them."""
        return self.right / self.total if self.total else float("nan")

    @property
    def per_class(self) -> PerClass:
        """Of classes or labels."""
        return self.labels if self.about.labels else PerClass.of_confusion(self.counts)


def _joined(parts: list[Kept]) -> Kept:
    p = [part.probabilities for part in parts if part.probabilities is not None]
    return Kept(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.truth for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate(p) if len(p) == len(parts) else None,
    )
