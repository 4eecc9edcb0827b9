"""The binary problems that classes become: which class is on which side, and what it weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.util.arguments import number
from pegasos.util.classes import BLOCK_ROWS, Codes, classes_and_codes

if TYPE_CHECKING:
    from pegasos.run.outcome import Outcome

Pairs = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class ClassLanes:
    """Lanes over the rows of classes; wherever the rows are, they are labelled by this table."""

    sides: NDArray[np.int8]  # (classes, K): +1, -1, or 0 where a class is not in the lane
    positive: Floats  # (K,) weight of the rows on each side
    negative: Floats
    fold: NDArray[np.intp] | None = None  # (K,) that a lane holds out; None: it has all rows

    def labels(self, codes: Codes) -> NDArray[np.int8]:
        """(n, K) of rows, folds apart."""
        labels = np.empty((codes.size, self.sides.shape[1]), dtype=np.int8)
        for lo in range(0, codes.size, BLOCK_ROWS):  # an index takes 8 bytes a row
            labels[lo : lo + BLOCK_ROWS] = self.sides[codes[lo : lo + BLOCK_ROWS]]
        return labels


def one_vs_rest(weights: Floats) -> ClassLanes:
    """A lane for each class, against the others; ``weights`` are those of the classes.

    Two classes are one lane with the second class positive. Of more, a lane weighs its own class,
    the rest get 1, as in scikit-learn.
    """
    count = weights.size
    if count == 2:
        return ClassLanes(np.array([[-1], [1]], dtype=np.int8), weights[1:], weights[:1])
    sides = np.full((count, count), -1, dtype=np.int8)
    np.fill_diagonal(sides, 1)
    return ClassLanes(sides, weights, np.ones(count))


def pairs_of(classes: int) -> Pairs:
    """Pairs i < j, in order."""
    return list(combinations(range(classes), 2))


def one_vs_one(weights: Floats) -> ClassLanes:
    """A lane for each pair of classes i < j, positive for j, without the rows of others."""
    pairs = pairs_of(weights.size)
    sides = np.zeros((weights.size, len(pairs)), dtype=np.int8)
    for lane, (i, j) in enumerate(pairs):
        sides[i, lane], sides[j, lane] = -1, 1
    first, second = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    return ClassLanes(sides, weights[second], weights[first])


def in_folds(tables: Sequence[ClassLanes], folds: Sequence[int]) -> ClassLanes:
    """All lanes of several tables, one table after the other, each without the rows of a fold."""
    return ClassLanes(
        np.concatenate([table.sides for table in tables], axis=1),
        np.concatenate([table.positive for table in tables]),
        np.concatenate([table.negative for table in tables]),
        np.repeat(np.array(folds, dtype=np.intp), tables[0].sides.shape[1]),
    )


class OfClasses:
    """What a task of classes is, wherever its rows are."""

    classes: NDArray[Any]
    multi_class: str

    @property
    def error(self) -> Exception | None:
        """What ended the place where the rows are."""
        return None

    def returned(self, outcome: Outcome) -> Outcome:
        """A model as arrays like those that the rows came in."""
        return outcome

    @property
    def pairs(self) -> Pairs:
        """The pairs of classes i < j that have a lane each; none if classes have."""
        if self.multi_class != "ovo" or self.classes.size == 2:
            return []
        return pairs_of(self.classes.size)

    @property
    def lanes(self) -> int:
        """Binary problems."""
        count = int(self.classes.size)
        return len(self.pairs) or (count if count > 2 else 1)

    @property
    def joint(self) -> bool:
        """Whether all classes are one problem; two are the binary one."""
        return self.multi_class == "crammer_singer" and not self.binary

    @property
    def strength(self) -> float:
        """The C of the lanes, in those of the task.

        Crammer & Singer's two classes have w_1 = -w_2 = w/2: half of the binary |w|^2.
        """
        return 2.0 if self.multi_class == "crammer_singer" and self.binary else 1.0

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return int(self.classes.size) == 2

    def table(self, weights: Floats) -> ClassLanes:
        """The lanes, with these weights of the classes."""
        return one_vs_one(weights) if self.pairs else one_vs_rest(weights)


def checked_classes(y: NDArray[Any], sample_weight: Floats | None) -> tuple[NDArray[Any], Codes]:
    """The classes and those of the rows; ValueError if there are none to tell apart."""
    classes, codes = classes_and_codes(y)
    if sample_weight is not None:
        check_classes_weigh(classes, codes, sample_weight)
    if classes.size < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    return classes, codes


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: Codes,
    sample_weight: Floats | None,
) -> Floats:
    """The weight of each class.

    ``"balanced"`` is n / (classes x rows of the class), rows counted by their sample weights, so
    that a weight of 2 is the row twice here too.
    """
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}"
            )
        rows = None if sample_weight is None else np.ravel(sample_weight)
        totals = np.bincount(codes, weights=rows, minlength=classes.size)
        balanced = np.zeros(classes.size)
        np.divide(totals.sum(), classes.size * totals, out=balanced, where=totals > 0)
        return balanced
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
    known = {label: code for code, label in enumerate(classes.tolist())}
    weights = np.ones(classes.size)
    for label, weight in class_weight.items():
        key = label.item() if isinstance(label, np.generic) else label
        if key not in known:
            raise ValueError(f"class_weight names class {label!r}, which is not in y")
        if not (np.isfinite(number(f"class_weight[{label!r}]", weight)) and weight >= 0):
            raise ValueError(
                f"class_weight[{label!r}] must be finite and not negative, got {weight}"
            )
        weights[known[key]] = weight
    return weights


def check_classes_weigh(classes: NDArray[Any], codes: Codes, sample_weight: Floats) -> None:
    """Raise ValueError if a class has examples of weight zero only."""
    totals = np.bincount(codes, weights=sample_weight[:, 0], minlength=classes.size)
    if not totals.all():
        missing = classes[int(np.argmin(totals > 0))]
        raise ValueError(
            f"every example of class {missing!r} has a sample_weight of zero: leave the class out "
            "of y, or weigh it"
        )
