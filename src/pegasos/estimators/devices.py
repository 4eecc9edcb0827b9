"""What the linear estimators do where rows are on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_feature_names

from pegasos.devices import gpu_part, is_tensor
from pegasos.outcome import Outcome
from pegasos.solve import chunk_arrays
from pegasos.tasks.training import Training


def fit_on_device(estimator: Any, training: Training, X: Any, y: Any, sample_weight: Any) -> None:
    """The fit of a ``LinearSVC``."""
    fitting, task = _task(estimator, training, X, y, sample_weight)
    outcome = fitting.train_on_device(training, task)
    estimator._forget(
        "_online", "t_", "_duals", "pruning_", "best_epoch_", "best_validation_score_"
    )
    _store(estimator, X, task, outcome)


def choose_on_device(
    estimator: Any, training: Training, Cs: Any, X: Any, y: Any, sample_weight: Any, limits: Any
) -> None:
    """The fit of a ``LinearSVCCV``."""
    if estimator.scoring not in (None, "accuracy"):
        raise ValueError(f"scoring={estimator.scoring!r}: on a device it is the accuracy")
    if estimator.patience is not None:
        raise ValueError("patience is not offered on a device, where all C are trained together")
    _, task = _task(estimator, training, X, y, sample_weight)
    labels = task.classes[task.codes.cpu().numpy()]
    splitter = check_cv(estimator.cv, labels, classifier=True)
    every = np.arange(labels.size)
    nothing = np.broadcast_to(np.zeros(1), (labels.size, 1))
    folds = [(every[a], every[b]) for a, b in splitter.split(nothing, labels)]
    if not folds:
        raise ValueError("cv yields no folds; a generator can be used only once")
    path_part = gpu_part("path")
    hurried = replace(training, options=replace(training.options, limits=limits))
    path = path_part.cross_validate_on_device(hurried, task, Cs, folds)
    best = estimator._choose(path)
    outcome = None
    if estimator.refit:
        chosen = path_part.with_strength(training, float(path.C[best]))
        outcome = gpu_part("fitting").train_on_device(chosen, task)
    estimator._store_path(path, best)
    _store(estimator, X, task, outcome)


def _task(estimator: Any, training: Training, X: Any, y: Any, weight: Any) -> tuple[Any, Any]:
    X, y, weight = chunk_arrays(X, y, weight, estimator.n_jobs)
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    fitting = gpu_part("fitting")
    task = fitting.device_task(training, X, y, weight, estimator.class_weight, estimator.device)
    return fitting, task


def _store(estimator: Any, X: Any, task: Any, outcome: Outcome | None) -> None:
    estimator.classes_, estimator._pairs, estimator._labels = task.classes, False, None
    estimator.n_features_in_ = task.rows.d
    estimator._forget("calibrators_")
    _check_feature_names(estimator, None if is_tensor(X) else X, reset=True)
    if outcome is not None:
        estimator._store(gpu_part("results").returned_like(X, outcome, None))
