"""as_sklearn: estimators of scikit-learn's own, which need nothing of ours to predict."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import LinearSVC as PeerLinearSVC
from tests.common.models import random_model

from pegasos import LinearSVC, LinearSVCCV, export
from pegasos.export import ExportError


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("count", [2, 4])
def test_predictions_and_scores_are_the_same(scheme, count):
    X, y = make_blobs(200, 5, centers=count, cluster_std=5.0, random_state=0)
    y = np.array(list("dbca"))[y]
    model = LinearSVC(multi_class=scheme, C=0.1).fit(X, y)
    peer = model.as_sklearn()
    assert type(peer) is (OneVsOneClassifier if scheme == "ovo" and count > 2 else PeerLinearSVC)
    np.testing.assert_array_equal(peer.predict(X), model.predict(X))
    np.testing.assert_allclose(peer.decision_function(X), model.decision_function(X), rtol=1e-12)
    sparse = model.sparsify().as_sklearn()
    np.testing.assert_array_equal(sparse.predict(X), model.predict(X))


def test_names_and_parameters_go_along():
    X, y = make_blobs(100, 3, centers=3, cluster_std=5.0, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    for scheme in ("ovr", "ovo"):
        model = LinearSVC(C=0.5, multi_class=scheme).fit(table, y)
        np.testing.assert_array_equal(model.as_sklearn().predict(table), model.predict(table))
    peer = LinearSVCCV(Cs=[0.1, 1.0], cv=2, loss="squared_hinge").fit(X, y).as_sklearn()
    assert peer.C in (0.1, 1.0)
    assert peer.loss == "squared_hinge"


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_of_ours_is_in_it(scheme, classes):
    """So that it can be saved, and used where this library is not installed."""
    X, y = make_blobs(100, 3, centers=classes, cluster_std=5.0, random_state=0)
    seen = []

    def look(value):
        seen.append(type(value).__module__.split(".")[0])
        for part in value if isinstance(value, list | tuple) else vars_of(value):
            look(part)

    look(LinearSVC(multi_class=scheme).fit(X, y).as_sklearn())
    assert "sklearn" in seen
    assert set(seen) <= {"sklearn", "numpy", "builtins"}


def vars_of(value):
    return vars(value).values() if hasattr(value, "__dict__") else ()


def test_what_it_cannot_say_is_named():
    with pytest.raises(ExportError, match="not labels"):
        export.as_sklearn(random_model("labels", 3))
    model = random_model("crammer_singer", 2)
    two = replace(model, coef=np.vstack([-model.coef, model.coef]), intercept=np.array([1.0, 2.0]))
    X = np.random.default_rng(0).standard_normal((100, 5))
    np.testing.assert_array_equal(export.as_sklearn(two).predict(X), two.predict(X))
