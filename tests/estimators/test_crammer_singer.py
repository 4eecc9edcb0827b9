"""LinearSVC(multi_class="crammer_singer"): one problem for all classes, and its certificate."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.svm import LinearSVC as PeerLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pegasos import LinearSVC, LinearSVCCV
from pegasos.crammer_singer import as_joint, certify_joint
from pegasos.problem import make_problem
from pegasos.solvers import CrammerSinger


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVC(multi_class="crammer_singer", max_iter=2000)])
def test_scikit_learn_checks(estimator, check):
    if "sample_weight_equivalence" in str(check):
        pytest.skip("exact only to tol: the checks compare nine digits")
    check(estimator)


def blobs(n=300, centers=4):
    X, y = make_blobs(n, 5, centers=centers, cluster_std=5.0, random_state=1)
    return X / 10, np.array(["a", "b", "c", "d", "e"])[y]


def fit(X, y, weight=None, **options):
    options = {"C": 0.5, "tol": 1e-6, "random_state": 0} | options
    return LinearSVC(multi_class="crammer_singer", **options).fit(X, y, weight)


def objective(W, b, X, codes, C, costs):
    scores = X @ W.T + b
    own = scores[np.arange(len(codes)), codes]
    scores[np.arange(len(codes)), codes] = -np.inf
    losses = np.maximum(0, 1 + scores.max(axis=1) - own)
    return (W**2).sum() / 2 + np.sum(b**2) / 2 + C * costs @ losses


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_reaches_the_optimum_that_scikit_learn_approaches(fit_intercept, convert):
    X, y = blobs()
    model = fit(convert(X), y, fit_intercept=fit_intercept)
    assert model.stop_reason_ == "converged"
    assert model.certificate_.relative_gap <= 1e-6
    peer = PeerLinearSVC(
        C=0.5, multi_class="crammer_singer", tol=1e-8, max_iter=100_000, random_state=0,
        fit_intercept=fit_intercept,
    ).fit(X, y)  # fmt: skip
    codes = np.searchsorted(model.classes_, y)
    ours = objective(model.coef_, model.intercept_, X, codes, 0.5, np.ones(len(y)))
    theirs = objective(peer.coef_, peer.intercept_, X, codes, 0.5, np.ones(len(y)))
    assert ours <= theirs * (1 + 2e-6)
    assert model.objective_ == pytest.approx(ours / (0.5 * len(y)), rel=1e-12)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


def test_weights_are_costs():
    X, y = blobs(60)
    weight = np.linspace(0, 2, 60)
    model = fit(X, y, weight, class_weight={"a": 3.0}, tol=1e-7)
    codes = np.searchsorted(model.classes_, y)
    costs = weight * np.where(y == "a", 3.0, 1.0)
    ours = objective(model.coef_, model.intercept_, X, codes, 0.5, costs)

    def value(flat):
        W = flat.reshape(4, 6)
        return objective(W[:, :5], W[:, 5], X, codes, 0.5, costs)

    start = np.column_stack([model.coef_, model.intercept_]).ravel()
    for seed in range(5):
        nearby = start + 1e-3 * np.random.default_rng(seed).normal(size=start.size)
        found = minimize(value, nearby, method="Powell", options={"maxiter": 20}).fun
        assert ours <= found * (1 + 1e-6)
    assert model.objective_ == pytest.approx(ours / (0.5 * weight.sum()), rel=1e-10)


def test_two_classes_are_scikit_learns():
    X, y = blobs(200, 2)
    model = fit(X, y, tol=1e-9)
    peer = PeerLinearSVC(
        C=0.5, multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)


def test_the_certificate_holds_for_any_model_and_any_duals():
    X, y = blobs(80)
    labels = np.where(y[:, None] == np.array(["a", "b", "c", "d"]), 1, -1).astype(np.int8)
    problem = as_joint(make_problem(X, labels, C=0.5, intercept="none"))
    best = fit(X, y, fit_intercept=False, tol=1e-8).objective_
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.01, 0.1, 1.0, 10.0):
        W = np.zeros(problem.weights_shape)
        W[:-1, :4] = scale * rng.normal(size=(5, 4))
        a = scale * rng.random((80, 4))  # far from feasible: it is repaired
        proof, _ = certify_joint(problem, W, np.zeros(4), lambda lo, hi, a=a: a[lo:hi])
        assert proof.dual[0] <= best * (1 + 1e-8) <= proof.primal[0] * (1 + 2e-8)
        codes = np.searchsorted(["a", "b", "c", "d"], y)
        primal = objective(W[:-1, :4].T, np.zeros(4), X, codes, 0.5, np.ones(80)) / 40
        assert proof.primal[0] == pytest.approx(primal, rel=1e-12)


def test_pauses_change_nothing():
    X, y = blobs(120)
    labels = np.where(y[:, None] == np.array(["a", "b", "c", "d"]), 1, -1).astype(np.int8)
    problem = as_joint(make_problem(X, labels, C=0.5, intercept="regularized"))
    solver = CrammerSinger()
    whole, sliced = solver.start(problem, 3), solver.start(problem, 3)
    solver.advance(problem, whole, work=10**9, stop_seen=3000, stop_steps=10**9)
    while not solver.advance(problem, sliced, work=7, stop_seen=3000, stop_steps=10**9):
        pass
    np.testing.assert_array_equal(whole["W"], sliced["W"])
    np.testing.assert_array_equal(whole["duals"], sliced["duals"])


def test_empty_rows_and_warm_starts():
    X, y = blobs(200)
    X[::7] = 0
    model = fit(sparse.csr_matrix(X), y, fit_intercept=False, warm_start=True, tol=1e-4)
    assert model.stop_reason_ == "converged"
    first = model.n_iter_
    model.fit(sparse.csr_matrix(X), y)
    assert model.n_iter_ == 1 < first


def test_it_cross_validates_and_has_probabilities():
    X, y = blobs()
    model = LinearSVCCV(
        Cs=[0.1, 1.0], cv=3, multi_class="crammer_singer", probability=True, random_state=0
    ).fit(X, y)
    alone = [fit(X, y, C=C, tol=1e-3) for C in (0.1, 1.0)]
    assert model.objective_ == pytest.approx(alone[[0.1, 1.0].index(model.C_)].objective_, rel=2e-3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "dual"}, "solver='auto' only"),
        ({"loss": "squared_hinge"}, "loss='hinge' only"),
        ({"intercept": "free"}, "no free intercept"),
    ],
)
def test_what_it_cannot_do_is_named(options, message):
    X, y = blobs()
    with pytest.raises(ValueError, match=message):
        fit(X, y, **options)
