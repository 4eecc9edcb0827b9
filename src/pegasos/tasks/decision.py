"""Scores of rows, and the classes they stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import rows
from pegasos.certificate import Floats
from pegasos.util import sparse

_BLOCK_BYTES = 1 << 24  # float64 bytes of X, or of scores, at a time


def products(X: Any, coef: Any, intercept: Floats) -> Floats:
    """X @ coef.T + intercept in float64, converting X a block of rows at a time."""
    if sparse.issparse(X) and not sparse.issparse(coef):
        return np.add(rows.products(X, coef), intercept)
    transposed = coef.T
    if sparse.issparse(coef):
        scores = X @ transposed
        scores = scores.toarray() if sparse.issparse(scores) else np.asarray(scores)
        return scores.astype(np.float64, copy=False) + intercept
    out = np.empty((X.shape[0], coef.shape[0]))
    for lo, hi in _row_blocks(X.shape[0], X.shape[1]):
        np.matmul(X[lo:hi], transposed, out=out[lo:hi])
    out += intercept
    return out


def decision(X: Any, coef: Any, intercept: Floats, classes: int, pairs: bool) -> Floats:
    """The scores of classes, or of labels: those of the lanes, or the votes of pairs."""
    if pairs and classes > 2:
        return from_scores(X, coef, intercept, classes, partial(counted_votes, classes=classes))
    return products(X, coef, intercept)


def from_scores(
    X: Any, coef: Any, intercept: Floats, columns: int, made: Callable[[Floats], Floats]
) -> Floats:
    """(n, columns) of what is made of scores (m, lanes), a block of rows at a time."""
    out = np.empty((X.shape[0], columns))
    for lo, hi in _row_blocks(X.shape[0], max(columns, coef.shape[0])):
        out[lo:hi] = made(products(X[lo:hi], coef, intercept))
    return out


def _row_blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Ranges of rows with some megabytes of ``columns`` float64 values each."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, columns)))
    return [(lo, min(rows, lo + step)) for lo in range(0, rows, step)]


def chosen(scores: Floats) -> NDArray[np.intp]:
    """The place of the class that scores mean: of (n,) by the sign, of (n, classes) the largest."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def voted(scores: Floats, classes: int) -> NDArray[np.intp]:
    """The place of the class that most pairs vote for, of scores (n, pairs)."""
    return chosen(counted_votes(scores, classes))


def counted_votes(scores: Floats, classes: int) -> Floats:
    """(n, classes): votes of the pairs i < j, by their scores (n, pairs).

    A pair with a positive score votes for j, else for i. The sum of a class's scores, squeezed to
    less than half a vote in size, is added to its votes.
    """
    out, confidence = np.zeros((2, scores.shape[0], classes))
    for column, (i, j) in zip(scores.T, combinations(range(classes), 2), strict=True):
        for_j = column > 0
        out[:, j] += for_j
        out[:, i] += ~for_j
        confidence[:, j] += column
        confidence[:, i] -= column
    out += confidence / (3 * (np.abs(confidence) + 1))
    return out
