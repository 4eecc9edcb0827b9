"""Compressed files: read as they were, and never silently short."""

import gzip
import os
import threading

import numpy as np
import pytest

from pegasos.data import DataError
from pegasos.data.files import COMPRESSED, create_binary, open_binary

TEXT = b"1 2:3.5\n-1 7:1e-3\n" * 40


@pytest.mark.parametrize("ending", ["", *COMPRESSED])
def test_what_is_written_is_read(tmp_path, ending):
    path = tmp_path / f"a.svm{ending}"
    with create_binary(path) as file:
        file.write(TEXT)
    with open_binary(path) as file:
        assert file.read(10) == TEXT[:10]
        assert file.read() == TEXT[10:]


@pytest.mark.parametrize("ending", COMPRESSED)
def test_members_one_after_the_other_are_all_read(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with create_binary(path) as file:
        file.write(TEXT)
    path.write_bytes(path.read_bytes() * 3)
    with open_binary(path) as file:
        assert file.read() == TEXT * 3


@pytest.mark.parametrize("ending", COMPRESSED)
def test_truncated_anywhere_is_an_error_that_names_the_file(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with create_binary(path) as file:
        file.write(TEXT)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=f"a{ending}: ") as caught, open_binary(path) as file:
            file.read()
        assert caught.value.path == str(path)


@pytest.mark.parametrize("ending", COMPRESSED)
def test_damage_gives_an_error_or_the_same_bytes(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with create_binary(path) as file:
        file.write(TEXT)
    whole, rng, caught = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            with open_binary(path) as file:
                found = file.read()
        except DataError:
            caught += 1
        else:
            assert found == TEXT
    assert caught > 100


def test_names_that_do_not_fit_the_contents_are_errors(tmp_path):
    (tmp_path / "a.gz").write_bytes(TEXT)
    (tmp_path / "b").write_bytes(gzip.compress(TEXT))
    with pytest.raises(DataError, match=r"does not begin like a \.gz file"):
        open_binary(tmp_path / "a.gz")
    with pytest.raises(DataError, match=r"its name must end in \.gz"):
        open_binary(tmp_path / "b")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_pipes_can_be_read(tmp_path, ending):
    path = tmp_path / f"pipe{ending}"
    os.mkfifo(path)
    raw = gzip.compress(TEXT) if ending else TEXT
    writer = threading.Thread(target=path.write_bytes, args=(raw,))
    writer.start()
    with open_binary(path) as file:
        assert file.read() == TEXT
    writer.join()
