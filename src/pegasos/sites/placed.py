"""Rows with classes and weights at a site where they are not visited one by one.

Tasks ask them for problems, and for what models say of rows that folds hold out. There is a class
of them for each such site, in its folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.problem import Problem

if TYPE_CHECKING:
    from pegasos.run.outcome import Outcome
    from pegasos.tasks.lanes import ClassLanes
    from pegasos.tasks.training import Training

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows to train on, and rows to hold out."""

HeldOut = tuple[Floats, NDArray[np.integer[Any]], Floats | None]
"""Scores (m, lanes) of rows that were held out, their classes and their weights."""

Choose = Callable[[Floats], NDArray[np.intp]]
"""From the scores (n, lanes) of a model to the places of classes."""


@dataclass(frozen=True)
class Dealt:
    """Folds that rows are dealt to at random where they are, within each class."""

    count: int
    seed: int

    def __len__(self) -> int:
        """How many there are."""
        return self.count


Folds = list[Fold] | Dealt


class Placed(ABC):
    """Rows at a site, and the class of each."""

    where: ClassVar[str]  # "on a ..."
    walks: ClassVar[bool] = False  # steps row by row run there, of all lanes together
    together: ClassVar[int | None]  # fits of a path in a run; None: all folds of one C
    classes: NDArray[Any]
    error: Exception | None = None  # why the site cannot go on

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows."""

    @property
    @abstractmethod
    def features(self) -> int:
        """Columns of X."""

    @property
    @abstractmethod
    def totals(self) -> Floats:
        """(classes,) the weight of their rows."""

    @property
    def codes(self) -> NDArray[np.integer[Any]] | None:
        """(n,) into the classes; None where labels do not come here, and folds are dealt there."""
        return None

    @abstractmethod
    def in_folds(self, folds: Folds) -> Self:
        """The same rows, with folds that lanes hold out."""

    @abstractmethod
    def fold_totals(self) -> Floats:
        """(folds, classes) the weight of the rows that each fold trains on."""

    @abstractmethod
    def problem(
        self, training: Training, lanes: ClassLanes, *, C: Floats | float | None
    ) -> Problem:
        """The lanes over the rows; C, if it is not lam that counts, is one or one per lane."""

    def signed(
        self, training: Training, signs: NDArray[np.int8], positive: Floats, negative: Floats
    ) -> Problem:
        """Lanes with labels (n, K) that are here."""
        raise NotImplementedError(f"labels of rows {self.where} are made there")

    def at(self, problem: Problem, C: float) -> Problem:
        """The same lanes at another C, which start from the duals that they have."""
        raise NotImplementedError(f"lanes {self.where} are made anew for every C")

    @abstractmethod
    def accuracies(
        self, W: Floats, b: Floats, folds: Sequence[int], choose: Choose | None
    ) -> Floats:
        """Of models on the rows that folds hold out; their lanes come one model after the other.

        ``choose`` None: the class with the largest score, of two lanes' one its sign.
        """

    @abstractmethod
    def held_out(self, coefs: Floats, intercepts: Floats) -> HeldOut:
        """Scores of the rows that the folds hold out, by a model (lanes, d) of each fold."""

    def returned(self, outcome: Outcome) -> Outcome:
        """With arrays like those that the rows came in."""
        return outcome
