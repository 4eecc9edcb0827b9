"""``pegasos train --checkpoint`` and ``--resume``: what was ended goes on to the same model."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pegasos.data.svmlight import write_svmlight
from pegasos.model import file as model_file

COMMAND = [sys.executable, "-c", "from pegasos.cli.app import main; main()"]


def same(one, other):
    first, second = model_file.read(one), model_file.read(other)
    assert first.coef.tobytes() == second.coef.tobytes()
    assert first.intercept.tobytes() == second.intercept.tobytes()
    np.testing.assert_array_equal(first.certificate.dual, second.certificate.dual)


@pytest.mark.parametrize("memory", [[], ["--memory", "1G"]])
def test_a_run_that_a_limit_ended_is_resumed_by_its_name(run, three, tmp_path, memory):
    whole, target = tmp_path / "whole.model", tmp_path / "m"
    options = ["--tol", "1e-5", "--solver", "dual", "--C", "1", *memory]
    assert run("train", three, whole, *options).exit_code == 0
    ended = run("train", three, target, *options, "--checkpoint", tmp_path / "c", "--max-iter", 3)
    assert ended.exit_code == 3, ended.stderr
    # By its name alone, with another limit; the model it left behind is replaced.
    found = run("train", "--resume", tmp_path / "c", "--max-iter", 1e6)
    assert found.exit_code == 0, found.stderr
    assert "as " in found.stderr
    same(target, whole)


def test_the_same_options_may_be_given_again(run, two, tmp_path):
    options = [two, tmp_path / "m", "--tol", "1e-7", "--solver", "dual"]
    whole = tmp_path / "whole.model"
    assert run("train", two, whole, *options[2:]).exit_code == 0
    assert run("train", *options, "--checkpoint", tmp_path / "c", "--max-iter", 2).exit_code == 3
    refused = run("train", *options, "--resume", tmp_path / "c")
    assert refused.exit_code == 1  # what is there may be somebody else's
    assert "--overwrite" in refused.stderr
    other = run("train", *options, "--resume", tmp_path / "c", "--overwrite", "--C", "7")
    assert other.exit_code == 1
    assert "C was 1.0, and is 7.0 here" in other.stderr
    found = run("train", *options, "--resume", tmp_path / "c", "--overwrite")
    assert found.exit_code == 0, found.stderr
    same(tmp_path / "m", whole)


def test_options_that_would_be_ignored_are_refused(run, two, tmp_path):
    options = ["--tol", "1e-7", "--solver", "dual"]
    run("train", two, *options, "--checkpoint", tmp_path / "c", "--max-iter", 2)
    for more in (["--C", "2"], ["--tol", "0.1"], ["--eval", str(two)], ["--scale", "maxabs"]):
        found = run("train", "--resume", tmp_path / "c", *more)
        assert found.exit_code == 2
        assert "leave others out" in found.stderr


def test_what_is_missing_is_named(run, two, tmp_path):
    found = run("train")
    assert found.exit_code == 2
    assert "DATA is missing" in found.stderr
    found = run("train", "--resume", tmp_path / "none")
    assert found.exit_code == 1
    assert "no such checkpoint" in found.stderr
    found = run("train", two, "--checkpoint-every", "3")
    assert found.exit_code == 1
    assert "checkpoint_every is for a checkpoint" in found.stderr
    assert not two.with_name(two.name + ".model").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_ended_from_outside(number, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)) + 0.5
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0.5, 1, -1)
    write_svmlight(X, y, tmp_path / "data")
    options = [
        "train", tmp_path / "data", "--C", "10", "--solver", "dual", "--tol", "1e-6",
        "--threads", "1", "-q",
    ]  # fmt: skip
    whole = [*COMMAND, *options, "--overwrite"]
    subprocess.run([*whole[:5], tmp_path / "whole", *whole[5:]], check=True, timeout=120)
    saving = ["--checkpoint", tmp_path / "c", "--checkpoint-every", "0.05"]
    with subprocess.Popen([*COMMAND, *options, *saving], stderr=subprocess.PIPE) as process:
        while not (tmp_path / "c" / "running-fit").exists() and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, number)
        process.wait(60)
    assert process.returncode == (130 if number == signal.SIGTERM else -number)
    resumed = subprocess.run(
        [*COMMAND, "train", "--resume", tmp_path / "c"], timeout=120, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    same(tmp_path / "data.model", tmp_path / "whole")


def test_a_file_of_somebody_else_is_not_replaced(run, two, tmp_path):
    options = ["--tol", "1e-7", "--solver", "dual", "--max-iter", 2, "--checkpoint", tmp_path / "c"]
    ended = run("train", two, tmp_path / "m", *options)
    assert ended.exit_code == 3
    assert f"pegasos train --resume {tmp_path / 'c'}" in ended.stderr
    (tmp_path / "m").write_text("precious")
    refused = run("train", "--resume", tmp_path / "c", "--max-iter", 1e6)
    assert refused.exit_code == 1
    assert "--overwrite" in refused.stderr
    assert (tmp_path / "m").read_text() == "precious"
    found = run("train", "--resume", tmp_path / "c", "--max-iter", 1e6, "--overwrite")
    assert found.exit_code == 0, found.stderr


def test_what_is_in_the_way_is_told_before_rows_are_read(run, two, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "file").touch()
    for options in (["--checkpoint", tmp_path / "c"], ["--checkpoint", tmp_path / "no" / "c"],
                    ["--checkpoint", tmp_path / "d", "--checkpoint-every", "-1"]):  # fmt: skip
        found = run("train", two, *options)
        assert found.exit_code == 1
        assert "rows" not in found.stderr
