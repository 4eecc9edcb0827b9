"""ONNX: a runtime that knows nothing of us gives the same labels and scores."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.common.models import CLASSES, random_model

import pegasos
from pegasos import export
from pegasos.estimators.stored import to_model
from pegasos.export import ExportError
from pegasos.tasks.probability import Sigmoid

pytest.importorskip("onnx", reason="the package onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")


def outputs(path, X):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def rows(features=5):
    return np.random.default_rng(1).standard_normal((200, features)).astype(np.float32)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("kind", CLASSES)
def test_labels_and_scores_are_the_same(tmp_path, scheme, kind):
    for count in (2, 4):
        model = random_model(scheme, count, kind=kind, zeros=0.3, csr=count == 4)
        export.write(model, tmp_path / "model.onnx", "onnx")
        found = outputs(tmp_path / "model.onnx", rows())
        wanted = model.scores(rows())
        assert found["scores"].dtype == np.float32
        np.testing.assert_array_equal(found["scores"].shape, wanted.shape)
        np.testing.assert_allclose(found["scores"], wanted, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(found["label"], model.predict(rows()))
        assert set(found) == {"label", "scores"}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_labels_come_as_an_indicator_matrix(tmp_path, count):
    model = random_model("labels", count)
    export.write(model, tmp_path / "model.onnx", "onnx")
    found = outputs(tmp_path / "model.onnx", rows())
    np.testing.assert_array_equal(found["label"], model.predict(rows()).toarray())
    np.testing.assert_allclose(found["scores"], model.scores(rows()), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [2, 3])
def test_sigmoids_give_probabilities(tmp_path, count):
    model = random_model("ovr", count)
    sigmoids = tuple(Sigmoid(-1.0 - k, 0.3 * k) for k in range(model.lanes))
    export.write(replace(model, calibrators=sigmoids), tmp_path / "model.onnx", "onnx")
    # Also where every sigmoid is 0: classes are then equally likely.
    X = np.vstack([rows(), -1e6 * model.coef.sum(axis=0, keepdims=True)]).astype(np.float32)
    found = outputs(tmp_path / "model.onnx", X)["probabilities"]
    wanted = replace(model, calibrators=sigmoids).probabilities(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_isotonic_curves_and_pairs_leave_probabilities_out(tmp_path):
    for model in (random_model("ovr", 3, calibrated=True), random_model("ovo", 3, calibrated=True)):
        export.write(model, tmp_path / "model.onnx", "onnx")
        assert set(outputs(tmp_path / "model.onnx", rows())) == {"label", "scores"}


def test_a_fitted_estimator_is_the_same_there(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)).astype(np.float32)
    y = np.array(["down", "flat", "up"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])]
    model = pegasos.LinearSVC(probability="sigmoid", random_state=0).fit(X, y)
    export.write(to_model(model), tmp_path / "model.onnx", "onnx")
    found = outputs(tmp_path / "model.onnx", X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(found["scores"], model.decision_function(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-5)


def test_what_it_cannot_say_is_named(tmp_path, monkeypatch):
    large = replace(random_model(classes=2), classes=np.array([0, 1 << 63], dtype=np.uint64))
    with pytest.raises(ExportError, match="64-bit"):
        export.write(large, tmp_path / "model", "onnx")
    wide = np.broadcast_to(0.0, (1, 1 << 28))
    with pytest.raises(ExportError, match="2 GiB"):
        export.write(replace(random_model(classes=2), coef=wide), tmp_path / "model", "onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError, match=r"pegasos\[onnx\]"):
        export.write(random_model(), tmp_path / "model", "onnx")
    assert not (tmp_path / "model").exists()
