"""Runs on a cluster that are saved, and go on elsewhere; fits that start from the one before."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.checkpoint.killed import Killed, killing
from tests.common.chunked import blocks, text, toy

import pegasos
import pegasos.dask
from pegasos.run.checkpoint import CheckpointError
from pegasos.run.checkpoint.container import Container, write
from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.cluster import Cluster

LIFE = textwrap.dedent("""
    import sys
    import dask.array as da
    from distributed import Client
    import pegasos.dask
    from tests.common.chunked import blocks, text, toy

    address, folder, solver = sys.argv[1:]
    X, y = text() if solver == "dual" else toy()
    X = blocks(X, 300) if solver == "dual" else da.from_array(X, chunks=(300, -1))
    with Client(address):
        pegasos.dask.solve(
            X, da.from_array(y, chunks=300), C=10.0, tol=1e-13, seed=0, solver=solver,
            checkpoint=folder, checkpoint_every=0,
        )
""")


@contextmanager
def another_cluster(workers):
    """A client of workers that are threads here."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0",
            silence_logs=60,
        ) as cluster,
        Client(cluster, set_as_default=False) as one,
    ):  # fmt: skip
        yield one


def chunked(X, y, size=300):
    """Rows and labels in chunks."""
    rows = blocks(X, size) if hasattr(X, "indptr") else da.from_array(X, chunks=(size, -1))
    return rows, da.from_array(y, chunks=size)


@pytest.mark.parametrize("solver", ["dual", "interior"])
def test_a_client_that_was_killed_is_resumed_on_other_workers(client, tmp_path, solver):
    """SIGKILL right after some saves; then one worker has all rows that two had."""
    folder = tmp_path / "run"
    command = [sys.executable, "-c", LIFE, client.scheduler.address, str(folder), solver]
    with subprocess.Popen(command) as process:
        deadline, saves = time.monotonic() + 90, set()
        while len(saves) < 4 and time.monotonic() < deadline and process.poll() is None:
            saves |= {path.stat().st_mtime_ns for path in folder.glob("running-*")}
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    [saved] = folder.glob("running-*")
    begun = int(Container(saved).arrays("")["state/cursor"][1])
    assert begun > 0
    data = text() if solver == "dual" else toy()
    heard = []
    with another_cluster(1) as one:
        found = pegasos.dask.solve(
            *chunked(*data), C=10.0, tol=1e-13, seed=0, solver=solver, client=one, resume=folder,
            callbacks=[lambda record: heard.append(record) or record.gap <= 1e-6 * record.primal],
        )  # fmt: skip
    assert heard[0].epoch >= begun
    assert found.certificate.relative_gap <= 1e-6
    alone = pegasos.solve(*data, C=10.0, tol=1e-6)
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-6)


def test_a_run_whose_cluster_failed_goes_on_from_its_last_certificate(
    client, tmp_path, monkeypatch
):
    rows, ask, records = chunked(*text()), Cluster.ask, []
    run = {"C": 10.0, "tol": 1e-6, "seed": 0, "solver": "dual", "client": client}

    def failing(self, command, common=None, each=None):
        if command == "step" and len(records) > 1:
            self.error = pegasos.dask.ClusterError("the scheduler has gone")
        return ask(self, command, common, each)

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "ask", failing)
        with pytest.raises(pegasos.dask.ClusterError):
            pegasos.dask.solve(
                *rows, checkpoint=tmp_path / "run", callbacks=[records.append], **run
            )
    dual = records[-1].certificate.dual
    again = []
    found = pegasos.dask.solve(*rows, resume=tmp_path / "run", callbacks=[again.append], **run)
    assert again[0].certificate.dual >= dual > 0  # rounds never lower it
    assert found.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("solver", ["dual", "newton", "interior"])
