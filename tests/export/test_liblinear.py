"""LIBLINEAR's text models: its own predict gives the same labels, and its models are read."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.common.models import random_model

import pegasos
from pegasos import export
from pegasos.estimators.stored import to_model
from pegasos.export import ExportError, ModelFileError, liblinear

peer = pytest.importorskip(
    "liblinear.liblinearutil", reason="the package liblinear-official is not installed"
)


def peer_predict(path, X):
    """Labels and scores, by LIBLINEAR's own reader and predict."""
    model = peer.load_model(str(path))
    labels, _, scores = peer.predict([], sparse.csr_matrix(X), model, "-q")
    return np.array(labels), np.array(scores)


def rows(seed=1, features=5):
    return np.random.default_rng(seed).standard_normal((300, features))


@pytest.mark.parametrize("classes", [[-1, 1], [7, 3], [0, 1, 2], [5, -3, 9, 4]])
@pytest.mark.parametrize("scheme", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("csr", [True, False])
def test_its_own_predict_gives_the_same_labels(tmp_path, classes, scheme, intercept, csr):
    model = random_model(scheme, len(classes), zeros=0.3, csr=csr)
    model = replace(model, classes=np.sort(classes))
    if not intercept:
        model = replace(model, intercept=np.zeros(model.lanes))
    export.write(model, tmp_path / "model", "liblinear")
    X = rows()
    labels, scores = peer_predict(tmp_path / "model", X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores.squeeze(), model.scores(X), rtol=1e-12, atol=1e-12)
    found = export.read_any(tmp_path / "model")
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    np.testing.assert_array_equal(found.scores(X), replace(
        model, coef=model.coef.toarray() if csr else model.coef).scores(X))  # fmt: skip


@pytest.mark.parametrize("options", ["-s 3 -B 2", "-s 1 -B -1", "-s 4 -B 1", "-s 0", "-s 2 -B 1"])
@pytest.mark.parametrize("labels", [[1, -1], [-1, 1], [2, 9, 4]])
def test_its_models_are_read(tmp_path, options, labels):
    rng = np.random.default_rng(0)
    X = rows()
    y = np.array(labels)[rng.integers(len(labels), size=300)]
    y[: len(labels)] = labels  # the order in which LIBLINEAR meets them
    X += 0.3 * y[:, None]
    trained = peer.train(y, sparse.csr_matrix(X), options + " -q")
    peer.save_model(str(tmp_path / "model"), trained)
    found = liblinear.read(tmp_path / "model")
    labels, *_ = peer.predict([], sparse.csr_matrix(X), trained, "-q")
    np.testing.assert_array_equal(found.predict(X), labels)
    np.testing.assert_array_equal(np.sort(np.unique(y)), found.classes)
    liblinear.write(found, tmp_path / "again")
    again, _ = peer_predict(tmp_path / "again", X)
    np.testing.assert_array_equal(again, labels)
    assert found.parameters.get("loss") == {
        "-s 3": "hinge", "-s 1": "squared_hinge", "-s 4": "hinge", "-s 0": None,
        "-s 2": "squared_hinge"}[options[:4]]  # fmt: skip
    if "-B 2" in options:
        assert found.parameters["intercept"] == "regularized"
        assert found.parameters["intercept_scaling"] == 2


def test_a_model_read_can_be_certified(tmp_path):
    # What LIBLINEAR found is proven from its file: the objective is the one it minimised.
    rng = np.random.default_rng(0)
    X = rows()
    y = np.where(X[:, 0] + rng.standard_normal(300) > 0, 1, -1)
    trained = peer.train(y, sparse.csr_matrix(X), "-s 3 -c 0.1 -B 1 -e 1e-8 -q")
    peer.save_model(str(tmp_path / "model"), trained)
    found = liblinear.read(tmp_path / "model")
    best = pegasos.solve(X, y, C=0.1, intercept="regularized", tol=1e-8)
    proof = pegasos.certify(
        X, y, found.coef[0], found.intercept[0], best.duals, C=0.1, intercept="regularized"
    )
    assert proof.relative_gap < 1e-5


def test_numbers_that_stand_for_integers_are_labels(tmp_path):
    model = random_model(kind="float64")
    liblinear.write(model, tmp_path / "model")
    labels, _ = peer_predict(tmp_path / "model", rows())
    np.testing.assert_array_equal(labels, model.predict(rows()))


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (random_model("ovo", 3), "one weight vector per class"),
        (random_model("labels", 3), "labels cannot be written"),
        (random_model(kind="text"), "32-bit integers"),
        (random_model(kind="bool", classes=2), "32-bit integers"),
        (replace(random_model(classes=2), classes=np.array([0, 1 << 40])), "32-bit integers"),
        (replace(random_model(classes=2), classes=np.array([0, 0.5])), "32-bit integers"),
        (replace(random_model(), parameters={"loss": "logistic"}), "no loss 'logistic'"),
    ],
)
def test_what_it_cannot_say_is_named(tmp_path, model, what):
    with pytest.raises(ExportError, match=what):
        export.write(model, tmp_path / "model", "liblinear")
    assert not (tmp_path / "model").exists()


