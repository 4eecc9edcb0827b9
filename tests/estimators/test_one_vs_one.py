"""LinearSVC(multi_class="ovo"): each pair of classes on its own rows, and their votes."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pegasos import LinearSVC

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVC(multi_class="ovo")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n=240):
    X, y = make_blobs(n, 5, centers=4, cluster_std=4.0, random_state=1)
    return X / 10, np.array(["a", "b", "c", "d"])[y]


def fit(X, y, **options):
    options = {"C": 0.5, "tol": 1e-6, "random_state": 0} | options
    return LinearSVC(multi_class="ovo", **options).fit(X, y)


def test_each_pair_is_the_binary_problem_of_its_rows():
    X, y = blobs()
    weight = np.linspace(0.5, 2, len(y))
    model = LinearSVC(
        multi_class="ovo", C=0.5, tol=1e-8, class_weight={"a": 2.0, "d": 0.5}, random_state=0
    ).fit(X, y, weight)
    assert model.coef_.shape == (6, 5)
    for k, (i, j) in enumerate(PAIRS):
        rows = np.isin(y, [model.classes_[i], model.classes_[j]])
        weights = {c: {"a": 2.0, "d": 0.5}.get(c, 1.0) for c in (model.classes_[[i, j]])}
        alone = LinearSVC(C=0.5, tol=1e-8, class_weight=weights, random_state=0)
        alone.fit(X[rows], y[rows], weight[rows])
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-6)
        np.testing.assert_allclose(model.objective_[k], alone.objective_, rtol=1e-8)
    assert model.certificate_.relative_gap.max() <= 1e-8
    assert model.stop_reason_ == "converged"


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_it_votes_as_scikit_learn_does(convert):
    X, y = blobs()
    X = convert(X)
    model = fit(X, y)
    peer = OneVsOneClassifier(LinearSVC(C=0.5, tol=1e-6, random_state=0)).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (240, 4)
    np.testing.assert_allclose(scores, peer.decision_function(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_ties_go_to_the_larger_sum_of_scores():
    model = fit(*blobs())
    model.coef_ = np.zeros((6, 5))
    # 0 beats 1, 1 beats 2, 2 beats 0; all beat 3: two votes each. 2 wins by the most.
    model.intercept_ = np.array([-1.0, 3.0, -1.0, -1.0, -1.0, -1.0])
    votes = model.decision_function(np.zeros((1, 5)))[0]
    np.testing.assert_array_equal(np.round(votes), [2, 2, 2, 0])
    assert model.predict(np.zeros((1, 5)))[0] == "c"


def test_two_classes_are_one_problem():
    X, y = blobs()
    rows = np.isin(y, ["a", "b"])
    model = fit(X[rows], y[rows])
    assert model.coef_.shape == (1, 5)
    assert model.decision_function(X).shape == (240,)
    assert isinstance(model.objective_, float)


def test_the_same_bits_with_any_number_of_threads():
    # Pairs have a thread each: how many run at a time changes nothing.
    X, y = blobs(2000)
    one, two, three = (fit(X, y, solver="dual", tol=1e-2, n_jobs=n) for n in (1, 2, 3))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.coef_, three.coef_)


def test_a_warm_start_proves_at_once():
    X, y = blobs(2000)
    model = LinearSVC(multi_class="ovo", solver="dual", C=0.1, warm_start=True, random_state=0)
    model.fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ == 1 < first


def test_records_have_an_entry_for_each_pair_and_callbacks_can_stop():
    X, y = blobs(2000)
    seen = []
    model = fit(X, y, solver="dual", tol=1e-2, callbacks=[seen.append], n_jobs=2)
    assert all(record.relative_gap.shape == (6,) for record in seen)
    assert model.history_["primal"].shape[1] == 6
    np.testing.assert_array_equal(model.history_["dual"][-1], model.certificate_.dual)
    with pytest.warns(UserWarning, match="callback"):
        stopped = fit(X, y, solver="dual", tol=0, callbacks=[lambda _: True], n_jobs=2)
    assert stopped.stop_reason_ == "callback"
    assert np.isfinite(stopped.objective_).all()


def test_a_time_limit_leaves_the_rest_untrained_and_says_so():
    X, y = blobs(2000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(X, y, solver="dual", tol=0, max_time=1e-9, n_jobs=1)
    assert model.stop_reason_ == "max_time"
    assert "nothing is proven" in str(caught[0].message)
    np.testing.assert_array_equal(model.coef_[1:], 0)
    np.testing.assert_allclose(model.objective_, 1.0)  # w = 0 misses every margin by one


def test_an_error_in_one_pair_is_raised():
    X, y = blobs(2000)

    def fail(_):
        raise RuntimeError("from a callback")

    with pytest.raises(RuntimeError, match="from a callback"):
        fit(X, y, solver="dual", callbacks=[fail], n_jobs=2)
