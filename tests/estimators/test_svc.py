"""SVC: the optimum of LIBSVM, with a proof."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC as Peer  # noqa: N811
from sklearn.utils.estimator_checks import parametrize_with_checks

import pegasos
from pegasos.kernel.kernels import Kernel, gamma_of
from pegasos.kernel.points import Points
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.smo import SMO, Looks
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions


@parametrize_with_checks([pegasos.SVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=700, d=6, seed=0, classes=2):
    X, y = make_classification(
        n, d, n_informative=4, n_classes=classes, flip_y=0.1, random_state=seed
    )
    return X, y


def dual_of(model, X, y):
    """LIBSVM's dual objective of a binary model."""
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    gamma = gamma_of(model.gamma, X, np.ones(len(y)))
    f = Points(Kernel("rbf", gamma), X).scores(X, coef)
    return np.abs(coef).sum() - coef @ f / 2


KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto", "C": 10.0},
    {"kernel": "linear", "C": 0.1},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
]


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_are_those_of_libsvm(options, classes):
    X, y = data(classes=classes)
    ours = pegasos.SVC(tol=1e-8, **options).fit(X, y)
    theirs = Peer(tol=1e-7, **options).fit(X, y)
    for shape in ("ovr", "ovo"):
        ours.decision_function_shape = theirs.decision_function_shape = shape
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=2e-3
        )
    # Pairs that tie are decided by their scores here, by the order of classes there.
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98
    assert ours.dual_coef_.shape[0] == classes - 1
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_the_dual_objective_is_libsvm_s(C):
    X, y = data(2000, 10, seed=1)
    ours = pegasos.SVC(C=C, tol=1e-6).fit(X, y)
    theirs = Peer(C=C, tol=1e-6).fit(X, y)
    assert dual_of(ours, X, y) == pytest.approx(dual_of(theirs, X, y), rel=1e-5)


def test_the_certificate_bounds_the_optimum():
    X, y = data()
    exact = pegasos.SVC(tol=1e-10).fit(X, y)
    for tol in (1e-1, 1e-2, 1e-3):
        proof = pegasos.SVC(tol=tol).fit(X, y).certificate_
        assert proof.relative_gap <= tol
        assert proof.dual <= exact.certificate_.primal + 1e-12
        assert proof.primal >= exact.certificate_.dual - 1e-12


def test_the_certificate_is_that_of_the_model():
    X, y = data()
    model = pegasos.SVC(C=2.0, tol=1e-2).fit(X, y)
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    square = coef @ rbf_kernel(X, gamma=gamma_of("scale", X, np.ones(len(y)))) @ coef
    signs = np.where(y == 1, 1, -1)
    loss = np.maximum(0, 1 - signs * model.decision_function(X)).sum()
    assert model.certificate_.primal == pytest.approx((square / 2 + 2.0 * loss) / (2.0 * len(y)))
    assert model.certificate_.dual == pytest.approx(
        (np.abs(coef).sum() - square / 2) / (2.0 * len(y))
    )


@pytest.mark.parametrize("options", [*KERNELS, {"kernel": "rbf", "intercept": "none"}], ids=str)
def test_sparse_rows_give_the_same_model(options):
    X, y = data(300)
    X[np.abs(X) < 0.5] = 0
    dense = pegasos.SVC(tol=1e-8, **options).fit(X, y)
    thin = pegasos.SVC(tol=1e-8, **options).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_matrix(X)), dense.decision_function(X), atol=1e-3
    )


def test_matrices_and_functions_are_kernels_too():
    X, y = data(300)
    gamma = 0.2
    plain = pegasos.SVC(gamma=gamma, tol=1e-8).fit(X, y)
    matrix = pegasos.SVC(kernel="precomputed", tol=1e-8).fit(rbf_kernel(X, gamma=gamma), y)
    function = pegasos.SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=gamma), tol=1e-8).fit(X, y)
    expected = plain.decision_function(X)
    np.testing.assert_allclose(
        matrix.decision_function(rbf_kernel(X, gamma=gamma)), expected, atol=1e-5
    )
    np.testing.assert_allclose(function.decision_function(X), expected, atol=1e-5)


def test_a_small_cache_changes_nothing_that_is_proven():
    X, y = data(3000, 10, seed=2)
    large = pegasos.SVC(tol=1e-4).fit(X, y)
    small = pegasos.SVC(tol=1e-4, cache_size=0.1).fit(X, y)
    assert small.certificate_.relative_gap <= 1e-4
    assert small.certificate_.primal == pytest.approx(large.certificate_.primal, rel=2e-4)


