"""LinearSVC on an indicator matrix: a certified model for each label, in blocks."""

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.multiclass import OneVsRestClassifier

from pegasos import LinearSVC, certify
from pegasos.tasks.multilabel import train_labels
from pegasos.tasks.options import checked_training


def data(n=300, labels=7):
    X, Y = make_multilabel_classification(
        n, 12, n_classes=labels, n_labels=2, allow_unlabeled=True, random_state=0
    )
    return X / 10, Y


def fit(X, Y, weight=None, **options):
    return LinearSVC(**{"C": 0.5, "tol": 1e-6, "random_state": 0} | options).fit(X, Y, weight)


def in_small_blocks(X, Y, tol, **options):
    """The same, 16 labels at a time."""
    options = {"solver": "auto", "max_time": None} | options
    training = checked_training(
        C=0.5, lam=None, loss="hinge", tol=tol, intercept="auto", fit_intercept=True,
        intercept_scaling=1.0, multi_class="ovr", max_iter=None, seed=0, n_jobs=1, callbacks=(),
        began=time.perf_counter(), **options,
    )  # fmt: skip
    return train_labels(training, X, Y, None, None, None, block_bytes=1)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}], ids=str)
def test_each_label_is_a_binary_problem(convert, class_weight):
    X, Y = data()
    weight = np.linspace(0, 2, len(X))
    model = fit(convert(X), Y, weight, class_weight=class_weight)
    assert model.certificate_.relative_gap.max() <= 1e-6
    assert model.coef_.shape == (7, 12)
    np.testing.assert_array_equal(model.classes_, np.arange(7))
    for k in range(7):
        alone = fit(X, Y[:, k], weight, class_weight=class_weight)
        np.testing.assert_allclose(model.objective_[k], alone.objective_, rtol=2e-6)
    found = model.predict(X)
    np.testing.assert_array_equal(found, model.decision_function(X) > 0)
    assert model.score(X, Y) == (found == Y).all(axis=1).mean()


def test_sparse_labels_give_sparse_predictions():
    X, Y = data()
    dense, wide = fit(X, Y), fit(X, sparse.csr_matrix(Y))
    np.testing.assert_array_equal(dense.coef_, wide.coef_)
    assert sparse.issparse(wide.predict(X))
    np.testing.assert_array_equal(wide.predict(X).toarray(), dense.predict(X))
    peer = OneVsRestClassifier(LinearSVC(C=0.5, tol=1e-6, random_state=0)).fit(X, Y)
    assert (peer.predict(X) == dense.predict(X)).mean() > 0.999


def test_blocks_change_nothing_that_is_proven():
    X, Y = data(300, 40)
    whole = fit(X, Y)
    parts = in_small_blocks(X, Y, 1e-6).outcome
    np.testing.assert_allclose(whole.objective_, parts.certificate.primal, rtol=2e-6)
    assert parts.certificate.relative_gap.max() <= 1e-6
    assert len(parts.history.records) == 3  # 16, 16 and 8 labels
    assert parts.history["primal"].shape == (3, 40)


def test_labels_of_all_rows_or_none_are_not_trained():
    X, Y = data()
    Y[:, 2], Y[:, 5] = 0, 1
    model = fit(X, Y)
    found = model.predict(X)
    assert not found[:, 2].any()
    assert found[:, 5].all()
    np.testing.assert_array_equal(model.certificate_.relative_gap[[2, 5]], 0)
    Y[:] = 1
    with pytest.raises(ValueError, match="no label to learn"):
        fit(X, Y)


def test_weights_that_are_mostly_zero_are_kept_sparse():
    # Each label has features of its own; a row without them says nothing about its weights.
    rng = np.random.default_rng(0)
    X = sparse.random(400, 3000, 0.003, format="csr", random_state=0, dtype=np.float64)
    Y = (rng.random((400, 20)) < 0.02).astype(int)
    model = fit(X, Y, class_weight={1: 5.0}, intercept="free", tol=1e-3)
    density = np.count_nonzero(model.densify().coef_) / model.coef_.size
    again = fit(X, Y, class_weight={1: 5.0}, intercept="free", tol=1e-3)
    assert sparse.issparse(again.coef_) == (density < 1 / 3)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
def test_pruning_says_what_it_costs(intercept):
    X, Y = data()
    whole = fit(X, Y, intercept=intercept)
    size = np.median(np.abs(whole.coef_))
    model = fit(X, Y, intercept=intercept, prune=size)
    assert model.pruning_.kept == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(model.pruning_.primal, whole.objective_)
    coef = model.densify().coef_
    assert not ((coef != 0) & (np.abs(coef) < size)).any()
    rise = model.objective_ / whole.objective_ - 1
    assert model.pruning_.rise == pytest.approx(rise.max())
    assert rise.max() > 0
    assert model.stop_reason_ == "converged"
    for k in range(7):
        b = model.intercept_[k] if intercept != "none" else 0.0
        proof = certify(X, Y[:, k], coef[k], b, C=0.5, intercept=intercept)
        assert proof.primal == pytest.approx(model.objective_[k], rel=1e-12)


def test_a_limit_leaves_the_rest_untrained():
    X, Y = data(300, 40)
    found = in_small_blocks(X, Y, 0.0, solver="dual", max_time=1e-9)
    assert found.outcome.stop_reason == "max_time"
    varied = Y[:, 16:].any(axis=0)  # w = 0 misses every margin by one
    np.testing.assert_allclose(found.outcome.certificate.primal[16:], np.where(varied, 1.0, 0.0))
    coef = found.coef.toarray() if sparse.issparse(found.coef) else found.coef
    assert not coef[16:].any()


def test_a_limit_is_told():
    X, Y = data()
    with pytest.warns(UserWarning, match="nothing is proven"):
        model = fit(X, Y, solver="dual", tol=0, max_time=1e-9)
    assert model.stop_reason_ == "max_time"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multi_class": "ovo"}, "multi_class='ovo' is for classes"),
        ({"probability": True}, "probability=True is for classes"),
        ({"warm_start": True}, "warm_start=True is for classes"),
        ({"prune": -1.0}, "prune must be positive"),
    ],
)
def test_options_for_classes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fit(*data(), **options)


def test_prune_is_for_labels():
    X, Y = data()
    with pytest.raises(ValueError, match="prune is for labels"):
        fit(X, Y[:, 0], prune=0.1)
