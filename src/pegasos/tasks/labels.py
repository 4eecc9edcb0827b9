"""From classes to lanes: labels and class weights of the binary problems."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos.util.arguments import number
from pegasos.util.classes import Codes, classes_and_codes


def checked_classes(
    y: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> tuple[NDArray[Any], Codes]:
    """The classes and those of the rows; ValueError if there are none to tell apart."""
    classes, codes = classes_and_codes(y)
    if sample_weight is not None:
        check_classes_weigh(classes, codes, sample_weight)
    if classes.size < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    return classes, codes


def pair_sizes(codes: Codes) -> list[int]:
    """The rows of each pair of classes i < j."""
    counts = np.bincount(codes).tolist()
    return [a + b for a, b in combinations(counts, 2)]


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: Codes,
    sample_weight: ArrayLike | None,
) -> NDArray[np.float64]:
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


def check_classes_weigh(
    classes: NDArray[Any], codes: Codes, sample_weight: NDArray[np.float64]
) -> None:
    """Raise ValueError if a class has examples of weight zero only."""
    totals = np.bincount(codes, weights=sample_weight[:, 0], minlength=classes.size)
    if not totals.all():
        missing = classes[int(np.argmin(totals > 0))]
        raise ValueError(
            f"every example of class {missing!r} has a sample_weight of zero: leave the class out "
            "of y, or weigh it"
        )