def test_weights_are_repeated_rows():
    X, y = data(200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    weighed = pegasos.SVC(class_weight={0: 2}).fit(X, y, sample_weight=weight)
    twice = np.repeat(np.arange(200), weight * np.where(y == 0, 2, 1))
    # A class weight is in the cost alone: gamma is that of the rows as they are.
    gamma = gamma_of("scale", X, weight.astype(float))
    repeated = pegasos.SVC(gamma=gamma).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        weighed.decision_function(X), repeated.decision_function(X), atol=1e-7
    )


def test_what_512_rows_do_not_show_is_found_on_the_way():
    X, y = data(3000)
    K = rbf_kernel(X, gamma=0.2)
    K[1, 1] = -5.0
    with pytest.raises(ValueError, match=r"not positive semidefinite.*for row 1"):
        pegasos.SVC(kernel="precomputed").fit(K, np.sort(y))
    # Two rows of different classes, none of them looked at, that are more alike than equal ones.
    K = rbf_kernel(X, gamma=0.2)
    i, j = 1, int(np.flatnonzero(y != y[1])[3])
    K[i, j] = K[j, i] = 3.0
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pegasos.SVC(kernel="precomputed", C=100.0).fit(K, y)


def test_kernels_that_are_no_kernels_are_refused():
    X, y = data(100)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pegasos.SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    K = -rbf_kernel(X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pegasos.SVC(kernel="precomputed").fit(K, y)
    K = rbf_kernel(X)
    K[3, 4] += 1
    with pytest.raises(ValueError, match="not symmetric"):
        pegasos.SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="n x n"):
        pegasos.SVC(kernel="precomputed").fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0}, "C must be"),
        ({"kernel": "no"}, "kernel must be"),
        ({"gamma": -1}, "gamma must be"),
        ({"gamma": "no"}, "gamma must be"),
        ({"tol": -1}, "tol"),
        ({"intercept": "some"}, "intercept must be"),
        ({"multi_class": "crammer_singer"}, "multi_class must be"),
        ({"probability": "no"}, "probability must be"),
        ({"cache_size": 0}, "cache_size"),
        ({"decision_function_shape": "no"}, "decision_function_shape"),
    ],
)
def test_wrong_options_are_named(options, words):
    X, y = data(30)
    with pytest.raises(ValueError, match=words):
        pegasos.SVC(**options).fit(X, y)


def test_limits_end_a_fit_with_a_proof():
    X, y = data(2000, 10)
    with pytest.warns(ConvergenceWarning, match="max_steps"):
        model = pegasos.SVC(max_iter=50, tol=1e-9).fit(X, y)
    assert np.isfinite(model.certificate_.primal)
    assert model.certificate_.dual <= pegasos.SVC(tol=1e-6).fit(X, y).certificate_.primal
    with pytest.warns(ConvergenceWarning, match="max_time"):
        pegasos.SVC(max_time=1e-6, tol=1e-9).fit(X, y)
    stopped = pegasos.SVC(solver="pegasos", callbacks=[lambda _: True], tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="callback"):
        stopped.fit(X, y)


def test_clones_and_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = clone(pegasos.SVC(C=10.0)).fit(X, names)
    assert model.score(X, names) > 0.95
    assert model.certificate_.relative_gap.shape == (3,)


def test_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    model = pegasos.SVC(multi_class="ovr", C=10.0, tol=1e-6).fit(X, y)
    assert model.dual_coef_.shape == (3, model.support_.size)
    scores = model.decision_function(X)
    for k in range(3):
        alone = pegasos.SVC(C=10.0, tol=1e-6, gamma=model._kernel.gamma).fit(X, y == k)
        np.testing.assert_allclose(scores[:, k], alone.decision_function(X), atol=1e-4)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_rows_held_out(scheme, classes):
    X, y = data(600, classes=classes)
    model = pegasos.SVC(probability="sigmoid", multi_class=scheme).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X[400:]))
    assert np.mean(p.argmax(axis=1) == y[400:]) > 0.75
    peer = CalibratedClassifierCV(Peer(), method="sigmoid", ensemble=False).fit(X[:400], y[:400])
    losses = [log_loss(y[400:], one.predict_proba(X[400:])) for one in (model, peer)]
    assert losses[0] < losses[1] + 0.05
    matrix = pegasos.SVC(kernel="precomputed", probability="sigmoid", multi_class=scheme)
    gamma = model._kernel.gamma
    matrix.fit(rbf_kernel(X[:400], gamma=gamma), y[:400])
    np.testing.assert_allclose(
        matrix.predict_proba(rbf_kernel(X[400:], X[:400], gamma=gamma)), p, atol=0.02
    )
    assert not hasattr(pegasos.SVC(), "predict_proba")


