"""LinearSVC: scikit-learn's interface, one-vs-rest as lanes, and the certificate."""

import contextlib
import os
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as PeerLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import pegasos
from pegasos import LinearSVC


# Some checks weigh a class 10^7 times another: the warning is due, the prediction still right.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def binary(n=300, seed=0):
    X, y = make_classification(n, 8, n_informative=4, flip_y=0.1, random_state=seed)
    return X, y


def several(n=300):
    return make_blobs(n, 5, centers=4, cluster_std=4.0, random_state=1)


def test_the_fit_is_proven_within_tol():
    X, y = binary()
    model = LinearSVC(C=0.01, tol=1e-5, random_state=0).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.certificate_.relative_gap <= 1e-5
    assert model.dual_gap_ == model.certificate_.gap
    assert model.objective_ == model.certificate_.primal
    assert model.history_["gap"][-1] == model.dual_gap_
    losses = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
    w2 = (model.coef_**2).sum()  # the intercept is free
    assert (100 * w2 / 2 + losses.sum()) / len(y) == pytest.approx(model.objective_, rel=1e-10)


@pytest.mark.parametrize(
    "options",
    [{"intercept": "regularized"}, {"fit_intercept": False}, {"intercept_scaling": 3.0}],
    ids=str,
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("data", [binary, several])
def test_it_is_the_model_scikit_learn_approaches(options, data, loss):
    X, y = data()
    X = StandardScaler().fit_transform(X)
    ours = LinearSVC(C=0.3, loss=loss, tol=1e-9, random_state=0, **options).fit(X, y)
    options = {name: value for name, value in options.items() if name != "intercept"}
    peer = PeerLinearSVC(
        C=0.3, loss=loss, tol=1e-9, max_iter=1_000_000, random_state=0, **options
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}, {0: 0.5, 1: 2.0}])
@pytest.mark.parametrize("data", [binary, several])
def test_class_weights_mean_what_they_mean_in_scikit_learn(class_weight, data):
    X, y = data()
    X = StandardScaler().fit_transform(X)
    options = {"C": 0.3, "class_weight": class_weight, "random_state": 0}
    ours = LinearSVC(tol=1e-9, intercept="regularized", **options).fit(X, y)
    peer = PeerLinearSVC(loss="hinge", tol=1e-9, max_iter=1_000_000, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=2e-3, atol=2e-3)


def test_balanced_counts_sample_weights_as_rows():
    X, y = binary(60)
    counts = np.random.default_rng(0).integers(1, 4, size=60)
    options = {"class_weight": "balanced", "tol": 1e-10, "max_iter": 20_000, "random_state": 0}
    weighted = LinearSVC(**options).fit(X, y, sample_weight=counts)
    repeated = LinearSVC(**options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-5)


def test_lam_is_C_in_other_words():
    X, y = binary()
    a = LinearSVC(C=0.5, random_state=0).fit(X, y)
    b = LinearSVC(lam=1 / (0.5 * 300), random_state=0).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_)


def test_several_classes_are_lanes_with_a_certificate_each():
    X, y = several()
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    model = LinearSVC(C=1e-3, random_state=0).fit(X, names)
    assert model.coef_.shape == (4, 5)
    assert model.certificate_.relative_gap.shape == (4,)
    assert (model.certificate_.relative_gap <= model.tol).all()
    assert model.decision_function(X).shape == (300, 4)
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names) > 0.6


