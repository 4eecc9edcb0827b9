"""LIBSVM's layout of models: support vectors by class, and the coefficients of all lanes in it.

Of pairs, a support vector of class i has one coefficient for each other class: row j - 1 for j > i,
row j for j < i, positive where it speaks for the first class of the pair. Two classes are shown as
scikit-learn does, positive for the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.kernel.tasks import Lane, Trained
from pegasos.util.classes import Codes


@dataclass(frozen=True)
class Layout:
    """scikit-learn's attributes without their underscores."""

    support: NDArray[np.int32]
    n_support: NDArray[np.int32]
    dual_coef: Floats
    intercept: Floats


def layout(lanes: Sequence[Lane], trained: Trained, codes: Codes, count: int) -> Layout:
    """The models of lanes, laid out."""
    pairs = lanes[0].pair is not None
    dense = np.zeros((count - 1 if pairs else count, codes.size))
    for k, (lane, coef) in enumerate(zip(lanes, trained.coefs, strict=True)):
        if lane.pair is None:
            dense[k, lane.rows] = coef
            continue
        (i, j), first = lane.pair, lane.signs < 0
        dense[j - 1, lane.rows[first]] = -coef[first]
        dense[i, lane.rows[~first]] = -coef[~first]
    found = np.flatnonzero(dense.any(axis=0))
    support = found[np.argsort(codes[found], kind="stable")].astype(np.int32)
    shown = dense[:, support]
    return Layout(
        support,
        np.bincount(codes[support], minlength=count).astype(np.int32),
        -shown if count == 2 else shown,
        sign_of(pairs, count) * trained.b,
    )


def lane_coef(
    dual_coef: Floats, n_support: NDArray[np.int32], pairs: Sequence[tuple[int, int]]
) -> Floats:
    """(support vectors, lanes), positive for the second class of a pair, or for the class."""
    if not pairs:
        return dual_coef.T
    sign = sign_of(True, n_support.size)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    coef = np.zeros((dual_coef.shape[1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        coef[of_i, k] = sign * dual_coef[j - 1, of_i]
        coef[of_j, k] = sign * dual_coef[i, of_j]
    return coef


def sign_of(pairs: bool, count: int) -> float:
    """Between what is shown and scores that are positive for the second class."""
    return -1.0 if pairs and count > 2 else 1.0
