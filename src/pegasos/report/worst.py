"""The rows that a model gets most wrong, and what misled it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.report.about import About
from pegasos.util import sparse

_ROWS = 20
_FEATURES = 6


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


class Worst:
    """The rows with the smallest margins among those seen."""

    def __init__(self) -> None:
        """None seen."""
        self.found: list[Candidate] = []

    def add(
        self,
        start: int,
        margins: Floats,
        true: NDArray[np.intp],
        rival: NDArray[np.intp],
        scores: Floats,  # (n, 1 or 2)
        X: Any,
        text: Sequence[str] | None,
        rows: NDArray[np.intp],
    ) -> None:
        """Look at ``rows`` of a block that starts at row ``start``; the arrays are of those."""
        if len(self.found) == _ROWS:
            some = np.flatnonzero(margins < self.found[-1].margin)
        else:
            some = np.arange(margins.size)
        if some.size > _ROWS:
            some = some[np.argpartition(margins[some], _ROWS)[:_ROWS]]
        new = [
            Candidate(
                float(margins[at]), start + int(rows[at]), int(true[at]), int(rival[at]),
                tuple(scores[at].tolist()), None if X is None else X[[int(rows[at])]],
                None if text is None else str(text[int(rows[at])]),
            )
            for at in some
        ]  # fmt: skip
        ordered = sorted(self.found + new, key=lambda one: (one.margin, one.row))
        self.found = ordered[:_ROWS]


@dataclass(frozen=True)
class Spoke:
    """A feature of a row, and how much it spoke for the wrong class; None: its value alone."""

    name: str
    value: float
    weight: float | None


def misled(about: About, one: Candidate) -> list[Spoke]:
    """The features of a row that spoke most for the rival; without weights the largest values."""
    if one.x is None:
        return []
    if sparse.issparse(one.x):
        row = one.x.tocsr()
        at, values = np.asarray(row.indices), np.asarray(row.data, dtype=np.float64)
    else:
        values = np.asarray(one.x, dtype=np.float64).ravel()
        at = np.flatnonzero(values)
        values = values[at]
    inside = at < about.features
    at, values = at[inside], values[inside]
    if about.coef is None:
        order = np.argsort(-np.abs(values), kind="stable")[:_FEATURES]
        return [Spoke(about.feature(int(at[k])), float(values[k]), None) for k in order]
    if about.labels:
        weights = about.weights(one.true) * (-1 if one.rival else 1)
    else:
        weights = about.direction(one.true, one.rival)
    spoke = values * weights[at]
    order = np.argsort(-spoke, kind="stable")[:_FEATURES]
    return [
        Spoke(about.feature(int(at[k])), float(values[k]), float(spoke[k]))
        for k in order
        if spoke[k] > 0
    ]
