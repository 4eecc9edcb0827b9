"""What the fits of an estimator share, and one function for each way to make lanes of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.crammer_singer import as_joint
from pegasos.losses import Loss
from pegasos.problem import Intercept, Problem, make_problem
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome
from pegasos.run.side_by_side import Members, run_any, run_columns
from pegasos.sites.placed import Folds, HeldOut, Placed
from pegasos.solve import saved_options
from pegasos.solvers import Choice, CrammerSinger, InteriorPoint, Solver, choice_of
from pegasos.solvers.auto import TINY_VALUES
from pegasos.tasks.decision import products
from pegasos.tasks.lanes import ClassLanes, OfClasses, class_weights, one_vs_rest
from pegasos.util import sparse, threads
from pegasos.util.classes import Codes

# Tiny problems are solved to this by InteriorPoint whatever tol says: it costs milliseconds, and
# results then agree to nearly all digits.
_TINY_TOL = 1e-10


@dataclass(frozen=True, kw_only=True)
class Training:
    """How to train, whatever the lanes are."""

    solver: Solver | None  # None: auto
    loss: Loss
    intercept: Intercept
    intercept_scaling: float
    C: float | None  # one of C and lam is None
    lam: float | None
    n_jobs: int | None
    options: RunOptions
    announce: Callable[[Problem, Choice], None] | None = None  # told of every plan

    def of(self, name: str) -> Training:
        """The same for one run of several: it has a part of the checkpoint by itself."""
        return replace(self, options=self.options.of(name))

    def for_strength(self, strength: float) -> Training:
        """With so many times the C."""
        if self.lam is not None:
            return replace(self, lam=self.lam / strength)
        return replace(self, C=None if self.C is None else self.C * strength)

    def saved(
        self,
        stack: ExitStack,
        saving: Saving,
        data: tuple[Any, Any, Any],
        parameters: dict[str, Any],
        *,
        drawn: bool = False,
        command: dict[str, Any] | None = None,
    ) -> Training:
        """The same with its checkpoint (``solve.saved_options``); ``parameters`` are the others."""
        own = {
            "C": self.C, "lam": self.lam, "loss": self.loss.name, "solver": self.solver or "auto",
            "intercept": self.intercept, "intercept_scaling": self.intercept_scaling,
        }  # fmt: skip
        options = saved_options(
            stack, saving, self.options, (*data, self.n_jobs), own | parameters, drawn=drawn,
            command=command,
        )  # fmt: skip
        return replace(self, options=options)

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
            X, labels, lam=self.lam, C=self.C, intercept=self.intercept,
            intercept_scaling=self.intercept_scaling, sample_weight=sample_weight,
            positive=positive, negative=negative, loss=self.loss,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
        )  # fmt: skip

    def plan(self, problem: Problem) -> tuple[Choice, float]:
        """What is to solve the problem, and to what tolerance."""
        tol = self.options.tol
        if problem.joint:
            choice = Choice(CrammerSinger(), "all classes are one problem")
        else:
            choice = choice_of(self.solver, problem, tol)
        if self.announce is not None:
            self.announce(problem, choice)
        values = problem.n * problem.rows.row_size * problem.lanes
        tiny = values <= TINY_VALUES and isinstance(choice.solver, InteriorPoint)
        tiny &= problem.site.here  # elsewhere passes take milliseconds each
        return choice, min(tol, _TINY_TOL) if tiny else tol

    def run(self, problem: Problem, options: RunOptions | None = None) -> Outcome:
        """Train the lanes; with other options, if there are any."""
        return run_any(problem, self.plan, self.solver, options or self.options)


@dataclass(frozen=True)
class Task(OfClasses):
    """What is to be learned: rows in memory or on disk, and the class of each."""

    X: Any
    classes: NDArray[Any]
    codes: Codes  # (n,) into classes
    sample_weight: Floats | None  # (n, 1)
    class_weight: Any
    multi_class: str

    @property
    def features(self) -> int:
        """Columns of X."""
        return int(self.X.shape[1])

    @property
    def values(self) -> int:
        """Stored values of X."""
        return int(self.X.nnz if sparse.issparse(self.X) else self.X.size)

    @property
    def total_weight(self) -> float:
        """The sum of the sample weights."""
        weight = self.sample_weight
        return float(self.codes.size if weight is None else weight.sum())

    @cached_property
    def rows_of(self) -> list[NDArray[np.intp]]:
        """The rows of each class."""
        order = np.argsort(self.codes, kind="stable")
        counts = np.bincount(self.codes, minlength=self.classes.size)
        return np.split(order, np.cumsum(counts)[:-1])

    @cached_property
    def class_weights(self) -> Floats:
        """The weight of each class, as it is in all rows."""
        return class_weights(self.class_weight, self.classes, self.codes, self.sample_weight)

    def rows_of_pair(self, i: int, j: int) -> NDArray[np.intp]:
        """Those of two classes, in order."""
        return np.sort(np.concatenate([self.rows_of[i], self.rows_of[j]]))

    def of_rows(self, rows: NDArray[np.intp]) -> Task:
        """The task of some of the rows, which are copied."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, X=self.X[rows], codes=self.codes[rows], sample_weight=weight)

    def of_pair(self, i: int, j: int) -> Task:
        """The task of two classes, which weigh as they do in all rows."""
        pair, classes = self.of_rows(self.rows_of_pair(i, j)), self.classes[[i, j]]
        weights = dict(zip(classes.tolist(), self.class_weights[[i, j]].tolist(), strict=True))
        codes = (pair.codes == j).view(np.uint8)
        return replace(pair, classes=classes, codes=codes, class_weight=weights)

    def problem(self, training: Training, n_jobs: int | None = None) -> Problem:
        """Its lanes over all rows, but for pairs; or all classes as one."""
        problem = self.of_lanes(training, one_vs_rest(self.class_weights), n_jobs)
        return as_joint(problem) if self.joint else problem

    def of_lanes(self, training: Training, lanes: ClassLanes, n_jobs: int | None = None) -> Problem:
        """These lanes over all rows."""
        labels, weight = lanes.labels(self.codes), self.sample_weight
        return training.problem(self.X, labels, lanes.positive, lanes.negative, weight, n_jobs)

    def held_out(self, folds: Folds, coefs: Floats, intercepts: Floats) -> HeldOut:
        """The scores of rows that folds hold out, by the models (folds, lanes, d) of those."""
        assert isinstance(folds, list)
        rows = np.concatenate([test for _, test in folds])
        scores = [
            products(self.X[test], coef, intercept)
            for (_, test), coef, intercept in zip(folds, coefs, intercepts, strict=True)
        ]
        weight = None if self.sample_weight is None else self.sample_weight[rows, 0]
        return np.concatenate(scores), self.codes[rows], weight


