"""From what users give to rows that are elsewhere."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_feature_names

from pegasos.solve import chunk_arrays
from pegasos.tasks.offered import check_offered
from pegasos.tasks.training import PlacedTask, Training
from pegasos.util.devices import gpu_part, is_tensor, to_host


def data_on_device(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """X, y and the weights, if the device offers what is asked for."""
    check_offered("device", estimator, None)
    gpu_part("predicting")  # which says what to install
    X, y, weight = chunk_arrays(X, y, weight, estimator.n_jobs)
    check_y(estimator, y)
    if not sparse.issparse(y) and np.ndim(y) == 2:
        y = np.asarray(to_host(y))  # an indicator matrix is taken column by column
    return X, y, weight


def check_y(estimator: Any, y: Any) -> None:
    """Raise ValueError, in the words that scikit-learn wants, if there are no classes."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )


def is_indicator(y: Any) -> bool:
    """Whether y has a column for each label; the type of many classes takes its time to see."""
    if not sparse.issparse(y) and np.ndim(y) != 2:
        return False
    return str(type_of_target(y)) == "multilabel-indicator"


def labels_on_device(estimator: Any, training: Training, X: Any, y: Any, weight: Any) -> Any:
    """The rows of an indicator matrix, on the device."""
    found = _placed().of_labels(training, X, y.shape[1], y.shape[0], weight, estimator.device)
    _know(estimator, X, found)
    return found


def task_on_device(estimator: Any, training: Training, X: Any, y: Any, weight: Any) -> PlacedTask:
    """The rows and their classes, on the device."""
    found = _placed().of_classes(training, X, y, weight, estimator.device)
    _know(estimator, X, found)
    return PlacedTask(found, estimator.class_weight, estimator.multi_class)


def _placed() -> Any:
    return importlib.import_module("pegasos.sites.device.placed")


def _know(estimator: Any, X: Any, rows: Any) -> None:
    """The columns, and their names."""
    estimator.n_features_in_ = rows.features
    _check_feature_names(estimator, None if is_tensor(X) else X, reset=True)
