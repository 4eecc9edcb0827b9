"""What tasks make of classes on a device: pairs, labels, probabilities, validation sets."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.metrics import accuracy_score
from tests.common.toys import toy

import pegasos
from pegasos.solvers import InteriorPoint

TOL = 1e-6


@pytest.fixture(scope="module")
def four(digits):
    """Four classes that are hard to tell apart."""
    X, y = digits
    some = y < 4
    rng = np.random.default_rng(0)
    return X[some] + 0.4 * rng.normal(size=(some.sum(), 64)), y[some]


def pair(X, y, weight=None, **options):
    """A model of the device and one of the CPU."""
    options = {"tol": TOL, "C": 0.1, "random_state": 0} | options
    ours = pegasos.LinearSVC(device="cpu", **options).fit(X, y, weight)
    return ours, pegasos.LinearSVC(**options).fit(X, y, weight)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 2: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_classes(four, class_weight, weighted):
    X, y = four
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float) if weighted else None
    ours, theirs = pair(X, y, weight, multi_class="ovo", class_weight=class_weight)
    assert ours.coef_.shape == (6, 64)
    assert np.all(ours.certificate_.relative_gap <= TOL)
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=TOL)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.995
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1.01, rtol=0
    )


def test_pairs_of_tensors_vote_as_those_of_arrays(four):
    X, y = four
    rows = torch.from_numpy(X)
    model = pegasos.LinearSVC(device="cpu", multi_class="ovo", C=0.1).fit(rows, torch.from_numpy(y))
    scores = model.decision_function(rows)
    assert isinstance(scores, torch.Tensor)
    assert tuple(scores.shape) == (y.size, 4)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-6)
    found = model.predict(rows)
    assert isinstance(found, torch.Tensor)
    assert model.score(rows, torch.from_numpy(y)) == accuracy_score(y, found.numpy())


def test_pairs_along_c(four):
    X, y = four
    options = {"Cs": [0.02, 0.1], "cv": 3, "tol": TOL, "multi_class": "ovo"}
    ours = pegasos.LinearSVCCV(device="cpu", **options).fit(X, y)
    theirs = pegasos.LinearSVCCV(**options).fit(X, y)
    assert ours.path_.certificate.primal.shape == (2, 3, 6)
    np.testing.assert_allclose(
        ours.path_.certificate.primal, theirs.path_.certificate.primal, rtol=TOL
    )
    assert np.abs(ours.scores_ - theirs.scores_).max() <= 3.01 / (y.size / 3)
    assert ours.predict(X).shape == y.shape


@pytest.mark.parametrize("kind", ["dense", "sparse", "tensor"])
def test_labels_of_an_indicator_matrix(four, kind):
    X, y = four
    Y = np.stack([y > 0, y % 2 == 0, X[:, 20] > 0.5, np.ones(y.size)], axis=1).astype(int)
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float)
    given = {"dense": Y, "sparse": sparse.csr_matrix(Y), "tensor": torch.from_numpy(Y)}[kind]
    plain = sparse.csr_matrix(Y) if kind == "sparse" else Y
    options = {"tol": TOL, "C": 0.1, "class_weight": "balanced", "random_state": 0}
    ours = pegasos.LinearSVC(device="cpu", **options).fit(X, given, weight)
    theirs = pegasos.LinearSVC(**options).fit(X, plain, weight)
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=TOL)
    assert ours.intercept_[3] == 1  # a label that all rows have
    found = ours.predict(X)
    assert sparse.issparse(found) == (kind == "sparse")
    found = found.toarray() if kind == "sparse" else found
    expected = theirs.predict(X)
    expected = expected.toarray() if kind == "sparse" else expected
    assert np.mean(found == expected) > 0.995
    assert ours.n_features_in_ == 64


def test_labels_are_scored_on_tensors_as_on_arrays(four):
    X, y = four
    Y = np.stack([y > 0, y % 2 == 0], axis=1).astype(int)
    rows = torch.from_numpy(X)
    model = pegasos.LinearSVC(device="cpu", C=0.1).fit(rows, torch.from_numpy(Y))
    assert np.array_equal(model.predict(rows), model.predict(X))
    assert model.predict(rows).shape == Y.shape


def test_what_labels_refuse():
    data = toy(60, 4, seed=1)
    Y = np.stack([data.Y[:, 0] > 0, data.X[:, 0] > 0], axis=1).astype(int)
    with pytest.raises(ValueError, match="X has 60 rows, y has 59"):
        pegasos.LinearSVC(device="cpu").fit(data.X, Y[:59])
    with pytest.raises(ValueError, match=r"multi_class='ovo' is for classes"):
        pegasos.LinearSVC(device="cpu", multi_class="ovo").fit(data.X, Y)
    with pytest.raises(ValueError, match="one entry per row"):
        pegasos.LinearSVC(device="cpu").fit(data.X, Y, np.ones(3))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("count", [2, 4])
def test_probabilities(four, count, multi_class):
    X, y = four
    X, y = X[y < count], y[y < count]
    weight = np.random.default_rng(1).integers(1, 3, y.size).astype(float)
    options = {"multi_class": multi_class, "probability": "sigmoid"}
    ours, theirs = pair(X, y, weight, **options)
    found = ours.predict_proba(X)
    assert found.shape == (y.size, count)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    # Folds and models are the same, within tol.
    np.testing.assert_allclose(found, theirs.predict_proba(X), atol=0.01)
    assert np.mean(found.argmax(axis=1) == y) > 0.85


def test_probabilities_of_tensors(four):
    X, y = four
    rows = torch.from_numpy(X)
    model = pegasos.LinearSVC(device="cpu", C=0.1, probability="isotonic").fit(rows, y)
    found = model.predict_proba(rows)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-9)
    chosen = pegasos.LinearSVCCV(device="cpu", Cs=[0.01, 0.1], cv=3, probability=True).fit(rows, y)
    assert len(chosen.calibrators_) == 4
    assert tuple(chosen.predict_proba(rows).shape) == (y.size, 4)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_validation_set(four, multi_class):
    X, y = four
    rows, held = X[::2], X[1::2]
    model = pegasos.LinearSVC(device="cpu", C=10.0, tol=1e-9, multi_class=multi_class)
    model.fit(rows, y[::2], eval_set=(held, y[1::2]))
    assert model.best_validation_score_ == model.score(held, y[1::2])
    scores = [record.score for record in model.history_.records]
    assert model.best_validation_score_ == max(scores)
    assert model.best_epoch_ == model.history_["epoch"][int(np.argmax(scores))]
    assert isinstance(model.solver_, InteriorPoint)  # which trains all lanes together
    tensors = pegasos.LinearSVC(device="cpu", C=10.0, tol=1e-9, multi_class=multi_class)
    there = torch.from_numpy(rows), torch.from_numpy(y[::2])
    tensors.fit(*there, eval_set=(torch.from_numpy(held), torch.from_numpy(y[1::2])))
    assert tensors.best_validation_score_ == model.best_validation_score_
    assert isinstance(tensors.coef_, torch.Tensor)
