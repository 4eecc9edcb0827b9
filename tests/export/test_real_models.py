"""On a9a, where it is: models through every format predict the same on its test rows."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

import pegasos
from pegasos import export
from pegasos.estimators.stored import to_model

FOLDER = os.environ.get("PEGASOS_DATA")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="PEGASOS_DATA is not set")


@pytest.fixture(scope="module")
def a9a():
    files = [str(Path(FOLDER) / name) for name in ("a9a", "a9a.t")]
    X, y, X_test, _ = (part for file in files for part in load_svmlight_file(file, n_features=123))
    return pegasos.LinearSVC(C=0.1, probability="sigmoid", random_state=0).fit(X, y), X_test


def test_model_files(a9a, tmp_path):
    model, X = a9a
    pegasos.save(model, tmp_path / "model")
    found = pegasos.load(tmp_path / "model")
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))


def test_liblinear(a9a, tmp_path):
    peer = pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official is missing")
    model, X = a9a
    export.write(to_model(model), tmp_path / "model", "liblinear")
    labels, *_ = peer.predict([], X, peer.load_model(str(tmp_path / "model")), "-q")
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(export.read_any(tmp_path / "model").predict(X), labels)


def test_onnx(a9a, tmp_path):
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, X = a9a
    export.write(to_model(model), tmp_path / "model", "onnx")
    session = runtime.InferenceSession(str(tmp_path / "model"), providers=["CPUExecutionProvider"])
    label, scores, probabilities = session.run(None, {"X": X.toarray().astype(np.float32)})
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-5, atol=1e-6)


def test_as_sklearn(a9a):
    model, X = a9a
    np.testing.assert_array_equal(model.as_sklearn().predict(X), model.predict(X))
