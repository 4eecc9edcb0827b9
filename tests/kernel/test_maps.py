"""Features in place of a kernel: what they are, and that the proof holds for them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from tests.common.reference import primal

import pegasos
from pegasos.kernel import maps
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.maps import MappedRows, make_map

KERNEL = Kernel("rbf", 0.2)


def data(n=900, classes=2, seed=0):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=seed
    )


def features(made, X):
    Z = made.raw(X)
    return Z if made.transform is None else Z @ made.transform


def test_nystroem_is_exact_on_its_landmarks_and_scikit_learn_s():
    X, _ = data()
    made = make_map("nystroem", KERNEL, X, 50, 0)
    Z = features(made, made.landmarks)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(made.landmarks, gamma=0.2), atol=1e-7)
    theirs = Nystroem(gamma=0.2, n_components=50, random_state=0).fit(X)
    theirs.components_ = made.landmarks
    U, S, V = np.linalg.svd(rbf_kernel(made.landmarks, gamma=0.2))
    theirs.normalization_ = np.dot(U / np.sqrt(S), V)
    ours = features(made, X)
    np.testing.assert_allclose(
        ours @ ours.T, theirs.transform(X) @ theirs.transform(X).T, atol=1e-6
    )
    assert (np.einsum("ij,ij->i", ours, ours) <= made.norm_bounds(X) + 1e-9).all()


def test_fourier_features_come_near_the_kernel():
    X, _ = data()
    made = make_map("fourier", KERNEL, X, 4000, 0)
    Z = features(made, X[:100])
    assert np.abs(Z @ Z.T - rbf_kernel(X[:100], gamma=0.2)).max() < 0.1


@pytest.mark.parametrize("method", maps.METHODS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_blocks_hold_the_rows(method, make):
    X, _ = data()
    made = make_map(method, KERNEL, make(X), 30, 0)
    rows = MappedRows(make(X), made, 8 * 30 * 200)
    ranges = rows.parts()
    assert len(ranges) > 2
    assert all(lo % 128 == 0 for lo, _ in ranges)
    assert [lo for lo, _ in ranges[1:]] == [hi for _, hi in ranges[:-1]]
    expected = made.raw(make(X))
    for lo, hi in ranges:
        np.testing.assert_allclose(rows.block(lo, hi, 2), expected[lo:hi], atol=1e-12)
        only = np.zeros(hi - lo, dtype=bool)
        only[::7] = True
        some = rows.block(lo, hi, 1, only)
        np.testing.assert_allclose(some[only], expected[lo:hi][only], atol=1e-12)
    coef = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_allclose(
        made.scores(make(X), coef, 1), features(made, make(X)) @ coef, atol=1e-8
    )


@pytest.mark.parametrize("solver", ["interior", "newton"])
@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
@pytest.mark.parametrize("method", maps.METHODS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_by_blocks_is_as_in_memory(solver, intercept, method, loss):
    X, y = data()
    made = make_map(method, KERNEL, X, 30, 0)
    options = {"C": 2.0, "tol": 1e-6, "intercept": intercept, "solver": solver, "loss": loss}
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size)
    ours = pegasos.solve(MappedRows(X, made, 8 * 30 * 200), y, sample_weight=weight, **options)
    whole = pegasos.solve(features(made, X), y, sample_weight=weight, **options)
    assert ours.certificate.relative_gap <= 1e-6
    assert ours.certificate.primal == pytest.approx(whole.certificate.primal, rel=3e-6)
    signs = np.where(y == 1, 1, -1).astype(np.int8)
    Z = features(made, X)
    if intercept == "regularized":
        Z = np.column_stack([Z, np.ones(y.size)])
    w = np.append(ours.w, ours.b) if intercept == "regularized" else ours.w
    expected = primal(
        Z, signs, weight, 0.5, weight.sum(), w, ours.b if intercept == "free" else 0.0,
        power=2 if loss == "squared_hinge" else 1,
    )  # fmt: skip
    assert ours.certificate.primal == pytest.approx(expected, rel=1e-9)


def test_a_sample_first_is_one_of_blocks_too():
    X, y = data(20_000)
    made = make_map("nystroem", KERNEL, X, 20, 0)
    ours = pegasos.solve(MappedRows(X, made, 8 * 20 * 5000), y, C=1.0, tol=1e-4, solver="newton")
    whole = pegasos.solve(features(made, X), y, C=1.0, tol=1e-4, solver="newton")
    assert ours.epochs == pytest.approx(whole.epochs, abs=0.2)
    assert ours.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-4)


@pytest.mark.parametrize("method", maps.METHODS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_svc_with_an_approximation(method, classes, scheme):
    X, y = data(1500, classes)
    model = pegasos.SVC(
        approximation=method, n_components=200, multi_class=scheme, probability="sigmoid",
        random_state=0,
    ).fit(X[:1000], y[:1000])  # fmt: skip
    exact = pegasos.SVC(multi_class=scheme).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > exact.score(X[1000:], y[1000:]) - 0.05
    assert np.max(model.certificate_.relative_gap) <= 1e-3
    assert "not the kernel's own" in model.certificate_of_
    assert "own" in exact.certificate_of_
    np.testing.assert_allclose(model.predict_proba(X[1000:]).sum(axis=1), 1)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(X)), model.decision_function(X), atol=1e-6
    )
    assert not hasattr(model, "support_")
    assert model.set_params(approximation=None, probability=False).fit(X, y).support_.size
    assert not hasattr(model, "map_")


def test_all_rows_as_landmarks_are_the_kernel_itself():
    X, y = data(300)
    model = pegasos.SVC(approximation="nystroem", tol=1e-6).fit(X, y)
    exact = pegasos.SVC(tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"approximation": "some"}, "approximation must be"),
        ({"approximation": "fourier", "kernel": "poly"}, "kernel='rbf'"),
        ({"approximation": "nystroem", "kernel": "precomputed"}, "precomputed"),
        ({"approximation": "nystroem", "n_components": 0}, "n_components"),
        ({"approximation": "nystroem", "solver": "pegasos"}, "approximation is trained by"),
    ],
)
def test_wrong_options_are_named(options, words):
    X, y = data(40)
    with pytest.raises(ValueError, match=words):
        pegasos.SVC(**options).fit(X, y)


def test_other_solvers_say_that_they_cannot():
    X, y = data(100)
    for method, solver in (("nystroem", "dual"), ("fourier", "sgds"), ("nystroem", "pegasos")):
        rows = MappedRows(X, make_map(method, KERNEL, X, 10, 0))
        with pytest.raises(ValueError, match="made by blocks"):
            pegasos.solve(rows, y, C=1.0, solver=solver)


def test_landmarks_are_spread_out():
    rng = np.random.default_rng(0)
    # Thirty places, of which one has nearly all rows: draws at random would miss most.
    places = 5 * rng.normal(size=(30, 6))
    X = places[np.where(rng.uniform(size=3000) < 0.97, 0, rng.integers(0, 30, 3000))]
    chosen = maps.spread_out(KERNEL, X, 40, np.random.default_rng(1))
    assert np.unique(chosen).size == 40
    assert len(np.unique(X[chosen].round(6), axis=0)) == len(np.unique(X.round(6), axis=0))
    some = maps.spread_out(KERNEL, rng.normal(size=(60, 6)), 100, np.random.default_rng(1))
    np.testing.assert_array_equal(some, np.arange(60))
