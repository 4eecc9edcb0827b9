"""Workers that are killed, stopped or quit while they train: it ends certified, or with a name.

Ten runs in ``make test``, a hundred in ``make test-all``.
"""

import os
import signal
import threading
import time
from contextlib import ExitStack, suppress
from typing import ClassVar

import dask
import numpy as np
import pytest
from tests.common.chunked import made_part, made_whole

import pegasos
import pegasos.dask

TIMEOUT = 4.0  # seconds without a sign of life
WORKERS = 3
LONGEST = 60.0  # seconds that a run may take, harmed once


class Victims:
    """A cluster whose nannies bring workers back; a new one when they give up."""

    settings: ClassVar = {
        "distributed.comm.timeouts.connect": "2s",
        "distributed.comm.retry.count": 0,
        "distributed.scheduler.allowed-failures": 100,
    }

    def __init__(self):
        self.stack = None
        self.start()

    def start(self):
        from distributed import Client, LocalCluster

        self.stop()
        self.stack = ExitStack()
        self.stack.enter_context(dask.config.set(self.settings))
        cluster = self.stack.enter_context(
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=60
            )
        )
        self.client = self.stack.enter_context(Client(cluster, set_as_default=False))

    def stop(self):
        if self.stack is not None:
            self.stack.close()

    def pids(self):
        """Those of all workers, once every one of them answers and has imported what it needs."""
        for _ in range(2):
            deadline = time.monotonic() + 6
            while time.monotonic() < deadline:
                found = self.client.run(ready, on_error="ignore")
                if len(found) == WORKERS == len(self.client.scheduler_info()["workers"]):
                    return list(found.values())
                time.sleep(0.1)
            self.start()
        raise AssertionError("no cluster could be had")


def ready():
    """Import what a worker needs, which takes its while; its process."""
    import os

    import pegasos.sites.cluster.part  # noqa: F401

    return os.getpid()


@pytest.fixture(scope="module")
def victims():
    one = Victims()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def optima():
    """P of the same rows on one machine, to 1e-6."""
    return {
        dense: pegasos.solve(*made_whole(6, dense), C=1.0, tol=1e-6).certificate.primal
        for dense in (False, True)
    }


def harm(pid, how, delay, harmed):
    time.sleep(delay)
    with suppress(ProcessLookupError):
        os.kill(pid, {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "exit": signal.SIGTERM}[how])
        harmed.append(time.perf_counter())


HOWS = ("kill", "stop", "exit")
FEW = [(number, HOWS[number % 3], number % 4 == 3) for number in range(5)]
MANY = [(number, HOWS[number % 3], number % 4 == 3) for number in range(5, 100)]


@pytest.mark.parametrize(
    ("number", "how", "dense"),
    FEW + [pytest.param(*case, marks=pytest.mark.slow) for case in MANY],
)
def test_a_worker_is_lost(victims, optima, number, how, dense):
    rng = np.random.default_rng(number)
    victim = int(rng.choice(victims.pids()))
    parts = [dask.delayed(made_part)(k, dense) for k in range(6)]
    harmed = []
    delay = float(rng.uniform(0.0, 1.8))
    thread = threading.Thread(target=harm, args=(victim, how, delay, harmed))
    thread.start()
    began = time.perf_counter()
    try:
        result = pegasos.dask.solve(
            parts, C=1.0, tol=1e-4, seed=number, client=victims.client, timeout=TIMEOUT
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
    victims.pids()
    client = victims.client
    data = [made_part(k, False) for k in range(6)]
    workers = sorted(client.scheduler_info()["workers"])
    parts = [
        dask.delayed(client.scatter([part], workers=[workers[k % WORKERS]], hash=False)[0])
        for k, part in enumerate(data)
    ]
    pid = next(iter(client.run(os.getpid, workers=[workers[0]]).values()))
    records = []

    def strike(record):
        records.append(record)
        if len(records) == 2:
            os.kill(pid, signal.SIGKILL)

    model = pegasos.dask.LinearSVC(
        tol=1e-9, callbacks=[strike], random_state=0, client=client, timeout=TIMEOUT
    )
    began = time.perf_counter()
    with pytest.raises(
        pegasos.dask.ClusterError, match=r"part \d of \d .* cannot be computed again"
    ):
        model.fit(parts)
    assert time.perf_counter() - began < LONGEST
    # The last certified model is there.
    assert model.certificate_.primal == records[-1].primal
    assert model.coef_.shape == (1, 30_000)
    assert model.stop_reason_ == "cluster_failed"


def test_no_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=60) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(pegasos.dask.ClusterError, match=r"no worker has been there for 0\.5 s"),
    ):
        pegasos.dask.solve([dask.delayed(made_part)(0, True)], C=1.0, client=client, timeout=0.5)
