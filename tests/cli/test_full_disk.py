"""A disk that is full: the error names the file, and what was there before is whole.

Once with a limit on the size of files, which everybody may set; and on a small file system of its
own, where one may be mounted.
"""

import resource
import subprocess
import sys

import numpy as np
import pytest

from pegasos.data.svmlight import write_svmlight

COMMAND = [sys.executable, "-c", "from pegasos.cli.app import main; main()"]
LIMIT = 60_000


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def run(*arguments, full=False):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=limited if full else None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Rows whose cache, model and checkpoint all take more than there is room for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20_000)) * (rng.random((300, 20_000)) < 0.01)
    path = tmp_path_factory.mktemp("data") / "rows"
    write_svmlight(X, np.where(rng.random(300) < 0.5, 1, -1), path)
    return path


@pytest.fixture
def disk(tmp_path):
    """A file system of 100 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


COMMANDS = {
    "cache": lambda data, place: ["convert", data, place / "rows.cache", "--overwrite"],
    "cache of --memory": lambda data, place: [
        "train", data, data.parent / "m", "--overwrite", "--memory", "1G", "--cache-dir", place,
    ],
    "model": lambda data, place: ["train", data, place / "model", "--overwrite"],
    "checkpoint": lambda data, place: [
        "train", data, data.parent / "m", "--overwrite", "--checkpoint-every", "0", "--solver",
        "sgds", "--tol", "1e-9", "--max-iter", "50", "--checkpoint", place / "c", "--resume",
        place / "c",
    ],
}  # fmt: skip
EACH = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


@EACH
def test_files_that_may_not_grow(command, data, tmp_path):
    arguments = command(data, tmp_path)
    assert run(*arguments).returncode in (0, 3)
    before = contents(tmp_path)
    if arguments[0] == "train" and "--memory" in arguments:
        data.touch()  # it is newer than its cache: that is made again
    found = run(*arguments, full=True)
    assert found.returncode == 1, found.stderr
    assert "File too large" in found.stderr
    assert str(tmp_path) in found.stderr
    assert contents(tmp_path) == before


@EACH
def test_no_space_left(command, data, disk):
    (disk / "other").write_bytes(b"x" * 20_000)
    before = contents(disk)
    found = run(*command(data, disk))
    assert found.returncode == 1, found.stderr
    assert "No space left on device" in found.stderr
    assert str(disk) in found.stderr
    left = contents(disk)
    assert left["other"] == before["other"]
    # A checkpoint may have begun; nothing half written is left of anything.
    assert not any(".tmp" in name for name in left)
    assert set(left) - set(before) <= {"c", "c/manifest.json", "c/lock"}
