"""What becomes of a run when parts lose what they kept of it, or the cluster ends."""

import time

import dask.array as da
import numpy as np
import pytest

import pegasos
import pegasos.dask
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.errors import PartsLostError
from pegasos.testing.chunked import blocks, text, toy


@pytest.mark.parametrize("command", ["on_passes", "gap_sums"])
@pytest.mark.parametrize("solver", ["newton", "interior"])
def test_a_run_on_a_lane_starts_again(client, monkeypatch, solver, command):
    X, y = toy()
    chunked = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    ask, asked = Cluster.ask, []

    def forgetful(self, name, common=None, each=None):
        asked.append(name)
        if asked.count(name) == (12 if name == "on_passes" else 1) and name == command:
            ask(self, "end_passes", {"lane": 0})  # as parts that have come up anew
        return ask(self, name, common, each)

    undisturbed = pegasos.dask.LinearSVC(solver=solver, intercept="none").fit(*chunked)
    monkeypatch.setattr(Cluster, "ask", forgetful)
    model = pegasos.dask.LinearSVC(solver=solver, intercept="none").fit(*chunked)
    assert asked.count("start_passes") == 2
    assert model.stop_reason_ == "converged"
    assert model.certificate_.primal <= undisturbed.certificate_.primal * (1 + 1e-3)
    assert model.n_iter_ > undisturbed.n_iter_  # those before the loss are counted


@pytest.mark.parametrize("command", ["step", "gap_sums", "look"])
def test_rounds_go_on_from_the_duals_of_the_last_certificate(client, monkeypatch, command):
    """All parts lose their duals, and get those back that were saved."""
    X, y = text()
    chunked = blocks(X, 400), da.from_array(y, chunks=400)
    ask, asked, restored = Cluster.ask, [], []

    def forgetful(self, name, common=None, each=None):
        asked.append(name)
        if name == "restore":
            restored.extend(each)
        if name == command and asked.count("gap_sums") >= 1 and "lost" not in asked:
            asked.append("lost")
            ask(self, *self.setup[1])
            raise PartsLostError
        return ask(self, name, common, each)

    options = {"solver": "dual", "C": 10.0, "tol": 1e-5, "intercept": "free", "random_state": 0}
    monkeypatch.setattr(Cluster, "ask", forgetful)
    model = pegasos.dask.LinearSVC(callbacks=[lambda _: None], **options).fit(*chunked)
    assert "lost" in asked
    assert restored
    assert model.certificate_.relative_gap <= 1e-5
    local = pegasos.LinearSVC(C=10.0, tol=1e-5, intercept="free").fit(X, y)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-5)


def test_the_cluster_ends_while_lanes_go_side_by_side(client, monkeypatch):
    """Lanes that were certified keep their models; of the others, w = 0 is known."""
    X, y = toy(classes=3)
    chunked = da.from_array(X, chunks=(300, -1)), da.from_array(y, chunks=300)
    ask, certified = Cluster.ask, []

    def failing(self, command, common=None, each=None):
        if command == "on_passes" and common["lane"] == 2:
            deadline = time.monotonic() + 30
            while not certified and time.monotonic() < deadline:
                time.sleep(0.01)
            self.error = pegasos.dask.ClusterError("the scheduler has gone")
        if command == "end_passes":
            certified.append(common["lane"])
        return ask(self, command, common, each)

    monkeypatch.setattr(Cluster, "ask", failing)
    model = pegasos.dask.LinearSVC(solver="newton")
    with pytest.raises(pegasos.dask.ClusterError, match="the scheduler has gone"):
        model.fit(*chunked)
    assert model.stop_reason_ == "cluster_failed"
    assert certified
    gaps = model.certificate_.relative_gap
    assert (gaps[certified] <= 1e-3).all()
    assert np.abs(model.coef_[certified]).max(axis=1).min() > 0
    assert np.isinf(gaps[2])
    assert not model.coef_[2].any()
