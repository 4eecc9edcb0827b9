"""Models as scikit-learn's own classes, for places that have scikit-learn only."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.export.folding import ExportError, without_steps
from pegasos.model.linear import LinearModel


def as_sklearn(model: LinearModel) -> Any:
    """A fitted estimator of scikit-learn that predicts the same.

    ``sklearn.svm.LinearSVC``; of pairs of classes a ``OneVsOneClassifier`` of them. Labels have no
    such class, and probabilities are left behind.
    """
    model = without_steps(model)
    if model.scheme == "labels":
        raise ExportError(
            "scikit-learn's LinearSVC predicts classes, not labels: export each label by itself"
        )
    if model.scheme == "ovo" and model.classes.size > 2:
        from sklearn.multiclass import OneVsOneClassifier

        parts = [  # pairs come in the same order there
            _one(model, model.coef[k : k + 1], model.intercept[k : k + 1], np.arange(2))
            for k in range(model.lanes)
        ]
        fitted = OneVsOneClassifier(parts[0])
        fitted.estimators_, fitted.classes_ = parts, model.classes
        fitted.pairwise_indices_, fitted.n_features_in_ = None, model.features
    else:
        fitted = _one(model, model.coef, np.asarray(model.intercept), model.classes)
    if model.feature_names is not None:  # the parts of a classifier see rows that have none
        fitted.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return fitted


def _one(model: LinearModel, coef: Any, intercept: Any, classes: Any) -> Any:
    from sklearn.svm import LinearSVC

    given = model.parameters
    joint = model.scheme == "crammer_singer"
    fitted = LinearSVC(
        loss=given.get("loss", "hinge"),
        multi_class="crammer_singer" if joint else "ovr",
        fit_intercept=bool(intercept.any()),
        **{name: given[name] for name in ("C", "tol") if given.get(name) is not None},
    )
    if coef.shape[0] == 2 and classes.size == 2:  # two vectors for two classes: their difference
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    fitted.coef_, fitted.intercept_, fitted.classes_ = coef, intercept, classes
    fitted.n_features_in_ = model.features
    fitted.n_iter_ = int(model.training.get("n_iter", 0))
    return fitted
