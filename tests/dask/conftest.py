"""A cluster of two worker processes, shared by the tests that do not harm it."""

import pytest

pytest.importorskip("distributed", reason="the extra `dask` is not installed")


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as one,
    ):
        yield one