def test_ctrl_c_leaves_what_was_certified_last(client, tmp_path, solver):
    rows = chunked(*toy()) if solver != "dual" else chunked(*text())
    run = {"C": 10.0, "seed": 0, "solver": solver, "client": client}
    records, again = [], []

    def press(record):
        records.append(record)
        if len(records) == 2:
            Interruption.request(None)

    cut = pegasos.dask.solve(
        *rows, tol=1e-13, checkpoint=tmp_path / "run", checkpoint_every=0, callbacks=[press], **run
    )
    Interruption.forget()
    assert cut.stop_reason == "interrupted"

    def second(record):
        again.append(record)
        return record.certificate.relative_gap <= 1e-6

    found = pegasos.dask.solve(*rows, tol=1e-13, resume=tmp_path / "run", callbacks=[second], **run)
    assert again[0].epoch >= records[0].epoch
    assert again[0].certificate.dual >= records[0].certificate.dual
    assert found.certificate.relative_gap <= 1e-6


def test_workers_that_are_lost_while_a_run_is_saved(client, tmp_path, monkeypatch):
    """It is saved with the duals of the last certificate where those of now are gone."""
    rows, ask, asked = chunked(*text()), Cluster.ask, []

    def forgetful(self, command, common=None, each=None):
        asked.append(command)
        if command == "snapshot" and asked.count("snapshot") == 3:
            ask(self, *self.setup[1])  # parts that have come up anew
            raise pegasos.sites.errors.PartsLostError
        return ask(self, command, common, each)

    monkeypatch.setattr(Cluster, "ask", forgetful)
    run = {"C": 10.0, "seed": 0, "solver": "dual", "client": client}
    found = pegasos.dask.solve(
        *rows, tol=1e-5, checkpoint=tmp_path / "run", checkpoint_every=0, **run
    )
    assert asked.count("snapshot") > 3
    assert found.certificate.relative_gap <= 1e-5


class Resumed:
    """A run that was saved, and its file."""

    def __init__(self, folder, client, solver="dual"):
        self.folder, self.rows = folder, chunked(*(text() if solver == "dual" else toy()))
        self.options = {"C": 10.0, "tol": 1e-5, "seed": 0, "solver": solver, "client": client}
        self.train(max_epochs=4, checkpoint=folder)
        [self.file] = folder.glob("running-*")

    def train(self, **options):
        return pegasos.dask.solve(*self.rows, **self.options | options)

    def change(self, name, change):
        container = Container(self.file)
        arrays = {key: np.array(array) for key, array in container.arrays("").items()}
        arrays[name] = change(arrays[name])
        write(self.file, container.about, arrays)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("state/there/free", lambda a: a[1:], "duals are those of other chunks"),
        ("state/there/free", lambda a: -a, "duals are not feasible"),
        ("state/there/free", lambda a: a * np.nan, "duals are not feasible"),
        ("state/there/above", lambda a: a[2:], "duals are those of other chunks"),
        ("state/there/above", lambda a: a.astype(float), "duals are none"),
        ("state/W", lambda a: a[1:], "W has the type"),
        ("state/there/point", lambda a: a[:, 1:], "its rows are others"),
        ("state/there/point", lambda a: -a, "a row's variables are none"),
    ],
)
def test_what_a_file_holds_is_looked_at(client, tmp_path, name, change, words):
    saved = Resumed(tmp_path / "run", client, "interior" if "point" in name else "dual")
    saved.change(name, change)
    with pytest.raises(CheckpointError, match=words):
        saved.train(resume=saved.folder)


def test_forged_duals_prove_nothing_that_is_not_true(client, tmp_path):
    """Any duals in the box do: w is summed up from them, and those outside are clipped."""
    saved = Resumed(tmp_path / "run", client)
    saved.change("state/there/free", lambda a: 1e3 * a + 1.0)
    saved.change("state/W", lambda a: a + 7.0)
    optimum = pegasos.solve(*text(), C=10.0, tol=1e-7).certificate
    found = saved.train(resume=saved.folder)
    assert found.certificate.relative_gap <= 1e-5
    assert found.certificate.dual <= optimum.primal
    assert found.certificate.primal >= optimum.dual


