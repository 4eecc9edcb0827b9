"""Files and folders appear whole or not at all, whatever fails on the way."""

import builtins
import errno
import os
import resource
import stat
import subprocess
import sys

import pytest

from pegasos.util import atomic
from pegasos.util.atomic import TEMPORARY, atomic_folder, atomic_path, atomic_write

FAILURES = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EROFS, os.strerror(errno.EROFS)),
    KeyboardInterrupt(),
]
CALLS = ("open", "chmod", "fsync", "link", "replace", "rename", "mkdir")


class Faults:
    """Counts the calls of the system, and lets the one that is asked for fail."""

    def __init__(self, monkeypatch, failing=None, failure=None):
        self.calls, self.failing, self.failure = [], failing, failure
        for name in CALLS:
            monkeypatch.setattr(atomic.os, name, self.watched(name, getattr(os, name)))
        # It opens folders on its way; that this fails is for others to test.
        monkeypatch.setattr(atomic.shutil, "rmtree", self.unwatched(atomic.shutil.rmtree))
        monkeypatch.setattr(atomic, "open", self.open, raising=False)

    def watched(self, name, function):
        def call(*arguments, **options):
            self.met(name)
            return function(*arguments, **options)

        return call

    def unwatched(self, function):
        def call(*arguments, **options):
            calls, self.calls = self.calls, [None] * 10**6
            function(*arguments, **options)
            self.calls = calls

        return call

    def met(self, name):
        self.calls.append(name)
        if len(self.calls) - 1 == self.failing:
            raise self.failure

    def open(self, path, mode):
        self.met("open")
        return Watched(builtins.open(path, mode), self)


class Watched:
    """A file that reports what is done with it."""

    def __init__(self, file, faults):
        self.file, self.faults = file, faults

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()
        if error[0] is None:
            self.faults.met("close")

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.faults.met("write")
        self.file.write(data[len(data) // 2 :])


def put(path, data):
    with atomic_write(path) as file:
        file.write(data)


def put_folder(path, data):
    with atomic_folder(path, overwrite=True) as folder:
        (folder / "part").write_bytes(data)
        (folder / "below").mkdir()
        (folder / "below" / "part").write_bytes(data)


def contents(path):
    return path.read_bytes() if path.is_file() else (path / "below" / "part").read_bytes()


@pytest.mark.parametrize("write", [put, put_folder])
@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("failure", FAILURES, ids=["no space", "read-only", "Ctrl-C"])
def test_a_failure_at_any_call_leaves_what_was_there_and_nothing_else(
    tmp_path, write, existing, failure
):
    path = tmp_path / "model"
    if existing:
        write(path, b"before")
    with pytest.MonkeyPatch.context() as patch:
        calls = Faults(patch).calls
        write(tmp_path / "model", b"before") if existing else write(tmp_path / "other", b"")
    wanted = {"fsync", "rename", "mkdir"} if write is put_folder else {
        "open", "write", "fsync", "replace", "close"}  # fmt: skip
    assert wanted <= set(calls)
    before = sorted(os.listdir(tmp_path))
    for number, call in enumerate(calls):
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, number, failure)
            if call == "link" and isinstance(failure, OSError):  # an extra: not all disks have it
                write(path, b"before")
            else:
                with pytest.raises(type(failure)) as caught:
                    write(path, b"after")
                assert caught.type is KeyboardInterrupt or str(path) in str(caught.value)
        assert sorted(os.listdir(tmp_path)) == before, call
        if existing:
            assert contents(path) == b"before", call
    write(path, b"after")
    assert contents(path) == b"after"


def test_an_error_in_the_block_leaves_what_was_there(tmp_path):
    path = tmp_path / "model"
    put(path, b"before")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"%d" % (1 // 0))
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "folder"):
        raise ZeroDivisionError
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model"]


def test_a_disk_quota_is_an_error_that_names_the_file(tmp_path):
    # A real failure of the system in the middle of the data: the limit on the size of files.
    path = tmp_path / "model"
    put(path, b"before")
    code = (
        "import resource, signal, sys; from pegasos.util.atomic import atomic_write\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))\n"
        "with atomic_write(sys.argv[1]) as file: file.write(bytes(1 << 20))\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 10000
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "File too large" in run.stderr.splitlines()[-1]
    assert str(path) in run.stderr.splitlines()[-1]
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model"]


def test_permissions_are_kept_and_new_files_get_the_usual_ones(tmp_path):
    path = tmp_path / "model"
    mask = os.umask(0o027)
    try:
        put(path, b"")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o604, 0o400):
            path.chmod(mode)
            put(path, b"")
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(mask)


def test_a_link_keeps_pointing_to_the_file_it_stands_for(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "model", tmp_path / "link"
    target.write_bytes(b"before")
    link.symlink_to(target)
    put(link, b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    assert os.listdir(tmp_path / "there") == ["model"]


def test_nothing_is_replaced_without_leave(tmp_path):
    path, folder = tmp_path / "model", tmp_path / "folder"
    put(path, b"before")
    put_folder(folder, b"before")
    with pytest.raises(FileExistsError, match="model"), atomic_write(path, overwrite=False):
        raise AssertionError("the block is not to run")
    with pytest.raises(FileExistsError, match="folder"), atomic_folder(folder):
        raise AssertionError("the block is not to run")
    with pytest.raises(NotADirectoryError, match="model"), atomic_folder(path, overwrite=True):
        raise AssertionError("the block is not to run")
    with pytest.raises(IsADirectoryError, match="folder"), atomic_write(folder):
        raise AssertionError("the block is not to run")
    with pytest.raises(FileNotFoundError, match="absent/model"):
        put(tmp_path / "absent" / "model", b"")
    with pytest.raises(FileExistsError, match="late"):
        late(tmp_path / "late")
    assert (tmp_path / "late").read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path)) == ["folder", "late", "model"]


def late(path):
    with atomic_write(path, overwrite=False) as file:
        file.write(b"ours")
        path.write_bytes(b"theirs")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("existed", [False, True])
def test_what_is_written_by_name_appears_whole_or_not_at_all(tmp_path, fails, existed):
    path = tmp_path / "a.csv"
    if existed:
        path.write_text("before")
        with (
            pytest.raises(FileExistsError, match="already"),
            atomic_path(path, overwrite=False) as unfinished,
        ):
            unfinished.write_text("never")
    try:
        with atomic_path(path, overwrite=existed) as unfinished:
            assert unfinished.suffix == ".csv"
            assert TEMPORARY.fullmatch(unfinished.name)
            unfinished.write_text("after")
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert [file.name for file in tmp_path.iterdir()] == (["a.csv"] if existed or not fails else [])
    if path.exists():
        assert path.read_text() == ("before" if fails else "after")