@pytest.mark.parametrize(
    "solver", ["dual", "sgds", "sgdm", "sgdr", "pegasos", pegasos.Pegasos(batch_size=20)], ids=str
)
def test_every_solver_can_be_asked_for(solver):
    X, y = binary()
    model = LinearSVC(C=0.01, solver=solver, tol=0.1, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 0.1
    assert model.score(X, y) > 0.7


def test_an_intercept_is_free_unless_the_solver_or_its_scaling_says_otherwise():
    X, y = binary()
    free = LinearSVC(C=0.01, tol=1e-6).fit(X, y)
    asked = LinearSVC(C=0.01, tol=1e-6, intercept="free", solver="interior").fit(X, y)
    np.testing.assert_allclose(free.objective_, asked.objective_, rtol=3e-6)
    penalised = LinearSVC(C=0.01, tol=1e-6, intercept="regularized").fit(X, y)
    assert penalised.objective_ > free.objective_ * (1 + 1e-5)
    scaled = LinearSVC(C=0.01, tol=1e-6, intercept_scaling=2.0).fit(X, y)
    assert free.objective_ < scaled.objective_ < penalised.objective_


def test_auto_says_what_it_chose_and_why():
    X, y = binary()
    model = LinearSVC(C=0.01).fit(X, y)
    assert model.solver_.name in ("dual", "interior")
    assert "300 rows" in model.solver_reason_
    assert LinearSVC(solver="dual", C=0.01).fit(X, y).solver_reason_ == "as asked for"


def test_a_fit_that_stops_early_warns_how_far_it_may_be():
    X, y = binary()
    with pytest.warns(ConvergenceWarning, match=r"max_epochs.*within [0-9.]+% of it"):
        model = LinearSVC(C=0.01, tol=1e-12, max_iter=3, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_epochs"
    assert model.n_iter_ == 3


def test_a_fit_far_from_the_optimum_says_how_many_times():
    X, y = binary()
    with pytest.warns(ConvergenceWarning, match=r"at most [0-9.]+ times the optimum"):
        LinearSVC(C=100, tol=1e-12, solver="dual", max_iter=3, random_state=0).fit(X, y)


def test_a_gap_below_its_rounding_is_not_called_proven():
    # Separable at a margin of 1e9: P* is 1e-21, far below the rounding of the losses around 1.
    X = np.array([[-1338432519.4768548, 361253748.64337677],
                  [1292893050.1938052, 453671264.25696814],
                  [-1690159942.9769263, -728195027.4352487]])  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="Rounding errors|proven to be"):
        model = LinearSVC(C=32.2, fit_intercept=False, random_state=0).fit(X, [-1, 1, -1])
    assert model.stop_reason_ != "converged"


def test_warm_start_continues_from_the_duals():
    X, y = binary(2000)
    model = LinearSVC(C=0.01, tol=1e-4, solver="dual", warm_start=True, random_state=0).fit(X, y)
    cold = model.n_iter_
    model.set_params(random_state=1).fit(X, y)
    assert model.n_iter_ < cold / 2
    assert model.certificate_.relative_gap <= 1e-4
    model.set_params(C=0.005).fit(X, y)  # the old duals leave the new box: they are clipped
    assert model.certificate_.relative_gap <= 1e-4
    model.fit(X[:500], y[:500])  # other rows: a cold start, not an error
    with pytest.raises(ValueError, match="would ignore warm_start"):
        LinearSVC(solver="pegasos", warm_start=True).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l1"}, "L1 penalties"),
        ({"loss": "logistic"}, "loss must be 'hinge'"),
        ({"loss": "squared_hinge", "solver": "sgds"}, "trains the hinge loss only"),
        ({"multi_class": "all"}, "multi_class must be one of"),
        ({"max_iter": 0}, "max_iter must be positive"),
        ({"C": -1.0}, "C must be finite and positive"),
        ({"lam": 0.0}, "lam must be finite and positive"),
        ({"tol": -1.0}, "tol must be"),
        ({"intercept": "free", "solver": "sgds"}, "cannot train intercept='free'"),
        ({"fit_intercept": False, "intercept": "regularized"}, "contradicts"),
        ({"class_weight": "heavy"}, "class_weight must be"),
        ({"class_weight": {9: 1.0}}, "class 9, which is not in y"),
        ({"class_weight": {0: -1.0}}, r"class_weight\[0\] must be finite and not negative"),
        ({"solver": "nope"}, "solver must be one of"),
    ],
)
def test_bad_options_are_named(options, message):
    X, y = binary()
    with pytest.raises(ValueError, match=message):
        LinearSVC(**options).fit(X, y)


def test_it_works_where_scikit_learn_estimators_work():
    X, y = binary()
    pipeline = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    assert cross_val_score(pipeline, X, y).mean() > 0.7
    search = GridSearchCV(LinearSVC(random_state=0), {"C": [0.01, 0.1]}, cv=2).fit(X, y)
    assert search.best_params_["C"] in (0.01, 0.1)
    model = clone(search.best_estimator_).fit(X, y)
    copy = deepcopy(model)  # check_estimator pickles it
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_sparsify_and_densify_keep_the_scores():
    X, y = binary()
    model = LinearSVC(random_state=0).fit(X, y)
    before = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), before)
    np.testing.assert_allclose(model.decision_function(sparse.csr_array(X)), before)
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(X), before)
    with pytest.raises(NotFittedError):
        LinearSVC().sparsify()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32])
def test_narrow_types_predict_as_their_values(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(100, 6)).astype(dtype)
    y = (X[:, 0].astype(float) > X[:, 1]).astype(int)
    model = LinearSVC(C=1e-3, random_state=0).fit(X, y)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(model.decision_function(X), model.decision_function(wide), rtol=1e-6)


def test_whole_numbers_keep_their_digits():
    big = 2**24
    X = np.array([[big, 0], [big + 1, 0], [big, 1], [big + 1, 1]] * 5, dtype=np.int64)
    y = X[:, 0] > big
    model = LinearSVC(C=1e3, fit_intercept=True, intercept_scaling=1e7, max_iter=5)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    exact = pegasos.certify(
        X.astype(np.float64), y, model.coef_[0], model.intercept_, C=1e3,
        intercept="regularized", intercept_scaling=1e7,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(exact.primal, rel=1e-12)


@pytest.mark.parametrize("weight", [np.ones(7), np.ones((300, 2)), "heavy"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_bad_sample_weights_are_named(weight, class_weight):
    X, y = binary()
    with pytest.raises((TypeError, ValueError), match="sample_weight"):
        LinearSVC(class_weight=class_weight).fit(X, y, sample_weight=weight)


def test_verbose_is_silent_away_from_a_terminal(capsys):
    X, y = binary()
    LinearSVC(verbose=1, random_state=0).fit(X, y)
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_verbose_shows_the_gap_on_a_terminal():
    script = (
        "import numpy as np, pegasos; rng = np.random.default_rng(0);"
        "X = rng.standard_normal((40_000, 30)); y = X[:, 0] + rng.standard_normal(40_000) > 0;"
        "pegasos.LinearSVC(verbose=1, tol=0.3, random_state=0).fit(X, y)"
    )
    mine, its = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stderr=its, env=os.environ | {"TERM": "xterm"}
    )
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal's output with an error
        while chunk := os.read(mine, 4096):
            shown += chunk
    os.close(mine)
    assert process.wait() == 0
    assert b"LinearSVC" in shown


def test_callbacks_reach_the_fit():
    X, y = binary(3000)
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = LinearSVC(
            tol=1e-12, callbacks=[lambda record: seen.append(record) or True], random_state=0
        ).fit(X, y)
    assert len(seen) == 1
    assert model.stop_reason_ == "callback"
