"""Waiting for what tasks return."""

import threading

import pytest

pytest.importorskip("distributed", reason="the extra `dask` is not installed")

from distributed import Client, LocalCluster

from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.watching import Watcher


def test_threads_that_fetch_at_once_and_look_up_often():
    """A fetch that is given up would break all later ones of the client."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        watch = Watcher(client, 60.0, Interruption(), poll=0.003)
        fetched = []

        def fetch(thread):
            for number in range(30):
                task = client.submit(bytes, 400_000 + thread + number, pure=False)
                fetched.append(len(watch.result(task, set())) - thread - number)

        threads = [threading.Thread(target=fetch, args=(thread,)) for thread in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert fetched == [400_000] * 180
