"""SVC by features that approximate the kernel: the linear solvers, on rows made block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.maps import METHODS, FeatureMap, MappedRows, make_map
from pegasos.losses import Hinge
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome
from pegasos.solvers import by_name
from pegasos.solvers.interior import InteriorPoint
from pegasos.solvers.newton import Newton
from pegasos.tasks.options import checked_training
from pegasos.tasks.training import Task, Training, train

_SOLVERS = (InteriorPoint, Newton)


@dataclass(frozen=True)
class Approximation:
    """A map, and how to train on its features."""

    map: FeatureMap
    training: Training
    task: Task  # on the rows themselves

    def fit(self, rows: NDArray[np.intp] | None = None, name: str = "all") -> Outcome:
        """Train on all rows, or on some; ``name`` tells the fits of a checkpoint apart."""
        task = self.task if rows is None else self.task.of_rows(rows)
        return train(self.training.of(name), replace(task, X=MappedRows(task.X, self.map)))

    def held_out(
        self, name: str, train_rows: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Floats | None:
        """Scores of rows by models of others; None if that was stopped."""
        outcome = self.fit(train_rows, name)
        if outcome.stop_reason in ("interrupted", "max_time"):
            return None
        X, n_jobs = self.task.X[test], self.training.n_jobs
        return scores(self.map, X, outcome.W[:-1], outcome.b, n_jobs)


def scores(map: FeatureMap, X: Any, W: Floats, b: Floats, n_jobs: int | None) -> Floats:
    """(n, lanes) of features that a map makes of X, for weights (features, lanes)."""
    return np.asarray(map.scores(X, np.ascontiguousarray(W), n_jobs) + b)


def check_approximation(method: str, size: Any, kernel: Any, solver: Any) -> None:
    """Raise ValueError for options that do not go together."""
    if method not in METHODS:
        raise ValueError(f"approximation must be one of {METHODS}, or None, got {method!r}")
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"n_components must be a whole number from 1 on, got {size!r}")
    if kernel == "precomputed":
        raise ValueError("approximation needs rows and a kernel: kernel='precomputed' has no rows")
    if method == "fourier" and kernel != "rbf":
        raise ValueError(f"approximation='fourier' is for kernel='rbf', got {kernel!r}")
    if solver != "auto" and not isinstance(by_name(solver), _SOLVERS):
        raise ValueError(
            "approximation is trained by solver='auto', 'newton' or 'interior', got " + repr(solver)
        )


def approximation(svc: Any, kernel: Kernel, task: Task, options: RunOptions) -> Approximation:
    """The map of a fit, and its training; ``options`` are those of its run but for its limits."""
    weight = task.sample_weight
    rows = task.X if weight is None else task.X[np.flatnonzero(weight[:, 0] > 0)]
    training = checked_training(
        C=svc.C, lam=None, loss=Hinge(), solver=svc.solver, tol=svc.tol, intercept=svc.intercept,
        fit_intercept=True, intercept_scaling=1.0, multi_class=svc.multi_class,
        max_iter=svc.max_iter, max_time=svc.max_time, seed=options.seed, n_jobs=svc.n_jobs,
        callbacks=options.callbacks, began=0.0,
    )  # fmt: skip
    training = replace(training, options=replace(options, limits=training.options.limits))
    made = make_map(svc.approximation, kernel, rows, svc.n_components, options.seed)
    return Approximation(made, training, task)
