"""A path over C in memory or on disk: every fold is trained along it, each C from the last one.

A unit of work is one C of one key: a fold, or for one-vs-one a pair of classes with all its folds.
Keys go side by side, each along C; a fold is scored as soon as its last lane is trained. Rows
of other folds are masked, so folds need no copies of X to train on.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.crammer_singer import as_joint
from pegasos.problem import Problem
from pegasos.run.history import Record, asked_to_stop
from pegasos.run.interrupt import Interruption
from pegasos.run.outcome import Outcome
from pegasos.run.side_by_side import in_chains
from pegasos.tasks.lanes import class_weights, one_vs_rest
from pegasos.tasks.path import Path, Walk
from pegasos.tasks.training import Task, pair_threads
from pegasos.util import threads
from pegasos.util.classes import Codes


class Apart:
    """Trains and scores every fold at every C, a run for each."""

    interruption: Interruption

    def __init__(self, walk: Walk, task: Task) -> None:
        """Nothing is trained yet."""
        assert isinstance(walk.folds, list)
        self.training, self.task, self.Cs, self.folds = walk.training, task, walk.Cs, walk.folds
        self.score, self.patience, self.path = walk.score, walk.patience, walk.path()
        self.keys: list[Any] = task.pairs or list(range(len(self.folds)))
        if task.pairs:
            total = pair_threads(self.training, task)
        else:
            work = task.values * task.lanes * len(self.folds)
            total = threads.resolve(self.training.n_jobs, work)
        self.workers = min(total, len(self.keys))
        self.inner = max(1, total // len(self.keys))
        self.first_hopeless = int(self.Cs.size)
        self.asked = False
        self.duals: dict[tuple[Any, int], Floats] = {}
        self.done = [[threading.Event() for _ in self.keys] for _ in self.Cs]
        self.lock = threading.Lock()
        self.waiting = np.full(self.path.scores.shape, len(task.pairs) or 1)
        self.models: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self.problems: dict[Any, Problem] = {}
        if not task.pairs:
            self.base = self._base(task, total)  # X is looked at once

    def run(self) -> Path:
        """The path, as far as a limit lets it go."""
        # What looks at all folds of a C, or may end the path there, wants none far ahead; and
        # models of pairs take memory until the last pair is there.
        options = self.training.options
        may_end = options.limits.max_time is not None or bool(options.callbacks)
        in_step = self.patience is not None or may_end or bool(self.task.pairs)
        count, steps = len(self.keys), int(self.Cs.size)
        with Interruption() as self.interruption:
            in_chains(count, steps, self.unit, self.workers, self.interruption, in_step=in_step)
        ended = None
        if self.asked or self.interruption.requested:
            ended = "callback" if self.asked else "interrupted"
        elif options.late:
            ended = "max_time"
        return replace(self.path, ended=ended)

    def _base(self, task: Task, jobs: int) -> Problem:
        """All lanes over all rows."""
        training = replace(self.training, C=float(self.Cs[0]), lam=None)
        return task.of_lanes(training, one_vs_rest(np.ones(task.classes.size)), jobs)

    def unit(self, c: int, place: int) -> None:
        """One unit of work, on any thread."""
        key = self.keys[place]
        try:
            late = self.training.options.late or self.interruption.requested
            if not late and not self.hopeless(c):
                self.train_pair(c, key) if self.task.pairs else self.train_fold(c, key)
        except BaseException:
            for later in self.done[c:]:  # nobody is to wait for what will not come
                later[place].set()
            raise
        self.done[c][place].set()

    def hopeless(self, c: int) -> bool:
        """Whether ``patience`` is at its end: decided by the scores of all smaller C but the last.

        The last may still be in the making when the first fold of this one begins.
        """
        if self.patience is None or c <= self.patience + 1:
            return False
        for event in self.done[c - 2]:
            event.wait()
        if c < self.first_hopeless:
            path = self.path.first(c - 1)
            mean, best = path.mean, path.best()
            if (mean[-self.patience :] < mean[best] - path.error[best]).all():
                self.first_hopeless = c
        return c >= self.first_hopeless

    def train_fold(self, c: int, fold: int) -> None:
        """All lanes of a fold."""
        if fold not in self.problems:
            self.problems[fold] = self.masked(self.base, self.task.codes, fold)
        self.train(c, fold, slice(None), self.problems[fold], fold)

    def train_pair(self, c: int, pair: tuple[int, int]) -> None:
        """The lane of a pair, in all folds."""
        task = self.task.of_pair(*pair)
        base = self._base(task, self.inner)
        rows = self.task.rows_of_pair(*pair)
        column = self.task.pairs.index(pair)
        for fold in range(len(self.folds)):
            problem = self.masked(base, task.codes, fold, rows, pair)
            self.train(c, fold, slice(column, column + 1), problem, pair)

    def masked(
        self, base: Problem, codes: Codes, fold: int, rows: Any = slice(None), pair: Any = None
    ) -> Problem:
        """The lanes without the rows that the fold holds out; of some rows, those of a pair."""
        task, train = self.task, self.folds[fold][0]
        held_out = np.ones(task.codes.size, dtype=bool)
        held_out[train] = False
        weight = None if task.sample_weight is None else task.sample_weight[train]
        weights = class_weights(task.class_weight, task.classes, task.codes[train], weight)
        lanes = one_vs_rest(weights if pair is None else weights[list(pair)])
        labels = lanes.labels(codes)
        labels[held_out[rows]] = 0
        problem = base.with_labels(labels, lanes.positive, lanes.negative, self.inner)
        return as_joint(problem) if self.task.joint else problem

    def train(self, c: int, fold: int, lanes: slice, problem: Problem, key: Any) -> None:
        """One C of one fold, for all lanes or one pair; then its score, if it is complete."""
        began, C = time.perf_counter(), float(self.Cs[c])
        W, b = self.models_of(c, fold)
        y = problem.sides()
        sides = (y > 0).any(axis=0), (y < 0).any(axis=0)
        kept = np.flatnonzero(sides[0] & sides[1] | problem.joint)
        columns = np.arange(self.task.lanes)[lanes]
        # A class that the fold holds out whole: nothing speaks for it.
        b[columns] = np.where(sides[0], 1.0, -1.0)
        if kept.size:
            part = problem if kept.size == problem.lanes else problem.take(kept)
            if self.training.lam is not None:
                C = 1 / (self.training.lam * float(part.total_weight[0]))
            outcome = self.fit(part.at(C * self.task.strength), c, (key, fold))
            if outcome.stop_reason in ("interrupted", "callback", "max_time"):
                return  # no score for half a fit
            W[:, columns[kept]], b[columns[kept]] = outcome.W, outcome.b
        with self.lock:
            self.path.prove((c, fold, columns), Certificate(0.0, 0.0, 0.0))
            if kept.size:
                self.path.prove((c, fold, columns[kept]), outcome.certificate)
                self.path.epochs[c, fold] += outcome.epochs
            self.path.seconds[c, fold] += time.perf_counter() - began
            self.waiting[c, fold] -= 1
            complete = self.waiting[c, fold] == 0
        if complete:
            del self.models[c, fold]
            self.path.scores[c, fold] = self.score(fold, W[:-1].T, b) if self.score else 0.0
            self.path.keep((c, fold), W, b)

    def models_of(self, c: int, fold: int) -> tuple[Floats, Floats]:
        """Weights and intercepts, which lanes are put into."""
        with self.lock:
            if (c, fold) not in self.models:
                W = np.zeros((self.task.features + 1, self.task.lanes))
                self.models[c, fold] = W, np.zeros(self.task.lanes)
            return self.models[c, fold]

    def fit(self, problem: Problem, c: int, key: tuple[Any, int]) -> Outcome:
        """Train at C from the duals of the C before."""
        before = self.duals.get(key)
        start, settled = None, False
        if before is not None and before.shape == (problem.n, problem.lanes):
            at_bound = before >= problem.largest_duals()
            if problem.joint:  # the duals of a row belong together
                own = at_bound & (problem.sides() > 0)
                at_bound = np.asarray(own.any(axis=1, keepdims=True))
            settled = bool((at_bound | (before == 0)).all())
            # w = C sum a y x: a dual keeps what it adds to w. Those at a bound want more of it, to
            # what end is not known yet: they go half of the way, unless there are no others.
            ratio = self.Cs[c - 1] / self.Cs[c]
            more = 1.0 if settled else np.sqrt(ratio)
            start = before * np.where(at_bound, more, ratio)
        training = self.training.of(f"{c}-{key[0]}-{key[1]}".replace(" ", ""))
        options = training.options.heard_by(*([self.tell] if training.options.callbacks else []))
        options = replace(
            options,
            keep_duals=True,
            start_duals=start,
            look_first=settled,
            interruption=self.interruption,
        )
        outcome = training.run(problem, options)
        self.duals[key] = outcome.duals
        return outcome

    def tell(self, record: Record) -> bool:
        """Call the callbacks, one at a time."""
        with self.lock:
            stop = asked_to_stop(self.training.options.callbacks, record)
        self.asked |= stop
        self.interruption.requested |= stop
        return stop
