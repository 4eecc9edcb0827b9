"""predict_proba: Platt's sigmoid, isotonic curves and coupling, fitted out of fold."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss

from pegasos import SVC, LinearSVC, LinearSVCCV
from pegasos.tasks.probability import couple, fit_calibrator, fit_sigmoid


def binary(n=2000):
    X, y = make_classification(n, 8, n_informative=4, flip_y=0.2, random_state=0)
    return X[::2], y[::2], X[1::2], y[1::2]


def test_the_sigmoid_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500) * 20
    positive = rng.random(500) < 1 / (1 + np.exp(-0.1 * scores - 0.3))
    weight = rng.random(500)
    ours = fit_sigmoid(scores, positive, weight)
    ups, downs = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))

    def loss(at):
        z = -(at[0] * scores + at[1])
        return weight @ (np.logaddexp(0, z) - target * z)

    best = minimize(loss, [0, 0], method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose([ours.A, ours.B], best.x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("scores", "positive"),
    [
        ([-2.0, -1.0, 1.0, 2.0], [False, False, True, True]),  # apart
        ([2.0, 1.0, -1.0, -2.0], [False, False, True, True]),  # the wrong way round
        ([0.0, 0.0, 0.0, 0.0], [False, True, True, True]),
        ([1e300, -1e300, 1e-300, 0.0], [True, False, True, False]),
    ],
)
def test_extreme_scores_give_probabilities(scores, positive):
    scores, positive = np.array(scores), np.array(positive)
    for method in ("sigmoid", "isotonic"):
        p = fit_calibrator(method, scores, positive).predict(scores)
        assert ((p >= 0) & (p <= 1)).all()


def test_no_row_is_certain():
    scores, positive = np.arange(-5.0, 5.0), np.arange(-5, 5) >= 0
    for method in ("sigmoid", "isotonic"):
        p = fit_calibrator(method, scores, positive).predict(10 * scores)
        assert 0 < p.min() < 0.2
        assert 0.8 < p.max() < 1


@pytest.mark.parametrize("method", [True, "sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", [LinearSVC, LinearSVCCV])
def test_they_are_as_good_as_scikit_learns(kind, method):
    X, y, test, truth = binary()
    name = "sigmoid" if method == "sigmoid" else "isotonic"
    model = kind(probability=method, random_state=0).fit(X, y)
    C = getattr(model, "C_", 1.0)
    peer = CalibratedClassifierCV(LinearSVC(C=C), method=name, cv=5, ensemble=False).fit(X, y)
    p = model.predict_proba(test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    ours = brier_score_loss(truth, p[:, 1])
    assert ours <= brier_score_loss(truth, peer.predict_proba(test)[:, 1]) * 1.01
    np.testing.assert_allclose(model.predict_log_proba(test), np.log(p))
    np.testing.assert_array_equal(model.predict(test), (model.decision_function(test) > 0) * 1)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_several_classes_sum_to_one_and_mean_something(multi_class, method):
    X, y = make_blobs(1200, 5, centers=4, cluster_std=6.0, random_state=1)
    X = X / 10
    model = LinearSVC(multi_class=multi_class, probability=method, random_state=0)
    model.fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    assert p.shape == (600, 4)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    uniform = np.log(4)
    assert log_loss(y[1::2], p) < 0.7 * uniform
    agreement = (p.argmax(axis=1) == model.predict(X[1::2])).mean()
    assert agreement > 0.9


def test_coupling_recovers_probabilities_that_agree():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=50)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    pairwise = np.column_stack([p[:, j] / (p[:, i] + p[:, j]) for i, j in pairs])
    np.testing.assert_allclose(couple(pairwise, 4), p, atol=0.02)


def test_sample_weights_count_as_rows():
    X, y, test, _ = binary(800)
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    heavy = LinearSVC(probability=True, random_state=0).fit(X, y, weight)
    plain = LinearSVC(probability=True, random_state=0).fit(X, y)
    assert np.abs(heavy.predict_proba(test) - plain.predict_proba(test)).max() > 1e-4


def test_without_it_a_kernel_machine_has_none_either():
    """It is how tools ask; the attribute was there, and the call raised."""
    X, y, _, _ = binary(100)
    plain, asked = SVC().fit(X, y), SVC(probability=True).fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(plain, name)
        assert hasattr(asked, name)


def test_without_it_there_is_no_predict_proba():
    X, y, _, _ = binary(400)
    model = LinearSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    peer = CalibratedClassifierCV(LinearSVC(random_state=0)).fit(X, y)
    np.testing.assert_allclose(peer.predict_proba(X).sum(axis=1), 1)
    model.set_params(probability=True)  # not fitted so
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="probability must be"):
        LinearSVC(probability="softmax").fit(X, y)
    with pytest.raises(ValueError, match="two examples of every class"):
        LinearSVC(probability=True).fit(X[:5], [0, 0, 0, 0, 1])