@dataclass(frozen=True)
class PlacedTask(OfClasses):
    """What is to be learned where rows are elsewhere: pairs are lanes as classes are."""

    rows: Placed
    class_weight: Any
    multi_class: str

    @property
    def classes(self) -> NDArray[Any]:  # type: ignore[override]
        """All of them, in order."""
        return self.rows.classes

    @property
    def features(self) -> int:
        """Columns of X."""
        return self.rows.features

    @property
    def codes(self) -> Codes | None:
        """(n,) into the classes; None where labels do not come here."""
        return self.rows.codes

    @property
    def error(self) -> Exception | None:
        """What ended the place where the rows are."""
        return self.rows.error

    def returned(self, outcome: Outcome) -> Outcome:
        """A model as arrays like those that the rows came in."""
        return self.rows.returned(outcome)

    def weights(self, totals: Floats) -> Floats:
        """The weight of each class, of which the rows weigh so much."""
        every = np.arange(self.classes.size)
        return class_weights(self.class_weight, self.classes, every, totals)

    def problem(self, training: Training) -> Problem:
        """Its lanes over all rows."""
        lanes = self.table(self.weights(self.rows.totals))
        return self.rows.problem(training, lanes, C=training.C)

    def held_out(self, folds: Folds, coefs: Floats, intercepts: Floats) -> HeldOut:
        """The scores of rows that folds hold out, by the models (folds, lanes, d) of those."""
        return self.rows.in_folds(folds).held_out(coefs, intercepts)


AnyTask = Task | PlacedTask


def train(
    training: Training, task: AnyTask, start_duals: Sequence[Floats] | None = None
) -> Outcome:
    """Train all lanes of a task; ``start_duals`` has an entry for each pair, or one for all."""
    if task.pairs and isinstance(task, Task):
        return _train_pairs(training, task, start_duals)
    options = replace(
        training.options,
        scalar=task.binary or task.joint,
        start_duals=None if start_duals is None else start_duals[0],
    )
    return training.run(task.problem(training.for_strength(task.strength)), options)


def _train_pairs(training: Training, task: Task, start_duals: Sequence[Floats] | None) -> Outcome:
    """One-vs-one: a lane for each pair of classes i < j, j positive, over the rows of the two.

    The rows of a pair are copied while it is trained: 2 of ``classes`` parts of X, if classes are
    alike, for each thread.
    """
    weights, pairs = task.class_weights, task.pairs
    cores = pair_threads(training, task)
    inner = max(1, cores // len(pairs))

    def make(i: int, j: int) -> tuple[Problem, Choice, float]:
        problem = task.of_pair(i, j).problem(training, inner)
        return problem, *training.plan(problem)

    weight = None if task.sample_weight is None else task.sample_weight[:, 0]
    counts = np.bincount(task.codes, weight)
    cost = counts * weights
    members = Members(
        make=[partial(make, i, j) for i, j in pairs],
        rows=task.codes.size,
        untrained=np.array([(cost[i] + cost[j]) / (counts[i] + counts[j]) for i, j in pairs]),
        threads=cores,
        start_duals=start_duals,
    )
    return run_columns(members, task.X.shape[1], training.options)


def pair_threads(training: Training, task: Task) -> int:
    """Threads for all pairs: each row is in all pairs of its class."""
    return threads.resolve(training.n_jobs, task.values * (task.classes.size - 1))


def not_proven(certificate: Certificate, stop_reason: str, tol: float) -> str:
    """What to tell the user of a fit that ended before its proof."""
    gap = cast(float, np.max(certificate.relative_gap))
    if np.isinf(gap):
        known = "nothing is proven about it yet"
    elif gap > 1:
        known = f"its objective is proven to be at most {1 + gap:.3g} times the optimum"
    else:
        known = f"the model is proven to be within {gap:.2%} of it"
    text = (
        f"The fit stopped ({stop_reason}) before its objective was proven to be within "
        f"tol={tol:g} of the optimum: {known}."
    )
    if gap <= tol:
        return text + " Rounding errors could be as large as tol: scale the features."
    if stop_reason == "precision":
        text += " More is not to be had in float64: scale the features, or lower C."
    if stop_reason in ("max_epochs", "max_steps", "max_time"):
        text += " Raise max_iter or max_time, scale the features, or lower C."
    return text
