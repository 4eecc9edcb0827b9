"""Reports of estimators: what they are, and what they say of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from pegasos.estimators.base import LinearClassifier
from pegasos.estimators.stored import to_model
from pegasos.report import About, Report, Rows, Scored, about_model, make
from pegasos.util.arguments import check_sample_weight
from pegasos.util.checksums import of_arrays
from pegasos.util.devices import is_device_array, is_tensor, to_host
from pegasos.wording import class_name


def report_of(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
) -> Report:
    """The page about a fitted classifier on rows with labels."""
    check_is_fitted(estimator, "classes_")
    if hasattr(X, "__dask_graph__"):
        raise TypeError("X is a Dask collection: a report takes rows in memory, X.compute()")
    linear = isinstance(estimator, LinearClassifier)
    names = _names(estimator, feature_names)
    if linear:
        kind = type(estimator).__name__
        about = about_model(to_model(estimator), kind=kind, names=names, first=0)
    else:
        about = _kernel(estimator, names)
    scores = to_host(estimator.decision_function(X)) if linear else estimator._class_scores(X)
    probabilities = to_host(estimator.predict_proba(X)) if about.calibrated else None
    rows, y = _plain(X), to_host(y)
    y = y if hasattr(y, "shape") else np.asarray(y)
    check_consistent_length(rows, y)
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, rows.shape[0])[:, 0]
    scored = Scored(about)
    # The columns of a kernel matrix are rows: they say nothing here.
    shown = None if not linear and estimator.kernel == "precomputed" else rows
    scored.add(scores, y, weight=weight, probabilities=probabilities, X=shown)
    about_rows = Rows(digest=f"CRC-32 {of_arrays(rows, y):08x}, rows and labels")
    return make(scored, about_rows, title or f"{about.kind} on {scored.rows:,} rows")


def _names(estimator: Any, given: Sequence[str] | None) -> list[str] | None:
    """Of the features: those given, or those of the data frame that was fitted."""
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
        return None if given is None else [str(name) for name in given]
    names = [str(name) for name in given]
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"feature_names has {len(names)} names, the model {estimator.n_features_in_} features"
        )
    return names


def _kernel(estimator: Any, names: list[str] | None) -> About:
    training = {"stop_reason": estimator.stop_reason_, "steps": int(np.max(estimator.n_iter_))}
    if hasattr(estimator, "n_support_"):
        training["support_vectors"] = int(np.sum(estimator.n_support_))
    return About(
        kind=type(estimator).__name__,
        classes=[class_name(value) for value in estimator.classes_],
        scheme="ovo" if estimator._pairs else "ovr", parameters=estimator.get_params(deep=False),
        training=training, certificate=estimator.certificate_,
        certificate_of=estimator.certificate_of_, history=estimator.history_.kept(),
        features=int(estimator.n_features_in_), names=names, first=0,
        calibrated=estimator._calibrators is not None,
    )  # fmt: skip


def _plain(X: Any) -> Any:
    """Rows as an array or CSR."""
    X = to_host(X) if is_device_array(X) or is_tensor(X) else X
    return check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
