"""``pegasos train --memory``: rows are read a block at a time, from a cache that is made first."""

import os

import numpy as np
import pytest

from pegasos.model import file as model_file


@pytest.fixture
def little(monkeypatch):
    """A machine with less memory than any file has."""
    monkeypatch.setattr("pegasos.data.chunks.total", lambda: 1000)


def test_rows_that_fit_are_mapped_and_give_the_same_bits(run, values, two, tmp_path):
    whole = model_file.read(values("train", two, "--tol", "1e-6")["model"])
    found = run("train", two, tmp_path / "large.model", "--tol", "1e-6", "--memory", "1G")
    assert found.exit_code == 0, found.stderr
    assert "mapped from" in found.stderr
    assert model_file.read(tmp_path / "large.model").coef.tobytes() == whole.coef.tobytes()


def test_a_file_that_would_not_fit_is_not_read_at_once(run, two, tmp_path, monkeypatch, little):
    monkeypatch.setattr("pegasos.cli.memory.available", lambda: 10_000)
    refused = run("train", two, tmp_path / "m")
    assert refused.exit_code == 1
    assert "would hardly fit 10 kB of memory" in refused.stderr
    assert "--memory allows 7 kB" in refused.stderr


@pytest.mark.usefixtures("little")
def test_the_model_is_that_of_rows_in_memory(run, values, two, tmp_path):
    whole = model_file.read(values("train", two, "--tol", "1e-6")["model"])
    found = run("train", two, tmp_path / "large.model", "--tol", "1e-6", "--memory", "1G")
    assert found.exit_code == 0, found.stderr
    assert "a block at a time" in found.stderr
    large = model_file.read(tmp_path / "large.model")
    assert large.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-6)
    np.testing.assert_allclose(large.coef, whole.coef, atol=1e-2)
    assert large.data["rows"] == whole.data["rows"]
    cache = two.with_name(two.name + ".cache")
    assert cache.is_dir()
    again = run("train", two, tmp_path / "again.model", "--memory", "1G")
    assert "it is used" in again.stderr
    # A file that changed since is converted again.
    later = cache.stat().st_mtime + 10
    os.utime(two, (later, later))
    third = run("train", two, tmp_path / "third.model", "--memory", "1G")
    assert "is converted" in third.stderr
    assert third.exit_code == 0


def test_the_cache_may_go_elsewhere(run, two, tmp_path):
    place = tmp_path / "elsewhere"
    refused = run("train", two, tmp_path / "m", "--memory", "1G", "--cache-dir", place)
    assert refused.exit_code == 1
    assert "no such folder" in refused.stderr
    place.mkdir()
    found = run("train", two, tmp_path / "m", "--memory", "1G", "--cache-dir", place)
    assert found.exit_code == 0, found.stderr
    assert (place / f"{two.name}.cache").is_dir()
    assert not two.with_name(two.name + ".cache").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "1M"], "--memory allows"),
        (["--memory", "much"], "like 300M"),
        (["--memory", "-1G"], "like 300M"),
        (["--memory", "1G", "--scale", "standard"], "--scale"),
        (["--memory", "1G", "--cv", "3"], "--cv needs"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(run, two, tmp_path, options, words):
    found = run("train", two, tmp_path / "m", *options)
    assert found.exit_code in (1, 2)
    assert words in found.stderr
    assert not (tmp_path / "m").exists()


def test_a_folder_that_is_no_cache_is_left_alone(run, two, tmp_path):
    place = two.with_name(two.name + ".cache")
    place.mkdir()
    (place / "precious").write_text("data")
    found = run("train", two, tmp_path / "m", "--memory", "1G")
    assert found.exit_code == 1
    assert (place / "precious").read_text() == "data"
