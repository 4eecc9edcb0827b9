"""SVC by features that approximate the kernel: the linear solvers, on rows made block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.driver import Callback, Outcome
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.maps import METHODS, FeatureMap, MappedRows, make_map
from pegasos.solvers import by_name
from pegasos.solvers.interior import InteriorPoint
from pegasos.solvers.newton import Newton
from pegasos.tasks.options import checked_training
from pegasos.tasks.training import Task, Training, not_proven, train

_SOLVERS = (InteriorPoint, Newton)


@dataclass(frozen=True)
class Approximation:
    """A map, and how to train on its features."""

    map: FeatureMap
    training: Training
    task: Task  # on the rows themselves

    def fit(self, rows: NDArray[np.intp] | None = None) -> Outcome:
        """Train on all rows, or on some."""
        task, training = self.task, self.training
        X, codes, weight = task.X, task.codes, task.sample_weight
        if rows is not None:
            X, codes = X[rows], codes[rows]
            weight = None if weight is None else weight[rows]
        return train(
            training,
            Task(
                MappedRows(X, self.map), task.classes, codes, weight, task.class_weight,
                task.multi_class,
            ),
        )  # fmt: skip

    def held_out(self, train_rows: NDArray[np.intp], test: NDArray[np.intp]) -> Floats | None:
        """Scores of rows by models of others; None if that was stopped."""
        outcome = self.fit(train_rows)
        if outcome.stop_reason in ("interrupted", "max_time"):
            return None
        return scores(self.map, self.task.X[test], outcome.W[:-1], outcome.b, self.training.n_jobs)

    def not_proven(self, outcome: Outcome) -> str | None:
        """What to say of a model that is not proven within tol."""
        if np.all(outcome.certificate.proves(self.training.tol)):
            return None
        return not_proven(outcome, self.training.tol)


def scores(map: FeatureMap, X: Any, W: Floats, b: Floats, n_jobs: int | None) -> Floats:
    """(n, lanes)."""
    return np.asarray(map.scores(X, np.ascontiguousarray(W), n_jobs) + b)


def check_approximation(method: str | None, size: Any, kernel: Any, solver: Any) -> None:
    """Raise ValueError for options that do not go together."""
    if method is None:
        return
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


def approximation(
    method: str,
    size: int,
    kernel: Kernel,
    task: Task,
    *,
    seed: int,
    callbacks: tuple[Callback, ...],
    option: Callable[[str], Any],
    began: float,
) -> Approximation:
    """The map of a fit, and its training; ``option`` looks up parameters of the estimator."""
    weight = task.sample_weight
    rows = task.X if weight is None else task.X[np.flatnonzero(weight[:, 0] > 0)]
    training = checked_training(
        C=option("C"),
        lam=None,
        loss="hinge",
        solver=option("solver"),
        tol=option("tol"),
        intercept=option("intercept"),
        fit_intercept=True,
        intercept_scaling=1.0,
        multi_class=option("multi_class"),
        max_iter=option("max_iter"),
        max_time=option("max_time"),
        seed=seed,
        n_jobs=option("n_jobs"),
        callbacks=callbacks,
        began=began,
    )
    return Approximation(make_map(method, kernel, rows, size, seed), training, task)
