"""Workers that are killed, stopped or quit while they train: it ends certified, or with a name.

Ten runs in ``make test``, a hundred in ``make test-all``.
"""

import os
import signal
import threading
import time
from contextlib import suppress

import dask
import numpy as np
import pytest
import scipy.sparse as sp

import pegasos
import pegasos.dask

TIMEOUT = 3.0  # seconds without a sign of life
WORKERS = 3
LONGEST = 60.0  # seconds that a run may take, harmed once


@pytest.fixture(scope="module")
def victims():
    """A cluster of its own, whose nannies bring workers back."""
    from distributed import Client, LocalCluster

    settings = {
        "distributed.comm.timeouts.connect": "2s",
        "distributed.comm.retry.count": 0,
        "distributed.scheduler.allowed-failures": 100,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as cluster,
        Client(cluster, set_as_default=False) as one,
    ):
        yield one


def rows(number, dense, n=2000):
    """A part that can be computed again anywhere."""
    rng = np.random.default_rng(number)
    w = np.random.default_rng(99).normal(size=3000)
    if dense:
        X = rng.normal(size=(n, 40))
        return X, np.sign(X @ w[:40] + 4.0 * rng.normal(size=n))
    columns = (3000 * rng.random((n, 30)) ** 3).astype(int)
    X = sp.csr_matrix((np.ones(30 * n), (np.repeat(np.arange(n), 30), columns.ravel())), (n, 3000))
    X.sum_duplicates()
    return X, np.sign(X @ w + 4.0 * rng.normal(size=n))


@pytest.fixture(scope="module")
def optima():
    """P of the same rows on one machine, to 1e-6."""
    found = {}
    for dense in (False, True):
        parts = [rows(k, dense) for k in range(6)]
        stack = np.concatenate if dense else sp.vstack
        X, y = stack([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        found[dense] = pegasos.solve(X if dense else X.tocsr(), y, C=1.0, tol=1e-6)
    return {dense: result.certificate.primal for dense, result in found.items()}


def harm(pid, how, delay, harmed):
    time.sleep(delay)
    with suppress(ProcessLookupError):
        os.kill(pid, {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "exit": signal.SIGTERM}[how])
        harmed.append(time.perf_counter())


def all_well(client):
    """Every worker answers again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = client.run(os.getpid, on_error="ignore")
        if len(found) == WORKERS == len(client.scheduler_info()["workers"]):
            return found
        time.sleep(0.2)
    raise AssertionError("the nannies did not bring the workers back")


HOWS = ("kill", "stop", "exit")
FEW = [(number, HOWS[number % 3], number % 4 == 3) for number in range(10)]
MANY = [(number, HOWS[number % 3], number % 4 == 3) for number in range(10, 100)]


@pytest.mark.parametrize(
    ("number", "how", "dense"),
    FEW + [pytest.param(*case, marks=pytest.mark.slow) for case in MANY],
)
def test_a_worker_is_lost(victims, optima, number, how, dense):
    rng = np.random.default_rng(number)
    pids = list(all_well(victims).values())
    parts = [dask.delayed(rows)(k, dense) for k in range(6)]
    harmed = []
    delay = float(rng.uniform(0.0, 2.5))
    victim = int(rng.choice(pids))
    thread = threading.Thread(target=harm, args=(victim, how, delay, harmed))
    thread.start()
    began = time.perf_counter()
    try:
        result = pegasos.dask.solve(
            parts, C=1.0, tol=1e-4, seed=number, client=victims, timeout=TIMEOUT
        )
        assert result.stop_reason == "converged"
        assert result.certificate.relative_gap <= 1e-4
        assert result.certificate.primal == pytest.approx(optima[dense], rel=2e-4)
    finally:
        took = time.perf_counter() - began
        thread.join()
        if how == "stop":  # it is not to haunt the next test
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
    assert took < LONGEST


def test_rows_that_cannot_be_had_again(victims):
    """Scattered from this process, and lost with the worker: an error that says which."""
    all_well(victims)
    data = [rows(k, False) for k in range(6)]
    workers = sorted(victims.scheduler_info()["workers"])
    parts = [
        dask.delayed(victims.scatter([part], workers=[workers[k % WORKERS]], hash=False)[0])
        for k, part in enumerate(data)
    ]
    pid = next(iter(victims.run(os.getpid, workers=[workers[0]]).values()))
    records = []

    def strike(record):
        records.append(record)
        if len(records) == 2:
            os.kill(pid, signal.SIGKILL)

    model = pegasos.dask.LinearSVC(
        tol=1e-9, callbacks=[strike], random_state=0, client=victims, timeout=TIMEOUT
    )
    began = time.perf_counter()
    with pytest.raises(
        pegasos.dask.ClusterError, match=r"part \d of \d .* cannot be computed again"
    ):
        model.fit(parts)
    assert time.perf_counter() - began < LONGEST
    # The last certified model is there.
    assert model.certificate_.primal == records[-1].primal
    assert model.coef_.shape == (1, 3000)
    assert model.stop_reason_ == "cluster_failed"


def test_no_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=60) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(pegasos.dask.ClusterError, match=r"no worker has been there for 0\.5 s"),
    ):
        pegasos.dask.solve([dask.delayed(rows)(0, True)], C=1.0, client=client, timeout=0.5)