GOOD = """solver_type L2R_L1LOSS_SVC_DUAL
nr_class 3
label 1 2 3
nr_feature 2
bias 1
w
0.5 1 -1 
1e-3 0 2 
3 4 5 
"""  # noqa: W291 - as LIBLINEAR writes it


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVR", 1, "no linear classifier"),
        ("L2R_L1LOSS_SVC_DUAL", "ONECLASS_SVM", 1, "no linear classifier"),
        ("nr_class 3", "nr_class 2", 3, "expected 2 labels"),
        ("nr_class 3", "nr_class -3", 2, "whole number from 2"),
        ("nr_class 3", "nr_class 3 3", 2, "one value"),
        ("nr_class 3", "nr_clas 3", 2, "expected one of"),
        ("label 1 2 3", "label 1 2 2", 3, "labels that differ"),
        ("label 1 2 3", "label 1 2 x", 3, "whole number"),
        ("nr_feature 2", "nr_feature 2000000000", 6, "expected 2000000001 lines of weights"),
        ("nr_feature 2", "nr_feature " + "9" * 5000, 4, "whole number"),
        ("bias 1", "bias nan", 5, "finite number"),
        ("bias 1\n", "", 5, "has no 'bias'"),
        ("bias 1", "bias 1\nbias 1", 6, "expected one of"),
        ("1e-3", "1e-3x", 8, "finite number"),
        ("1e-3", "inf", 8, "finite number"),
        ("1e-3", "1_0", 8, "finite number"),
        ("3 4 5 ", "3 4", 9, "expected 3 weights, found 2"),
        ("3 4 5 \n", "", 6, "expected 3 lines of weights"),
        ("3 4 5 \n", "3 4 5\n1 1 1\n", 6, "expected 3 lines of weights"),
        ("w\n", "", 6, "expected one of"),
    ],
)
def test_a_malformed_model_is_refused_with_its_line(tmp_path, old, new, line, what):
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert export.read_any(path).intercept.tolist() == [3, 4, 5]
    assert GOOD.count(old) >= 1
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=what) as caught:
        export.read_any(path)
    assert caught.value.line == line


def test_cut_off_or_strange_bytes_are_refused(tmp_path):
    path = tmp_path / "model"
    for length in range(len(GOOD) - 8):  # what follows are digits of the last line
        path.write_text(GOOD[:length])
        with pytest.raises(ModelFileError):
            liblinear.read(path)
    path.write_bytes(GOOD.encode() + b"\xff")
    with pytest.raises(ModelFileError, match="no ASCII"):
        liblinear.read(path)


class Halving:
    kind = "halving"

    def apply(self, data):
        return replace(data, X=data.X / 2)

    def fold(self, coef, intercept):
        return coef / 2, intercept


class Opaque:
    kind = "opaque"


def test_scaling_goes_into_the_weights(tmp_path):
    model = replace(random_model(), steps=(Halving(), Halving()))
    export.write(model, tmp_path / "model", "liblinear")
    _, scores = peer_predict(tmp_path / "model", rows())
    np.testing.assert_allclose(scores, model.scores(rows() / 4), rtol=1e-12, atol=1e-12)
    with pytest.raises(ExportError, match="'opaque', which cannot be put into weights"):
        export.write(replace(model, steps=(Opaque(),)), tmp_path / "other", "liblinear")


def test_unknown_formats_are_named(tmp_path):
    with pytest.raises(ExportError, match="one of liblinear, onnx, got 'pmml'"):
        export.write(random_model(), tmp_path / "model", "pmml")


def test_an_estimator_is_exported(tmp_path):
    X = rows()
    y = np.where(X[:, 0] > 0.3, 4, 2)
    model = pegasos.LinearSVC(C=1.0).fit(X, y)
    export.write(to_model(model), tmp_path / "model", "liblinear")
    labels, _ = peer_predict(tmp_path / "model", X)
    np.testing.assert_array_equal(labels, model.predict(X))
