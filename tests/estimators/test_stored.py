"""Estimators through files: what predicts, what is proven and what was asked for come back."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.common.models import random_model

import pegasos
from pegasos import LinearSVC, LinearSVCCV
from pegasos.estimators.stored import to_model
from pegasos.model import file as model_file

CLASSES = {
    "int": np.array([3, 5, 9]),
    "int8": np.array([-1, 0, 1], dtype=np.int8),
    "text": np.array(["à", "b", "longer"]),
    "objects": np.array(["à", "b", "longer"], dtype=object),
    "float": np.array([-1.0, 0.0, 2.0]),
    "bool": np.array([False, True]),
}


def blobs(names):
    X, y = make_blobs(90, 4, centers=len(names), cluster_std=4.0, random_state=0)
    return X, names[y]


def there_and_back(model, path):
    pegasos.save(model, path)
    return pegasos.load(path)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
def test_predictions_and_proofs_come_back(tmp_path, kind, scheme):
    X, y = blobs(CLASSES[kind])
    model = LinearSVC(multi_class=scheme, probability="sigmoid", C=0.1, random_state=0).fit(X, y)
    found = there_and_back(model, tmp_path / "model")
    assert type(found) is LinearSVC
    np.testing.assert_array_equal(found.classes_, model.classes_)
    assert found.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
    assert found.predict(X).dtype == model.predict(X).dtype
    for name in ("primal", "dual", "rounding"):
        np.testing.assert_array_equal(
            getattr(found.certificate_, name), getattr(model.certificate_, name)
        )
    assert np.shape(found.certificate_.primal) == np.shape(model.certificate_.primal)
    np.testing.assert_array_equal(found.dual_gap_, model.dual_gap_)
    np.testing.assert_array_equal(found.objective_, model.objective_)
    for name in ("stop_reason_", "n_iter_", "n_features_in_", "solver_", "solver_reason_"):
        assert getattr(found, name) == getattr(model, name), name
    assert found.get_params() == model.get_params()
    assert len(found.history_.records) == 0
    # What came from a file is as good as what was trained.
    np.testing.assert_array_equal(clone(found).fit(X, y).coef_, model.coef_)


def test_names_of_features_come_back(tmp_path):
    X, y = blobs(CLASSES["text"])
    table = pd.DataFrame(X, columns=["a", "b", "ç", "d"])
    model = LinearSVC().fit(table, y)
    found = there_and_back(model, tmp_path / "model")
    np.testing.assert_array_equal(found.feature_names_in_, model.feature_names_in_)
    np.testing.assert_array_equal(found.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        found.predict(table.rename(columns={"a": "A"}))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_labels_come_back(tmp_path, form):
    X, y = make_multilabel_classification(80, 30, n_classes=6, random_state=0)
    model = LinearSVC(C=0.01, prune=0.02).fit(X, sparse.csr_matrix(y) if form == "sparse" else y)
    model.sparsify()
    found = there_and_back(model, tmp_path / "model")
    assert sparse.issparse(found.coef_)
    assert (found.coef_ != model.coef_).nnz == 0
    wanted, got = model.predict(X), found.predict(X)
    assert sparse.issparse(got) == (form == "sparse")
    assert abs(got - wanted).sum() == 0


def test_a_cross_validated_model_comes_back_with_its_C(tmp_path):
    X, y = make_classification(200, 6, random_state=0)
    model = LinearSVCCV(Cs=[0.01, 0.1, 1.0], cv=3, random_state=0).fit(X, y)
    found = there_and_back(model, tmp_path / "model")
    assert found.C == model.C_
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    assert to_model(model).parameters["C"] == model.C_


def test_what_cannot_be_saved_is_noted(tmp_path):
    X, y = make_classification(100, 5, random_state=0)
    model = LinearSVC(
        solver=pegasos.Pegasos(batch_size=10), random_state=np.random.RandomState(0),
        class_weight={0: 1.0, 1: 2.0}, callbacks=[lambda _: None], max_iter=5, tol=100.0,
    ).fit(X, y)  # fmt: skip
    pegasos.save(model, tmp_path / "model")
    found = pegasos.load(tmp_path / "model")
    assert found.solver == "pegasos"
    assert found.random_state is None
    assert found.class_weight == {0: 1.0, 1: 2.0}
    assert found.callbacks == ()
    assert found.solver_ == "pegasos"
    noted = model_file.read(tmp_path / "model").training
    assert set(noted["not_saved"]) == {"solver", "random_state", "callbacks"}
    assert "batch_size=10" in noted["not_saved"]["solver"]
    assert noted["intercept"] == "regularized"


def test_a_model_without_an_estimator_is_saved_too(tmp_path):
    model = random_model("ovo", 3, calibrated=True)
    found = there_and_back(replace(model, parameters={"C": 2.0, "unknown": 1}), tmp_path / "model")
    X = np.random.default_rng(0).standard_normal((20, 5))
    assert found.C == 2.0
    assert found.multi_class == "ovo"
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    np.testing.assert_array_equal(found.predict_proba(X), model.probabilities(X))


def test_errors_come_before_anything_is_written(tmp_path):
    path = tmp_path / "model"
    X, y = blobs(CLASSES["int"])
    with pytest.raises(NotFittedError):
        pegasos.save(LinearSVC(), path)
    with pytest.raises(TypeError, match="got StandardScaler"):
        pegasos.save(StandardScaler(), path)
    with pytest.raises(TypeError, match=r"only those that pegasos\.load"):
        pegasos.save(make_pipeline(StandardScaler(), LinearSVC()).fit(X, y), path)
    assert not path.exists()
    pegasos.save(LinearSVC().fit(X, y), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="model"):
        pegasos.save(LinearSVC(C=2.0).fit(X, y), path, overwrite=False)
    assert path.read_bytes() == before


class Shift:
    kind = "shift"

    def __init__(self, by):
        self.by = by

    def apply(self, data):
        return replace(data, X=data.X + self.by)

    def meta(self):
        return {}

    def arrays(self):
        return {"by": self.by}


class Lengths:
    kind = "lengths"

    def apply(self, data):
        return replace(data, X=np.array([[len(text), 1.0] for text in data.text]))

    def meta(self):
        return {}

    def arrays(self):
        return {}


@pytest.fixture
def known_steps(monkeypatch):
    def restore(kind, meta, arrays):
        return Lengths() if kind == "lengths" else Shift(**arrays)

    monkeypatch.setattr("pegasos.model.file.contents.restore", restore)


@pytest.mark.usefixtures("known_steps")
def test_steps_become_a_pipeline(tmp_path):
    names = tuple("abcde")
    model = replace(random_model(), steps=(Shift(np.arange(5.0)),), feature_names=names)
    X = np.random.default_rng(0).standard_normal((20, 5))
    found = there_and_back(model, tmp_path / "model")
    assert isinstance(found, Pipeline)
    np.testing.assert_array_equal(found.predict(X), model.predict(X + np.arange(5.0)))
    again = there_and_back(found, tmp_path / "again")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


@pytest.mark.usefixtures("known_steps")
def test_text_goes_into_a_pipeline(tmp_path):
    model = replace(random_model(features=2), steps=(Lengths(), Shift(np.array([-3.0, 0.0]))))
    found = there_and_back(model, tmp_path / "model")
    texts = ["", "four", "fifteen letters"]
    X = np.array([[len(text) - 3.0, 1.0] for text in texts])
    for form in (texts, tuple(texts), pd.Series(texts), iter(texts)):
        np.testing.assert_array_equal(found.predict(form), model.predict(X))
    with pytest.raises(ValueError, match="one text"):
        found.predict("text")
    with pytest.raises(ValueError, match="list of texts"):
        found.predict([1, 2])