def test_threads_change_nothing():
    X, y = data(20_000)
    one, two = (pegasos.SVC(n_jobs=jobs, C=0.1).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    X, y = data(3000, classes=3)  # pairs side by side share the cache
    # Each is within tol; votes are not compared, as a pair that is undecided may cast either.
    options = {"decision_function_shape": "ovo"}
    one, two = (pegasos.SVC(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=0.1)
    assert two.certificate_.relative_gap.max() <= 1e-3


def test_looks_on_the_way_change_nothing():
    X, labels = data(1500)
    y = np.where(labels == 1, 1.0, -1.0)
    gram = Points(Kernel("rbf", gamma_of("scale", X, np.ones(1500))), X)
    problem = KernelProblem(gram, y, np.full(1500, 0.1), 10.0, 1500.0, "free")
    options = RunOptions(tol=0.1, limits=Limits(), seed=0)
    often = Looks(values=0, certificates=0.0, growth=1.0)  # whenever the gap is looked at
    rare, many = (run(problem, SMO(looks=looks), options) for looks in (Looks(), often))
    np.testing.assert_array_equal(rare.W, many.W)
    assert many.history["epoch"].size > rare.history["epoch"].size


def test_rows_that_are_left_out_come_back():
    X, y = data(6000, 8, seed=3)
    records = []
    model = pegasos.SVC(C=30.0, tol=1e-5, callbacks=[records.append], cache_size=20)
    proof = model.fit(X, y).certificate_
    assert proof.relative_gap <= 1e-5
    assert records[-1].certificate == proof
    theirs = Peer(C=30.0, tol=1e-5).fit(X, y)
    assert dual_of(model, X, y) == pytest.approx(dual_of(theirs, X, y), rel=1e-5)


def test_values_too_large_for_a_kernel_are_named():
    X, y = data(30)
    with pytest.raises(ValueError, match="too large for float32"):
        pegasos.SVC(kernel="poly", degree=9, gamma=1.0).fit(1e5 * X, y)
    with pytest.raises(ValueError, match="not finite"):
        pegasos.SVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, np.float32])
def test_rows_far_from_the_origin_lose_no_digits(offset, make):
    if offset > 1e3 and make is not np.asarray:
        offset = 1e3
    X, y = data(300)
    X = make(X + offset)
    ours = pegasos.SVC(gamma=0.2).fit(X, y)
    theirs = Peer(gamma=0.2, tol=1e-6).fit(X, y)
    assert ours.stop_reason_ == "converged"
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-3 * max(1, offset / 1e5)
    )
    shown, given = ours.support_vectors_, X[ours.support_]
    assert (shown != given).sum() == 0


@pytest.mark.parametrize("scale", [1e-20, 1e-12, 1e12, 1e19, 1e100])
def test_any_scale_fits_with_its_gamma(scale):
    X, y = data(200)
    plain, scaled = pegasos.SVC().fit(X, y), pegasos.SVC().fit(scale * X, y)
    np.testing.assert_allclose(
        plain.decision_function(X), scaled.decision_function(scale * X), atol=1e-5
    )
    with pytest.raises(ValueError, match="too large"):
        pegasos.SVC(gamma=1.0).fit(1e200 * X, y)


def test_a_gap_that_rounding_could_hide_is_not_called_proven():
    X, y = data(200)
    with pytest.warns(ConvergenceWarning, match="precision"):
        model = pegasos.SVC(gamma=1e10).fit(1e3 * X, y)
    assert model.certificate_.rounding > 1e-3 * model.certificate_.dual


@pytest.mark.parametrize("C", [1e3, 1e4])
def test_what_converged_is_within_tol(C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0, 1, 0)
    model = pegasos.SVC(kernel="linear", C=C).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.certificate_.relative_gap <= 1e-3
    assert model.history_["relative_gap"][-1] == model.certificate_.relative_gap


def test_a_model_without_support_vectors_predicts():
    X, y = data(100, classes=3)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = pegasos.SVC(max_time=1e-9).fit(X, y)
    assert model.predict(X).shape == (100,)


def test_kernels_without_values_are_named():
    X, y = data(50)
    with pytest.raises(ValueError, match="not finite"):
        pegasos.SVC(kernel="poly", degree=0.5).fit(X, y)
    with pytest.raises(ValueError, match="zero for class 0"):
        pegasos.SVC(class_weight={0: 0}).fit(X, y)
