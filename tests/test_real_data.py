"""On the real data sets, where they are: the same proofs, and what a peer finds."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC as PeerLinearSVC

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
