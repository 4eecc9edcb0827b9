"""On the real data sets, where they are: the same proofs, and what a peer finds."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC as PeerLinearSVC
from tests.common.reference import margin_perceptron

import pegasos

FOLDER = os.environ.get("PEGASOS_DATA")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="PEGASOS_DATA is not set")


def load(name):
    X, y = load_svmlight_file(str(Path(FOLDER) / name), dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # the peer's
    return X, y


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("name", ["a9a", "w8a", "rcv1_ccat_subset.svm.gz"])
def test_certified_at_default_settings_and_bracketing_a_peer(name):
    X, y = load(name)
    result = pegasos.solve(X, y, C=0.1, intercept="none", seed=0)
    assert result.stop_reason == "converged"
    again = pegasos.certify(X, y, result.w, duals=result.duals, C=0.1)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-9)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-9)
    peer = PeerLinearSVC(C=0.1, loss="hinge", fit_intercept=False, random_state=0).fit(X, y)
    found = pegasos.certify(X, y, peer.coef_[0], C=0.1).primal
    assert result.certificate.dual <= found * (1 + 1e-9)
    assert result.certificate.primal <= found * (1 + result.certificate.relative_gap + 1e-9)


@pytest.mark.parametrize("solver", ["sgds", "sgdm", "pegasos", pegasos.Pegasos(batch_size=100)])
def test_stochastic_solvers_get_close_on_a9a(solver):
    X, y = load("a9a")
    best = pegasos.solve(X, y, lam=1e-4, intercept="none", tol=1e-3, seed=0).certificate
    result = pegasos.solve(X, y, lam=1e-4, solver=solver, intercept="none", max_epochs=30, seed=0)
    assert best.dual <= result.certificate.primal <= 1.1 * best.primal
    assert result.certificate.dual <= best.primal


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_partial_fit_is_sgd_on_a9a_whatever_the_batches(size):
    X, y = load("a9a")
    n = 1500 if size == 1 else y.size  # scikit-learn's checks of a row take most of a millisecond
    model = pegasos.LinearSVC(lam=1e-4)
    for lo in range(0, n, size):
        rows = slice(lo, min(n, lo + size))
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
    Z = np.column_stack([X[:n].toarray(), np.ones(n)]).astype(np.float64)
    *_, (u, t) = margin_perceptron(Z, y[:n].astype(np.int8), np.ones(n), 1e-4, range(n))
    found = np.append(model.coef_[0], model.intercept_)
    np.testing.assert_allclose(found, u / (1e-4 * t), atol=1e-9)
