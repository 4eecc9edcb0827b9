"""What the fits of an estimator share, and one function for each way to make lanes of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import threads
from pegasos.certificate import Floats
from pegasos.driver import Callback, Outcome, run
from pegasos.fleet import Member, run_fleet
from pegasos.limits import Limits
from pegasos.problem import Intercept, Loss, Problem, make_problem
from pegasos.solvers import Choice, InteriorPoint, Solver, choice_of
from pegasos.solvers.auto import TINY_VALUES

# Tiny problems are solved to this by InteriorPoint whatever tol says: it costs milliseconds, and
# results then agree to nearly all digits.
_TINY_TOL = 1e-10


@dataclass(frozen=True)
class Training:
    """How to train, whatever the lanes are."""

    solver: Solver | None  # None: auto
    tol: float
    limits: Limits
    loss: Loss
    intercept: Intercept
    intercept_scaling: float
    C: float | None  # one of C and lam is None
    lam: float | None
    seed: int
    n_jobs: int | None
    callbacks: tuple[Callback, ...]
    began: float

    def problem(
        self,
        X: Any,
        labels: NDArray[np.int8],
        positive: Floats,
        negative: Floats,
        sample_weight: Floats | None,
        n_jobs: int | None = None,
    ) -> Problem:
        """The lanes over X."""
        return make_problem(
            X,
            labels,
            lam=self.lam,
            C=self.C,
            intercept=self.intercept,
            intercept_scaling=self.intercept_scaling,
            sample_weight=sample_weight,
            positive=positive,
            negative=negative,
            loss=self.loss,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
        )

    def plan(self, problem: Problem) -> tuple[Choice, float]:
        """What is to solve the problem, and to what tolerance."""
        choice = choice_of(self.solver, problem, self.tol)
        values = problem.n * problem.rows.row_size * problem.lanes
        tiny = values <= TINY_VALUES and isinstance(choice.solver, InteriorPoint)
        return choice, min(self.tol, _TINY_TOL) if tiny else self.tol

    def run(
        self,
        problem: Problem,
        *,
        scalar: bool = False,
        start_duals: Floats | None = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Outcome:
        """Train the lanes together."""
        choice, tol = self.plan(problem)
        return run(
            problem,
            choice,
            tol=tol,
            limits=self.limits,
            seed=self.seed,
            callbacks=self.callbacks if callbacks is None else callbacks,
            scalar=scalar,
            start_duals=start_duals,
            began=self.began,
        )


def train_pairs(
    training: Training,
    X: Any,
    codes: NDArray[np.intp],
    weights: Floats,
    sample_weight: Floats | None,
    start_duals: Sequence[Floats] | None = None,
) -> Outcome:
    """One-vs-one: a lane for each pair of classes i < j, j positive, over the rows of the two.

    The rows of a pair are copied while it is trained: 2 of ``classes`` parts of X, if classes are
    alike, for each thread.
    """
    members_of = [np.flatnonzero(codes == code) for code in range(weights.size)]
    pairs = list(combinations(range(weights.size), 2))
    total = sum(members_of[i].size + members_of[j].size for i, j in pairs)
    values = X.nnz if hasattr(X, "nnz") else X.size
    cores = threads.resolve(training.n_jobs, values * total / codes.size)
    inner = max(1, cores // len(pairs))

    def member(i: int, j: int) -> Member:
        def make() -> tuple[Problem, Choice, float]:
            rows = np.sort(np.concatenate([members_of[i], members_of[j]]))
            labels = np.where(codes[rows] == j, 1, -1).astype(np.int8)[:, None]
            weight = None if sample_weight is None else sample_weight[rows]
            problem = training.problem(
                X[rows], labels, weights[[j]], weights[[i]], weight, n_jobs=inner
            )
            return problem, *training.plan(problem)

        return make

    counts = np.bincount(codes, None if sample_weight is None else sample_weight[:, 0])
    cost = counts * weights
    return run_fleet(
        [member(i, j) for i, j in pairs],
        features=X.shape[1],
        rows=codes.size,
        untrained=np.array([(cost[i] + cost[j]) / (counts[i] + counts[j]) for i, j in pairs]),
        threads=cores,
        limits=training.limits,
        seed=training.seed,
        callbacks=training.callbacks,
        start_duals=start_duals,
        began=training.began,
    )
