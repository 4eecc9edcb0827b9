"""What rounds move, and who may join them or end them."""

import os
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from tests.common.chunked import blocks, text

import pegasos
import pegasos.dask
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part_duals import compress, expand
from pegasos.sites.merge import Thin, dense, merge, thin


def sent(dask_worker):
    """Bytes that a worker has sent so far, to other workers and to the scheduler."""
    return dask_worker.transfer_outgoing_bytes_total


@pytest.mark.parametrize(("lanes", "tol"), [(1, 1e-3), (3, 1e-3), (1, 1e-6)])
def test_bytes_of_a_round(client, monkeypatch, lanes, tol):
    """At most 2 x workers x features x lanes x 8; a certified one adds w+ and w-."""
    X, y = text(4000, 20_000)
    y = np.stack([np.roll(y, k) for k in range(lanes)], axis=1)
    events = []
    ask = Cluster.ask

    def counted(self, command, common=None, each=None):
        before = sum(client.run(sent).values())
        reply = ask(self, command, common, each)
        # What the client sends reaches the first worker only: the others have it from there.
        own = sum(getattr(value, "nbytes", 0) for value in (common or {}).values())
        events.append((command, own + sum(client.run(sent).values()) - before))
        return reply

    monkeypatch.setattr(Cluster, "ask", counted)
    result = pegasos.dask.solve(
        blocks(X, 1000), da.from_array(y, chunks=(1000, lanes)), C=1.0, seed=0, solver="dual",
        tol=tol,
    )  # fmt: skip
    assert result.stop_reason == "converged"
    vector = 2 * 20_001 * lanes * 8  # to or from both workers
    rounds, certified = by_round(events)
    assert len(rounds) == result.epochs
    assert max(rounds) <= 2 * vector
    assert max(certified) <= 4 * vector


def by_round(events):
    """Bytes of every round, and of every certificate; each may begin with a look at the loss."""
    rounds, certified, looks = [], [], 0
    for place, (command, size) in enumerate(events):
        if command == "step":
            rounds.append(size)
        elif command in ("look", "losses"):
            # Until the next step or certificate: to find an intercept, or to be certified with.
            following = [c for c, _ in events[place + 1 :] if c in ("look", "step", "gap_sums")]
            if following[:1] == ["gap_sums"]:
                looks += size
            else:
                rounds[-1] += size
        elif command == "gap_sums":
            certified.append(size + looks)
            looks = 0
    return rounds, certified


def test_workers_that_join_are_given_rows():
    from distributed import Client, LocalCluster

    X, y = text(3000, 8000)
    holders = []
    ask = Cluster.ask

    def watched(self, *arguments):
        holders.append(set(self.holder.values()))
        return ask(self, *arguments)

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", processes=False,
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.MonkeyPatch.context() as patch,
    ):  # fmt: skip
        patch.setattr(Cluster, "ask", watched)

        def grow(record):
            if record.epoch == 1:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=30)

        result = pegasos.dask.solve(
            blocks(X, 500), da.from_array(y, chunks=500), C=1.0, tol=1e-6, seed=0, client=client,
            callbacks=[grow],
        )  # fmt: skip
    assert result.certificate.relative_gap <= 1e-6
    assert len(holders[0]) == 1
    assert len(holders[-1]) == 2


SCRIPT = """
import dask.array as da, pegasos.dask, warnings
from distributed import Client, LocalCluster
from tests.common.chunked import blocks, text
warnings.simplefilter("ignore")
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      silence_logs=60) as cluster, Client(cluster):
        X, y = text(6000, 6000)
        rows = blocks(X, 1000), da.from_array(y, chunks=1000)
        said = []
        def say(record):
            if not said:
                said.append(print("begun", flush=True))
        model = pegasos.dask.LinearSVC(C=1000, tol=1e-13, callbacks=[say]).fit(*rows)
        print("ended", model.stop_reason_, model.certificate_.relative_gap, flush=True)
"""


def test_ctrl_c_leaves_the_last_certified_model(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT)
    # Workers import the script too, and its folder is not that of the tests.
    tests = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, env=tests, stdout=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(90, process.kill)
        killer.start()
        try:
            assert process.stdout.readline().strip() == "begun"
            time.sleep(0.5)
            asked = time.perf_counter()
            process.send_signal(signal.SIGINT)
            words = process.stdout.readline().split()
            assert time.perf_counter() - asked < 5
            assert words[:2] == ["ended", "interrupted"]
            assert np.isfinite(float(words[2]))
            assert process.wait(60) == 0
        finally:
            killer.cancel()
            process.kill()


def test_max_time(client):
    X, y = text(3000, 8000)
    with pytest.warns(UserWarning, match="max_time"):
        model = pegasos.dask.LinearSVC(C=1e4, tol=1e-13, max_time=1.0, random_state=0).fit(
            blocks(X, 500), da.from_array(y, chunks=500)
        )
    assert model.stop_reason_ == "max_time"
    assert model.history_["seconds"][-1] < 10


def test_parts_are_let_go(client):
    """Nothing of a fit stays in the workers' memory."""
    X, y = text()
    pegasos.dask.solve(blocks(X, 400), da.from_array(y, chunks=400), C=1.0, seed=0)

    def held():
        import gc

        from pegasos.sites.cluster.part import HELD

        gc.collect()
        return sorted(HELD)

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(client.run(held).values()):
        time.sleep(0.1)
    assert not any(client.run(held).values())


def test_compressed_duals_are_the_same():
    rng = np.random.default_rng(0)
    largest = rng.random((37, 3))
    largest[::5] = 0.0
    duals = largest * np.clip(3 * rng.random((37, 3)) - 1, 0, 1)
    assert np.array_equal(expand(compress(duals, largest), largest), duals)
    endless = np.where(largest > 0, np.inf, 0.0)  # the squared hinge's
    assert np.array_equal(expand(compress(duals, endless), endless), duals)


def test_replies_are_merged():
    total = {}
    for k in (1.0, 2.0):
        merge(total, {"a": ("sum", np.array([k])), "b": ("min", np.array([-k])),
                      "c": ("each", {k: "x"})})  # fmt: skip
    assert total["a"][1] == 3.0
    assert total["b"][1] == -2.0
    assert total["c"][1] == {1.0: "x", 2.0: "x"}


def test_thin_arrays_add_up_as_arrays_do():
    rng = np.random.default_rng(0)
    arrays = [
        (rng.normal(size=(50, 3)) * (rng.random((50, 3)) < share)).astype(np.float32)
        for share in (0.02, 0.05, 0.9, 0.01, 0.0)
    ]
    total = {}
    for array in arrays:
        packed = thin(array)
        assert isinstance(packed, Thin) == (np.count_nonzero(array) < 50)
        assert np.array_equal(dense(packed), array)
        merge(total, {"vector": ("sum", packed)})
    assert np.allclose(dense(total["vector"][1]), sum(arrays), atol=1e-6)
    few = thin(arrays[0]) + thin(arrays[3])
    assert isinstance(few, Thin)
    assert np.allclose(dense(few), arrays[0] + arrays[3])


def test_user_errors_come_through(client):
    def broken():
        raise FileNotFoundError("gone.parquet")

    with pytest.raises(FileNotFoundError, match=r"gone\.parquet"):
        pegasos.dask.solve([dask.delayed(broken)()], C=1.0)


def test_replies_have_a_largest_value():
    total = {}
    for k in (2.0, 1.0):
        merge(total, {"a": ("max", np.array([k]))})
    assert total["a"][1] == 2.0
