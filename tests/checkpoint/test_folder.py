"""The folder of a checkpoint: where it may be, who may write to it, and what becomes of it."""

import errno
import fcntl
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.common.runs import OPTIONS, X, Y, pausing

import pegasos
from pegasos import CheckpointError
from pegasos.run.checkpoint import container
from pegasos.run.checkpoint.folder import Checkpoint


def test_an_existing_checkpoint_is_not_replaced(begun):
    before = (begun / "manifest.json").read_bytes()
    with pytest.raises(CheckpointError, match=r"is there already.*resume"):
        pegasos.solve(X, Y, checkpoint=begun, **OPTIONS)
    assert (begun / "manifest.json").read_bytes() == before


def test_there_is_nothing_to_resume(tmp_path):
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        pegasos.solve(X, Y, resume=tmp_path / "none", **OPTIONS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        pegasos.solve(X, Y, resume=tmp_path / "empty", **OPTIONS)
    (tmp_path / "file").write_text("hello")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        pegasos.solve(X, Y, resume=tmp_path / "file", **OPTIONS)
    with pytest.raises(CheckpointError, match="is there already"):
        pegasos.solve(X, Y, checkpoint=tmp_path / "file", **OPTIONS)
    assert (tmp_path / "file").read_text() == "hello"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"checkpoint": 7}, TypeError, "checkpoint must be a path"),
        ({"resume": True}, TypeError, "resume must be a path"),
        ({"checkpoint_every": 1}, ValueError, "checkpoint_every is for a checkpoint"),
        ({"checkpoint": "a", "checkpoint_every": -1}, ValueError, "0 or more"),
        ({"checkpoint": "a", "checkpoint_every": "b"}, TypeError, "checkpoint_every"),
    ],
)
def test_options_that_are_none(options, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        pegasos.solve(X, Y, **OPTIONS, **options)
    with pytest.raises(error, match=words):
        pegasos.LinearSVC(**options).fit(X, Y)
    assert not any(tmp_path.iterdir())


def test_a_checkpoint_goes_on_elsewhere(begun, tmp_path):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    found = pegasos.solve(X, Y, resume=begun, checkpoint=tmp_path / "other", **OPTIONS)
    assert found.stop_reason == "converged"
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before
    assert (tmp_path / "other" / "done-000001").exists()


def test_two_processes_do_not_share_a_checkpoint(begun):
    script = (
        "import fcntl, os, sys, time\n"
        "f = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, begun / "lock"], stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        try:
            with pytest.raises(CheckpointError, match="another process"):
                pegasos.solve(X, Y, resume=begun, **OPTIONS)
        finally:
            other.kill()
    assert pegasos.solve(X, Y, resume=begun, **OPTIONS).stop_reason == "converged"


def test_a_full_disk_is_named_and_leaves_the_last_checkpoint(begun, monkeypatch):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    expected = pegasos.solve(X, Y, **OPTIONS)

    class Full:
        def __init__(self, file):
            self.file, self.left = file, 1000

        def write(self, data):
            self.left -= len(data)
            if self.left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    def full_disk(path, **options):
        from contextlib import contextmanager

        @contextmanager
        def opened():
            with plain(path, **options) as file:
                yield Full(file)

        return opened()

    plain = container.atomic_write
    with monkeypatch.context() as disk:
        disk.setattr(container, "atomic_write", full_disk)
        with pytest.raises(OSError, match=r"No space left on device: .*run\.ckpt"):
            pegasos.solve(X, Y, resume=begun, checkpoint_every=0, **OPTIONS)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before
    again = pegasos.solve(X, Y, resume=begun, **OPTIONS)
    assert again.w.tobytes() == expected.w.tobytes()


def test_what_a_killed_process_was_writing_is_removed(begun):
    (begun / ".running-solve.0123456789abcdef.tmp").write_bytes(b"half of it")
    pegasos.solve(X, Y, resume=begun, **OPTIONS)
    assert not any(path.name.endswith(".tmp") for path in begun.iterdir())


def test_it_is_written_once_an_interval(tmp_path, monkeypatch):
    now, saves = [0.0], []

    class Clock:
        @staticmethod
        def monotonic():
            return now[0]

    def rows():
        now[0] += 1.0  # a slice takes a second
        return 20

    monkeypatch.setattr("pegasos.run.checkpoint.folder.time", Clock)
    written = container.write
    monkeypatch.setattr(
        "pegasos.run.checkpoint.folder.write", lambda *a: (saves.append(now[0]), written(*a))
    )
    options = OPTIONS | {"solver": pausing(pegasos.SGDS(), rows), "tol": 0, "max_epochs": 10}
    pegasos.solve(X, Y, checkpoint=tmp_path / "a", checkpoint_every=7, **options)
    assert now[0] >= 90
    assert np.diff(saves[:-1]).tolist() == [7.0] * (len(saves) - 2)


@pytest.mark.parametrize(
    "wrong",
    [{"C": -1}, {"n_jobs": 0}, {"n_jobs": "2"}, {"class_weight": {7: 1}}, {"C": "a"},
     {"loss": "none"}],
)  # fmt: skip
def test_a_call_that_was_wrong_leaves_nothing_behind(wrong, tmp_path):
    with pytest.raises((ValueError, TypeError)):
        pegasos.LinearSVC(checkpoint=tmp_path / "a", **wrong).fit(X, Y)
    assert not (tmp_path / "a").exists()
    pegasos.LinearSVC(checkpoint=tmp_path / "a").fit(X, Y)


def test_paths_are_the_same_however_they_are_spelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pegasos.solve(X, Y, checkpoint="a", resume=tmp_path / "a", max_epochs=3, **OPTIONS)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "new").mkdir()
    pegasos.solve(X, Y, resume="link", checkpoint="new", max_epochs=4, **OPTIONS)
    found = pegasos.solve(X, Y, checkpoint=tmp_path / "a", resume="link", **OPTIONS)
    assert found.stop_reason == "converged"
    with pytest.raises(CheckpointError, match="is no folder: make it first"):
        pegasos.solve(X, Y, checkpoint="no/such/place", **OPTIONS)
    with pytest.raises(ValueError, match="an empty path"):
        pegasos.solve(X, Y, checkpoint="", **OPTIONS)


def test_a_full_disk_at_the_end_does_not_take_the_model(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "run.ckpt")

    monkeypatch.setattr("pegasos.run.checkpoint.folder.write", full)
    for limit in ({}, {"max_epochs": 3}):
        with pytest.warns(UserWarning, match=r"could not be written: .*No space left"):
            found = pegasos.solve(X, Y, checkpoint=tmp_path / f"{len(limit)}", **limit, **OPTIONS)
        assert found.stop_reason == ("max_epochs" if limit else "converged")


def test_somebody_who_was_faster_keeps_his_checkpoint(tmp_path, monkeypatch):
    plain = fcntl.flock

    def slow(*arguments):
        monkeypatch.setattr(fcntl, "flock", plain)
        pegasos.solve(X, Y, checkpoint=tmp_path / "a", max_epochs=3, **OPTIONS)  # meanwhile
        return plain(*arguments)

    monkeypatch.setattr(fcntl, "flock", slow)
    with pytest.raises(CheckpointError, match="is there already"):
        pegasos.solve(X, Y, checkpoint=tmp_path / "a", **OPTIONS | {"C": 77.0})
    assert pegasos.solve(X, Y, resume=tmp_path / "a", **OPTIONS).stop_reason == "converged"


def test_outcomes_of_many_runs_are_read_back(tmp_path):
    about = {"format": "x", "parameters": {}}
    with folder_of(tmp_path / "a", about) as opened:
        for k in range(5000):
            opened.part(f"{k}").finish({"k": k}, {"w": np.full(3, float(k))})
    assert len(list((tmp_path / "a").glob("done-*"))) == 3
    with folder_of(tmp_path / "a", about) as opened:
        for k in range(5000):
            said, arrays = opened.part(f"{k}").load()
            assert said == {"k": k}
            assert arrays["w"].tolist() == [k] * 3
        assert opened.part("5000").load() is None


def folder_of(place, about):
    place.mkdir(exist_ok=True)
    return Checkpoint(place, 1e9, about, lock=None)


def test_files_of_others_are_left_alone(begun):
    (begun / ".precious.tmp").write_text("mine")
    pegasos.solve(X, Y, resume=begun, **OPTIONS)
    assert (begun / ".precious.tmp").read_text() == "mine"
