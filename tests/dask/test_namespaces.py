"""Four workers on hosts of their own: network namespaces, a bridge between them, and real TCP."""

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import dask
import numpy as np
import pytest
from tests.common.chunked import made_part, made_whole

import pegasos
import pegasos.dask

WORKERS = 4


class Hosts:
    """Namespaces with a worker each; the scheduler and this process are outside."""

    def __init__(self, stack, folder):
        self.tag = f"pg{os.getpid() % 10_000}"
        self.net = f"10.{200 + os.getpid() % 50}.{os.getpid() % 250}"
        bridge = f"{self.tag}b"
        self._ip(stack, f"link add {bridge} type bridge", f"link del {bridge}")
        self._ip(stack, f"addr add {self.net}.1/24 dev {bridge}")
        self._ip(stack, f"link set {bridge} up")
        for k in range(WORKERS):
            name, inner = self.link(k), f"{self.tag}i{k}"
            self._ip(stack, f"netns add {self.tag}n{k}", f"netns del {self.tag}n{k}")
            self._ip(stack, f"link add {name} type veth peer name {inner}", f"link del {name}")
            self._ip(stack, f"link set {inner} netns {self.tag}n{k}")
            self._ip(stack, f"link set {name} master {bridge}")
            self._ip(stack, f"link set {name} up")
            inside = f"-n {self.tag}n{k}"
            self._ip(stack, f"{inside} addr add {self.net}.{k + 10}/24 dev {inner}")
            self._ip(stack, f"{inside} link set {inner} up")
            self._ip(stack, f"{inside} link set lo up")
        address = folder / "scheduler.json"
        self._start(stack, [], "scheduler", "--host", f"{self.net}.1", "--port", "0",
                    "--no-dashboard", "--scheduler-file", str(address))  # fmt: skip
        deadline = time.monotonic() + 30
        while not address.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        for k in range(WORKERS):
            inside = ["ip", "netns", "exec", f"{self.tag}n{k}"]
            self._start(stack, inside, "worker", "--scheduler-file", str(address), "--nthreads",
                        "1", "--no-nanny", "--no-dashboard", "--local-directory",
                        str(folder / f"w{k}"))  # fmt: skip
        self.scheduler_file = str(address)

    def link(self, k):
        return f"{self.tag}o{k}"

    def _ip(self, stack, words, undo=None):
        subprocess.run(["ip", *words.split()], check=True, capture_output=True)
        if undo is not None:
            stack.callback(subprocess.run, ["ip", *undo.split()], capture_output=True)

    def _start(self, stack, before, *words):
        command = [*before, sys.executable, "-m", "dask", *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = stack.enter_context(subprocess.Popen(command, **quiet))
        stack.callback(process.kill)

    def cut(self, k):
        """Nothing reaches this worker any more, and nobody tells."""
        subprocess.run(["ip", "link", "set", self.link(k), "down"], check=True)


def ready():
    """Import what a worker needs, which takes its while."""
    import pegasos.sites.cluster.part  # noqa: F401


@pytest.fixture
def hosts(tmp_path):
    with ExitStack() as stack:
        try:
            one = Hosts(stack, tmp_path)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no network namespaces here: {error}")
        from distributed import Client

        client = stack.enter_context(
            Client(scheduler_file=one.scheduler_file, set_as_default=False, timeout=30)
        )
        client.wait_for_workers(WORKERS, timeout=60)
        client.run(ready)
        yield one, client


def test_one_worker_is_cut_off(hosts):
    """The network of a worker goes down in a round: the others take its rows over."""
    net, client = hosts
    X, y = made_whole(6, False)
    best = pegasos.solve(X, y, C=1.0, tol=1e-6).certificate.primal
    parts = [dask.delayed(made_part)(k, False) for k in range(6)]
    timer = threading.Timer(1.0, net.cut, [2])
    timer.start()
    began = time.perf_counter()
    result = pegasos.dask.solve(parts, C=1.0, tol=1e-4, seed=0, client=client, timeout=4.0)
    took = time.perf_counter() - began
    timer.join()
    assert result.stop_reason == "converged"
    assert result.certificate.primal == pytest.approx(best, rel=2e-4)
    assert took < 60


REAL = ["rcv1", *(pytest.param(s, marks=pytest.mark.slow) for s in ("covtype", "fashion_mnist"))]


@pytest.mark.parametrize("name", REAL)
def test_real_data_on_four_hosts(hosts, name, monkeypatch):
    check_real_data(hosts[1], name, WORKERS, monkeypatch)


@pytest.mark.parametrize("name", REAL)
def test_real_data_on_two_processes(client, name, monkeypatch):
    check_real_data(client, name, 2, monkeypatch)


def check_real_data(client, name, workers, monkeypatch):
    """The certified primal is that of one machine to tol, and rounds at most thrice its epochs."""
    if "PEGASOS_DATA" not in os.environ:
        pytest.skip("PEGASOS_DATA is not set: it names the folder of real data")
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(__file__), "..", ".."))
    from benchmarks import datasets

    module = datasets.module(name)
    try:
        X, y = getattr(module, "load_classes", module.load)()
    except datasets.MissingError as missing:
        pytest.skip(str(missing))
    places = sorted(client.scheduler_info()["workers"])
    cuts = np.linspace(0, X.shape[0], workers + 1).astype(int)
    parts = [
        dask.delayed(client.scatter([(X[a:b], y[a:b])], workers=[place], hash=False)[0])
        for a, b, place in zip(cuts, cuts[1:], places, strict=False)
    ]
    model = pegasos.dask.LinearSVC(random_state=0, client=client).fit(parts)
    local = pegasos.LinearSVC(random_state=0).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert np.all(np.abs(model.certificate_.primal / local.certificate_.primal - 1) <= 1e-3)
    assert model.n_iter_ <= 3 * local.n_iter_
