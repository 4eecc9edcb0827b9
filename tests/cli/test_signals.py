"""Ctrl-C and SIGTERM, in processes of their own."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pegasos.data.svmlight import write_svmlight
from pegasos.data.synthetic import make_news
from pegasos.model import file as model_file

COMMAND = [sys.executable, "-c", "from pegasos.cli.app import main; main()"]


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Rows that take a while to be solved to the last digits."""
    X, y = make_news(20_000, seed=0)
    path = tmp_path_factory.mktemp("slow") / "news.svm"
    write_svmlight(X, y, path)
    return path


def interrupted(path, target, number):
    process = subprocess.Popen(
        [*COMMAND, "train", path, target, "--tol", "1e-12", "--C", "1000", "--solver", "sgds",
         "--max-iter", "1e9", "--threads", "1"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stderr:  # training has begun
        if line.startswith("solver:"):
            break
    time.sleep(0.5)
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    return process.returncode, rest, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_leaves_a_model_and_its_proof(slow, tmp_path, number, values):
    target = tmp_path / "a.model"
    code, out, errors = interrupted(slow, target, number)
    assert code == 130, errors
    assert "interrupted" in errors
    model = model_file.read(target)
    assert model.training["stop_reason"] == "interrupted"
    recorded = float(np.max(model.certificate.relative_gap))
    assert float(dict(line.split("\t") for line in out.splitlines())["relative_gap"]) == (
        pytest.approx(recorded, rel=1e-9)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]


def killing(what, number):
    """The command line, which gets a signal as soon as ``what`` is called."""
    return (
        "import os, sys\nfrom pegasos.cli.app import main\n"
        f"import {what.rpartition('.')[0]} as module\n"
        f"old = module.{what.rpartition('.')[2]}\n"
        "def killed(*given, **named):\n"
        f"    os.kill(os.getpid(), {int(number)})\n    return old(*given, **named)\n"
        f"module.{what.rpartition('.')[2]} = killed\nmain()\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("pegasos.cli.fitting.fingerprint", "proven within"),  # trained, not yet saved
        ("pegasos.model.file.write", "proven within"),
        ("pegasos.cli.cv.cross_validated", "interrupted: the model is in"),
    ],
)
def test_a_trained_model_is_not_lost(two, tmp_path, number, what, words):
    target = tmp_path / "a.model"
    run = subprocess.run(
        [sys.executable, "-c", killing(what, number), "train", two, target, "-v", "3"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == (130 if "cv" in what else 0), run.stderr
    assert words in run.stderr
    assert model_file.read(target).training["stop_reason"] == "converged"


def test_a_signal_before_the_fit_begins_ends_it(two, tmp_path):
    target = tmp_path / "a.model"
    code = killing("pegasos.cli.fitting.task_of", signal.SIGTERM)
    run = subprocess.run(
        [sys.executable, "-c", code, "train", two, target], capture_output=True, text=True
    )
    assert run.returncode == 130, run.stderr
    assert model_file.read(target).training["stop_reason"] == "interrupted"


def test_sigterm_saves_where_ctrl_c_is_ignored(slow, tmp_path):
    target = tmp_path / "a.model"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as shells start what ends with &
    try:
        code, _, errors = interrupted(slow, target, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130, errors
    assert model_file.read(target).training["stop_reason"] == "interrupted"


def test_neither_scikit_learn_nor_scipy_for_plain_training(two):
    code = (
        "import sys\nfrom pegasos.cli.app import make_app\n"
        "try:\n    make_app()(['train', sys.argv[1], '-q', '-s', 'dual'])\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = ('sklearn', 'pandas', 'scipy')\n"
        "print([name for name in sys.modules if name.split('.')[0] in heavy])\n"
    )
    run = subprocess.run([sys.executable, "-c", code, two], capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]", run.stderr
