"""What is no checkpoint, damaged, or that of another run is refused, with what is wrong."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import pegasos
from pegasos import CheckpointError
from pegasos.checkpoint import container
from pegasos.checkpoint.container import Container
from pegasos.data.chunks import ArrayChunks
from pegasos.testing.toys import toy

DATA = toy(200, 6, seed=1)
X, Y = DATA.X, DATA.Y[:, 0]
OPTIONS = {"C": 10.0, "solver": "dual", "tol": 1e-9, "seed": 3}


@pytest.fixture
def begun(tmp_path):
    """The checkpoint of a run that a limit ended."""
    pegasos.solve(X, Y, max_epochs=5, checkpoint=tmp_path / "run.ckpt", **OPTIONS)
    return tmp_path / "run.ckpt"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"C": 1.0}, r"C was 10.0, and is 1.0 here"),
        ({"C": None, "lam": 0.1}, r"lam was None, and is 0.1 here"),
        ({"tol": 1e-3}, r"tol was 1e-09, and is 0.001 here"),
        ({"seed": 4}, "seed was 3, and is 4 here"),
        ({"solver": "sgds"}, "solver was DualCoordinate.*is SGDS"),
        (
            {"solver": pegasos.DualCoordinate(shrink=False)},
            "solver was .*shrink=True.*shrink=False",
        ),
        ({"intercept": "none"}, "intercept was free, and is none here"),
        ({"loss": "squared_hinge"}, "loss was hinge, and is squared_hinge here"),
        ({"n_jobs": 2}, "n_jobs was None, and is 2 here"),
        ({"record_every": 2}, "record_every was None, and is 2 here"),
        ({"sample_weight": np.full(200, 2.0)}, "sample_weight has other values"),
        ({"C": 1.0, "tol": 0.1}, "C was.*; tol was"),
    ],
)
def test_other_parameters(begun, changed, words):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(CheckpointError, match=f"another run: .*{words}"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS | changed)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


def test_other_data(begun):
    other = X.copy()
    other[17, 3] += 1e-12
    for data, words in (
        ((other, Y), "X has other values"),
        ((X[:, ::-1], Y), "X has other values"),
        ((X, -Y), "y has other values"),
        ((X[:199], Y[:199]), "rows was 200, and is 199 here"),
        ((np.hstack([X, X]), Y), "features was 6, and is 12 here"),
    ):
        with pytest.raises(CheckpointError, match=words):
            pegasos.solve(*data, resume=begun, **OPTIONS)


def test_other_chunks(tmp_path):
    chunks, options = ArrayChunks(X, Y), OPTIONS | {"tol": 1e-3}
    pegasos.solve(chunks, max_epochs=2, checkpoint=tmp_path / "a", **options)
    other = X.copy()
    other[5] = 0
    with pytest.raises(CheckpointError, match="X has other values"):
        pegasos.solve(ArrayChunks(other, Y), resume=tmp_path / "a", **options)
    assert pegasos.solve(chunks, resume=tmp_path / "a", **options).stop_reason == "converged"


def test_other_options_of_an_estimator(tmp_path):
    def model(**options):
        return pegasos.LinearSVC(**{"random_state": 0, "tol": 1e-9, **options})

    with pytest.warns(match="max_epochs"):
        model(checkpoint=tmp_path / "a", solver="dual", max_iter=1).fit(X, Y)
    for options, words in (
        ({"class_weight": "balanced"}, "class_weight was None, and is balanced"),
        ({"multi_class": "ovo"}, "multi_class was ovr, and is ovo"),
        ({"random_state": 1}, "seed was"),
    ):
        with pytest.raises(CheckpointError, match=words):
            model(resume=tmp_path / "a", solver="dual", **options).fit(X, Y)
    # Limits, and what is shown on the way, may differ.
    model(resume=tmp_path / "a", solver="dual", callbacks=[print], max_time=60).fit(X, Y)


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


def test_another_version_of_the_package(begun, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9.9")
    with pytest.raises(CheckpointError, match=r"pegasos 0\.1\.0 wrote it, this is 9\.9\.9"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS)


def test_other_kernels_are_told(begun, monkeypatch):
    monkeypatch.setattr("pegasos._core.instruction_set", lambda: "another")
    with pytest.warns(UserWarning, match="not the same to the last bit"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS)


def test_every_bit_counts(begun, tmp_path):
    """Flip one bit at a time, all over both files; and cut them off."""
    rng = np.random.default_rng(0)
    for name in ("manifest.json", "running-solve"):
        data = (begun / name).read_bytes()
        places = {0, 7, 8, 15, 16, 19, 20, len(data) - 1, *rng.integers(0, len(data), 150).tolist()}
        mutants = [
            data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
            for at in places
        ]
        mutants += [data[:at] for at in rng.integers(0, len(data), 50)] + [data + b"\0", b""]
        for mutant in mutants:
            copy = tmp_path / "copy"
            shutil.copytree(begun, copy)
            (copy / name).write_bytes(mutant)
            with pytest.raises(CheckpointError):
                pegasos.solve(X, Y, resume=copy, **OPTIONS)
            shutil.rmtree(copy)


def test_headers_that_make_no_sense(tmp_path):
    """With the right checksums: what an array is said to be does not decide what is allocated."""
    import json
    import zlib

    def file(header):
        text = json.dumps(header).encode()
        start = container._START.pack(container._MAGIC, len(text), zlib.crc32(text))
        (tmp_path / "x").write_bytes(start + text)
        return tmp_path / "x"

    for entry in (
        ["a", "<f8", [1 << 60], "C", 0],
        ["a", "<f8", [-1], "C", 0],
        ["a", "|O8", [0], "C", 0],
        ["a", "<f8", [0.5], "C", 0],
        ["a", "<f8", 3, "C", 0],
        ["a", "<f8", [0], "Q", 0],
        ["a"],
        7,
    ):
        with pytest.raises(CheckpointError, match="makes no sense"):
            Container(file({"about": {}, "arrays": [entry]}))
    for header in ({"about": 3, "arrays": []}, {}, [], {"about": {}, "arrays": 3}):
        with pytest.raises(CheckpointError, match="makes no sense"):
            Container(file(header))
    newer = bytearray((tmp_path / "x").read_bytes())
    newer[7] = 2
    (tmp_path / "x").write_bytes(newer)
    with pytest.raises(CheckpointError, match="format version 2"):
        Container(tmp_path / "x")


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

    def advance(self, *arguments, **options):
        now[0] += 1.0  # a slice takes a second
        return plain(self, *arguments, **options)

    plain = pegasos.SGDS.advance
    monkeypatch.setattr("pegasos.checkpoint.folder.time", Clock)
    monkeypatch.setattr(pegasos.SGDS, "advance", advance)
    monkeypatch.setattr("pegasos.schedule.first_slice", lambda _: 20)
    monkeypatch.setattr("pegasos.schedule.next_slice", lambda *_: 20)
    written = container.write
    monkeypatch.setattr(
        "pegasos.checkpoint.folder.write", lambda *a: (saves.append(now[0]), written(*a))
    )
    options = OPTIONS | {"solver": "sgds", "tol": 0, "max_epochs": 10}
    pegasos.solve(X, Y, checkpoint=tmp_path / "a", checkpoint_every=7, **options)
    assert now[0] >= 90
    assert np.diff(saves[:-1]).tolist() == [7.0] * (len(saves) - 2)


def test_other_blocks(tmp_path):
    options, data = OPTIONS | {"tol": 1e-3}, toy(600, 6, seed=1)
    X, Y = data.X, data.Y[:, 0]
    small, large = (ArrayChunks(X, Y, block_bytes=size) for size in (100, 14_000))
    pegasos.solve(small, max_epochs=2, checkpoint=tmp_path / "a", **options)
    for rows in ((large,), (X, Y)):
        with pytest.raises(CheckpointError, match="read by other blocks, or at once") as refused:
            pegasos.solve(*rows, resume=tmp_path / "a", **options)
        assert "X has other values" not in str(refused.value)


@pytest.mark.parametrize(
    "make", [list, sparse.coo_matrix, sparse.lil_matrix, sparse.csc_matrix, np.asfortranarray],
)  # fmt: skip
def test_rows_in_any_form(make, tmp_path):
    rows = make(X)
    options = OPTIONS | {"n_jobs": np.int64(1)}
    pegasos.solve(rows, Y, max_epochs=3, checkpoint=tmp_path / "a", **options)
    found = pegasos.solve(rows, Y, resume=tmp_path / "a", **options)
    assert found.w.tobytes() == pegasos.solve(rows, Y, **options).w.tobytes()


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


def test_weights_of_classes_are_compared_by_what_they_say(tmp_path):
    options = {"solver": "dual", "tol": 1e-9, "random_state": 0}
    with pytest.warns(match="max_epochs"):
        pegasos.LinearSVC(
            class_weight={-1: 1, 1: 2.0}, max_iter=1, checkpoint=tmp_path / "a", **options
        ).fit(X, Y)
    same = {np.int64(1): 2, -1: np.float64(1.0)}
    pegasos.LinearSVC(class_weight=same, resume=tmp_path / "a", **options).fit(X, Y)


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

    monkeypatch.setattr("pegasos.checkpoint.folder.write", full)
    for limit in ({}, {"max_epochs": 3}):
        with pytest.warns(UserWarning, match=r"could not be written: .*No space left"):
            found = pegasos.solve(X, Y, checkpoint=tmp_path / f"{len(limit)}", **limit, **OPTIONS)
        assert found.stop_reason == ("max_epochs" if limit else "converged")


def test_somebody_who_was_faster_keeps_his_checkpoint(tmp_path, monkeypatch):
    from pegasos.checkpoint import folder

    plain = folder._locked

    def slow(place):
        monkeypatch.setattr(folder, "_locked", plain)
        pegasos.solve(X, Y, checkpoint=place, max_epochs=3, **OPTIONS)  # meanwhile
        return plain(place)

    monkeypatch.setattr(folder, "_locked", slow)
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
    from pegasos.checkpoint.folder import Checkpoint, _locked

    place.mkdir(exist_ok=True)
    return Checkpoint(place, 1e9, about, _locked(place))


def test_files_of_others_are_left_alone(begun):
    (begun / ".precious.tmp").write_text("mine")
    pegasos.solve(X, Y, resume=begun, **OPTIONS)
    assert (begun / ".precious.tmp").read_text() == "mine"