def test_other_rows_and_chunks_are_refused(client, tmp_path):
    saved = Resumed(tmp_path / "run", client)
    X, y = text()
    saved.rows = chunked(X, y, 400)
    with pytest.raises(CheckpointError, match="rows on the cluster come in other chunks"):
        saved.train(resume=saved.folder)
    saved.rows = chunked(X, np.roll(y, 1))
    with pytest.raises(CheckpointError, match="y has other values"):
        saved.train(resume=saved.folder)
    saved.rows = chunked(X * 2, y)
    with pytest.raises(CheckpointError, match="X has other values"):
        saved.train(resume=saved.folder)
    saved.rows = chunked(X, y)
    with pytest.raises(CheckpointError, match=r"C was 10\.0, and is 1\.0 here"):
        saved.train(resume=saved.folder, C=1.0)
    assert saved.train(resume=saved.folder, n_jobs=2).stop_reason == "converged"


def test_estimators_are_saved_and_resumed(client, tmp_path):
    X, y = toy(classes=4)
    options = {"C": 0.1, "solver": "dual", "tol": 1e-3, "checkpoint_every": 0}
    with pytest.warns(ConvergenceWarning, match="max_epochs"):
        pegasos.dask.LinearSVC(max_iter=2, checkpoint=tmp_path / "a", **options).fit(*chunked(X, y))
    model = pegasos.dask.LinearSVC(resume=tmp_path / "a", **options).fit(*chunked(X, y))
    assert np.all(model.certificate_.relative_gap <= 1e-3)
    again = pegasos.dask.LinearSVC(resume=tmp_path / "a", **options).fit(*chunked(X, y))
    assert np.array_equal(again.coef_, model.coef_)  # it has ended: nothing is trained


def test_a_path_along_c_is_resumed(client, tmp_path, monkeypatch):
    X, y = toy(classes=3)
    options = {"Cs": [0.01, 0.1, 1.0], "cv": 3, "solver": "dual", "tol": 1e-3}
    kill = killing(monkeypatch)
    kill(5)
    with pytest.raises(Killed):
        pegasos.dask.LinearSVCCV(checkpoint=tmp_path / "a", checkpoint_every=0, **options).fit(
            *chunked(X, y)
        )
    model = pegasos.dask.LinearSVCCV(resume=tmp_path / "a", **options).fit(*chunked(X, y))
    assert np.all(model.path_.certificate.relative_gap <= 1e-3)
    assert model.path_.ended is None
    local = pegasos.LinearSVCCV(Cs=options["Cs"], cv=3).fit(X, y)
    assert np.abs(model.scores_.mean(axis=1) - local.scores_.mean(axis=1)).max() < 0.06


@pytest.mark.parametrize("intercept", ["regularized", "free"])
def test_warm_starts(client, intercept):
    X, y = text()
    options = {"solver": "dual", "intercept": intercept, "C": 10.0, "tol": 1e-6, "random_state": 0}
    model = pegasos.dask.LinearSVC(warm_start=True, **options).fit(*chunked(X, y))
    cold = model.n_iter_
    model.fit(*chunked(X, y))
    assert model.n_iter_ < 0.75 * cold
    assert model.certificate_.relative_gap <= 1e-6
    model.set_params(C=12.0).fit(*chunked(X, y))
    assert model.certificate_.relative_gap <= 1e-6
    # Rows in other chunks are others, as far as is known.
    model.set_params(C=10.0).fit(*chunked(X, y, 400))
    assert model.certificate_.relative_gap <= 1e-6
    with pytest.raises(ValueError, match="'newton' would ignore warm_start=True"):
        pegasos.dask.LinearSVC(warm_start=True, solver="newton").fit(*chunked(X, y))
