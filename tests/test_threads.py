"""How many threads n_jobs means, and that they leave nothing behind."""

import os

import numpy as np
import pytest

import pegasos
from pegasos.util import threads


@pytest.fixture
def four_cores(monkeypatch):
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)


def test_n_jobs_means_what_it_means_in_scikit_learn(four_cores):
    all_of_them = threads.cores()
    for n_jobs, expected in (
        (1, 1), (3, 3), (-1, all_of_them), (-2, max(1, all_of_them - 1)), (-9, 1)
    ):  # fmt: skip
        assert threads.resolve(n_jobs, 0) == expected


def test_none_uses_the_cores_it_is_left_where_data_repay_it(four_cores, monkeypatch):
    assert threads.resolve(None, 1e9) == threads.cores()
    assert threads.resolve(None, 1e3) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as joblib tells its workers
    assert threads.resolve(None, 1e9) == 1


def test_a_cgroup_quota_leaves_fewer_cores(four_cores, tmp_path):
    assert threads.cores(tmp_path) == 4
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads.cores(tmp_path) == 2
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads.cores(tmp_path) == 4
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("300000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert threads.cores(tmp_path) == 3


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_other_n_jobs_are_refused_by_name(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        pegasos.solve(np.eye(4), [0, 1, 0, 1], C=1.0, n_jobs=n_jobs)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_after_a_fit_with_threads_can_fit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 40))
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1, -1)
    pegasos.solve(X, y, C=1e-3, n_jobs=2, seed=0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = int(pegasos.solve(X, y, C=1e-3, n_jobs=2, seed=0).stop_reason != "converged")
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
