"""What is told before anything is read or trained, and what is never done."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from pegasos.data import read
from pegasos.util.atomic import atomic_write


def test_a_target_that_cannot_be_a_model_is_told_first(run, two, tmp_path):
    for target in (tmp_path, os.devnull):
        result = run("train", two, target, "--overwrite")
        assert result.exit_code == 1
        assert "file of its own" in result.stderr
        assert "rows" not in result.stderr


def test_a_pipe_gives_no_name_to_the_model(run):
    assert "give MODEL" in run("train", os.devnull).stderr


def test_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="not a file"), atomic_write(tmp_path / "pipe"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("wrong", [("--C", "-1"), ("--C", "nan"), ("--lam", "0")])
def test_wrong_strengths_are_told_before_the_file_is_read(run, two, wrong):
    result = run("train", two, *wrong)
    assert result.exit_code == 2
    assert "rows" not in result.stderr


def test_seeds_are_usage(run, two):
    assert run("train", two, "--seed", "-1").exit_code == 2


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"features": -1}, {"features": 2.5}])
def test_counts_of_the_reader(two, wrong):
    with pytest.raises(ValueError, match="at least 1"):
        read(two, **wrong)


def test_formats_go_by_the_names_in_the_help(run, tmp_path):
    path = tmp_path / "rows"
    path.write_text("y\ta\n0\t1\n1\t2\n")
    assert run("train", path, "--format", "tsv").exit_code == 0


def test_rows_with_several_labels(run, values, tmp_path):
    path = tmp_path / "labels.svm"
    path.write_text("1,3 1:1 2:0.5\n2 2:1\n1 1:0.3 3:2\n2,3 2:2\n")
    early = run("train", path, "--multilabel", "--cv", "2")
    assert early.exit_code == 1
    assert list(tmp_path.iterdir()) == [path]
    model = values("train", path, "--multilabel")["model"]
    out = tmp_path / "out.txt"
    lines = run("predict", model, path, out, "--metrics").stdout.splitlines()
    table = np.array([line.split("\t") for line in lines[-3:]], dtype=float)
    said = out.read_text().split()
    assert lines[-4].split("\t") == ["class", "rows", "said", "both", "precision", "recall"]
    np.testing.assert_array_equal(table[:, 1], [2, 2, 2])
    np.testing.assert_array_equal(
        table[:, 2], [sum(k in row.split(",") for row in said) for k in "123"]
    )


def test_an_interrupted_reading_says_that_nothing_was_saved(two):
    code = (
        "import os, pegasos.data\nfrom pegasos.cli.app import main\n"
        f"pegasos.data.read = lambda *_, **__: os.kill(os.getpid(), {int(signal.SIGINT)})\nmain()"
    )
    run = subprocess.run([sys.executable, "-c", code, "train", two], capture_output=True, text=True)
    assert run.returncode == 130
    assert "nothing was saved" in run.stderr
