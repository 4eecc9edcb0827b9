"""A path over C where rows are elsewhere: fits of many folds are lanes of one run.

A site says how many fits go together. Those that take all folds of a C at once start each C from
the duals of the one before.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.problem import Problem
from pegasos.run.outcome import Outcome
from pegasos.sites.errors import InterruptedSiteError, SiteFailedError
from pegasos.sites.placed import Folds
from pegasos.tasks.decision import voted
from pegasos.tasks.lanes import in_folds
from pegasos.tasks.path import KEPT_BYTES, Path
from pegasos.tasks.training import PlacedTask, Training

_ENDS = ("interrupted", "callback", "max_time", "cluster_failed")

Cell = tuple[int, int]
"""The places of a C and of a fold."""


class Together:
    """Trains every fold at every C, many in a run; scores are accuracies."""

    def __init__(
        self, training: Training, task: PlacedTask, Cs: Floats, folds: Folds, *, keep_models: bool
    ) -> None:
        """Nothing is trained yet."""
        self.task, self.Cs = task, Cs
        self.training = replace(training, options=replace(training.options, scalar=False))
        self.rows = task.rows.in_folds(folds)
        self.count, self.lanes = len(folds), task.lanes
        self.tables = [task.table(task.weights(totals)) for totals in self.rows.fold_totals()]
        shape = (Cs.size, self.count)
        self.scores, (self.epochs, self.seconds) = np.full(shape, np.nan), np.zeros((2, *shape))
        self.proof = Certificate(*np.full((3, *shape, self.lanes), np.nan))
        size = (*shape, self.lanes)
        self.coef: Floats | None = None
        if keep_models or 8 * np.prod(size) * (task.features + 1) <= KEPT_BYTES:
            self.coef = np.zeros((*size, task.features))
        self.intercept = np.zeros(size)
        self.ended: str | None = None
        self.problem: Problem | None = None

    def run(self) -> Path:
        """The path; where the site fails, what was known before, and ``rows.error`` says why."""
        try:
            self.train()
        except InterruptedSiteError:
            self.ended = "interrupted"
        except SiteFailedError:
            self.ended = "cluster_failed"
        return self.path()

    def batches(self) -> list[list[Cell]]:
        """The fits of every run, smaller C first."""
        cells = [(c, fold) for c in range(self.Cs.size) for fold in range(self.count)]
        some = self.rows.together or self.count
        return [cells[lo : lo + some] for lo in range(0, len(cells), some)]

    def train(self) -> None:
        """All of them, or as many as a limit lets."""
        for cells in self.batches():
            if self.training.options.late:
                self.ended = "max_time"
                return
            began = time.perf_counter()
            c, fold = cells[0]
            outcome = self.training.of(f"{c}-{fold}").run(self.lanes_of(cells))
            if outcome.stop_reason in _ENDS or self.rows.error is not None:
                self.ended = "cluster_failed" if self.rows.error else outcome.stop_reason
                return
            self.keep(cells, outcome, began)

    def lanes_of(self, cells: list[Cell]) -> Problem:
        """All lanes of these fits, one fit after the other."""
        Cs = self.Cs[[c for c, _ in cells]]
        if self.rows.together is None and self.problem is not None:
            self.problem = self.rows.at(self.problem, float(Cs[0]))
            return self.problem
        folds = [fold for _, fold in cells]
        lanes = in_folds([self.tables[fold] for fold in folds], folds)
        C = None if self.training.lam is not None else np.repeat(Cs, self.lanes)
        self.problem = self.rows.problem(self.training, lanes, C=C)
        return self.problem

    def keep(self, cells: list[Cell], outcome: Outcome, began: float) -> None:
        """The models of a run, and their scores."""
        choose = partial(voted, classes=self.task.classes.size) if self.task.pairs else None
        folds = [fold for _, fold in cells]
        found = self.rows.accuracies(outcome.W, outcome.b, folds, choose)
        seconds = (time.perf_counter() - began) / len(cells)
        for i, cell in enumerate(cells):
            own = slice(i * self.lanes, (i + 1) * self.lanes)
            self.proof = self.proof.replaced(cell, outcome.certificate.lane(own))
            self.scores[cell], self.epochs[cell] = found[i], outcome.epochs
            self.seconds[cell] = seconds
            self.intercept[cell] = outcome.b[own]
            if self.coef is not None:
                self.coef[cell] = outcome.W[:-1, own].T

    def path(self) -> Path:
        """What is known."""
        return Path(
            C=self.Cs, scores=self.scores, certificate=self.proof, epochs=self.epochs,
            seconds=self.seconds, coef=self.coef,
            intercept=None if self.coef is None else self.intercept, ended=self.ended,
        )  # fmt: skip
