"""The losses: what a row loses by its margin, and what its dual adds to the bound.

A row's slack is m = o - y f, with f = w.x + b, its side y, and its offset o: 1 for classes. The
loss phi(m) is the maximum over a of g(a) - a y f, where g is the dual's part in D:

    g(a) = o a - kappa a^2 / 2   on a box [0, most]

    Hinge           c max(0, m)      kappa = 0         most = c
    SquaredHinge    c max(0, m)^2    kappa = 1 / 2c    most = inf

Solvers ask what a loss is, never which. The same formulas, row by row, are in
core/include/pegasos/loss.hpp.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hinge", "Loss", "SquaredHinge", "named"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss(ABC):
    """A loss of one row; ``costs`` are c, of any shape."""

    name: ClassVar[str]  # that of the core, too
    curved: ClassVar[bool]
    """kappa > 0: the loss has no kink, and a row that costs nothing has no dual."""
    bounded: ClassVar[bool]
    """Whether the box has an upper bound."""

    def __str__(self) -> str:
        """Its name."""
        return self.name

    @abstractmethod
    def value(self, slack: Any, costs: Any) -> Any:
        """phi(slack)."""

    @abstractmethod
    def largest_duals(self, costs: Floats) -> Floats:
        """The upper end of the box."""

    @abstractmethod
    def inner_duals(self, costs: Floats, unit: float) -> Floats:
        """Duals well inside the box, of rows with slacks of the size of ``unit``."""

    @abstractmethod
    def rounded_duals(self, slack: Floats, costs: Floats, width: float) -> Floats:
        """phi'(slack), a kink rounded off within ``width``; they take the place of the costs."""

    # Of a loss without curvature:
    def squares(self, duals: Floats, costs: Floats) -> Floats:  # noqa: ARG002
        """kappa a^2 / 2: what the curvature takes off D."""
        return np.zeros_like(duals)

    def bent(self, changes: Floats, costs: Floats) -> Floats:  # noqa: ARG002
        """kappa times changes of duals."""
        return np.zeros_like(changes)

    def mean_curvature(self, rows: Any, cost: Any) -> Any:  # noqa: ARG002
        """kappa of a row of the mean cost, of so many rows with this sum of costs."""
        return 0.0


@dataclass(frozen=True)
class Hinge(Loss):
    """c max(0, m): the SVM of Cortes and Vapnik."""

    name: ClassVar[str] = "hinge"
    curved: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    def value(self, slack: Any, costs: Any) -> Any:
        """c max(0, m)."""
        return costs * np.maximum(slack, 0.0)

    def largest_duals(self, costs: Floats) -> Floats:
        """c."""
        return costs

    def inner_duals(self, costs: Floats, unit: float) -> Floats:  # noqa: ARG002
        """c / 2."""
        return costs / 2

    def rounded_duals(self, slack: Floats, costs: Floats, width: float) -> Floats:
        """c, times the share of the way from -width to width."""
        share = slack * (0.5 / width)
        share += 0.5
        costs *= np.clip(share, 0.0, 1.0, out=share)
        return costs


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """c max(0, m)^2: smooth, and its duals have no upper bound."""

    name: ClassVar[str] = "squared_hinge"
    curved: ClassVar[bool] = True
    bounded: ClassVar[bool] = False

    def value(self, slack: Any, costs: Any) -> Any:
        """c max(0, m)^2."""
        return costs * np.maximum(slack, 0.0) ** 2

    def largest_duals(self, costs: Floats) -> Floats:
        """Infinite; 0 of a row that costs nothing."""
        return np.where(costs > 0, np.inf, costs)

    def inner_duals(self, costs: Floats, unit: float) -> Floats:
        """Those of a quarter of the unit."""
        return costs / 2 * unit

    def squares(self, duals: Floats, costs: Floats) -> Floats:
        """a^2 / 4c."""
        out = np.zeros_like(duals)
        return np.asarray(np.divide(duals * duals, 4 * costs, out=out, where=duals > 0))

    def bent(self, changes: Floats, costs: Floats) -> Floats:
        """Over 2c."""
        out = np.zeros_like(changes)
        return np.asarray(np.divide(changes, 2 * costs, out=out, where=costs > 0))

    def mean_curvature(self, rows: Any, cost: Any) -> Any:
        """1 / 2c."""
        return rows / (2 * cost)

    def rounded_duals(self, slack: Floats, costs: Floats, width: float) -> Floats:  # noqa: ARG002
        """2 c max(0, m): there is no kink."""
        costs *= 2
        costs *= np.maximum(slack, 0.0)
        return costs


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Hinge, SquaredHinge)}
"""What ``loss="..."`` may say."""


def named(loss: str | Loss) -> Loss:
    """The loss of that name; a loss is returned as it is."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        names = " or ".join(map(repr, LOSSES))
        raise ValueError(f"loss must be {names}, or one of pegasos.losses, got {loss!r}")
    return LOSSES[loss]()
