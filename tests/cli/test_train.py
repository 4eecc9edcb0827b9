import json
import subprocess
import sys

import numpy as np
import pytest

import pegasos
from pegasos.data import read
from pegasos.model import file as model_file


def test_the_model_is_the_estimator_s(values, two):
    """The command line and LinearSVC solve the same problem."""
    found = values("train", two, "--C", "0.1", "--tol", "1e-8")
    model = model_file.read(found["model"])
    data = read(two)
    same = pegasos.LinearSVC(C=0.1, tol=1e-8).fit(data.X, data.y)
    np.testing.assert_allclose(model.coef, same.coef_, atol=1e-4)
    assert model.certificate.primal == pytest.approx(same.objective_, rel=1e-7)
    assert float(found["relative_gap"]) <= 1e-8
    assert found["proven"] == "true"


def test_the_proof_in_the_file_is_that_of_its_weights(values, two):
    model = model_file.read(values("train", two)["model"])
    data = read(two)
    proof = pegasos.certify(data.X, data.y, model.coef[0], C=1.0, intercept="free")
    assert proof.primal == pytest.approx(model.certificate.primal, rel=1e-9)


def test_nothing_is_replaced_without_being_asked(run, values, two):
    target = values("train", two)["model"]
    before = model_file.read(target).coef
    again = run("train", two, "--C", "100")
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr
    np.testing.assert_array_equal(model_file.read(target).coef, before)
    values("train", two, "--C", "100", "--overwrite")
    assert not np.array_equal(model_file.read(target).coef, before)


def test_a_gap_above_tol_is_saved_with_its_own_exit_code(values, two):
    found = values("train", two, "--solver", "sgds", "--max-iter", "1", "--tol", "1e-9", code=3)
    assert found["proven"] == "false"
    model = model_file.read(found["model"])
    assert model.training["stop_reason"] == "max_epochs"
    assert float(np.max(model.certificate.relative_gap)) > 1e-9


def test_stdout_is_for_results_and_stderr_for_people(run, two, tmp_path):
    result = run("train", two, tmp_path / "a.model")
    assert all(line.count("\t") == 1 for line in result.stdout.splitlines())
    for word in ("400 rows", "2 classes", "solver:", "memory", "proven within", "read"):
        assert word in result.stderr
    quiet = run("train", two, tmp_path / "b.model", "-q")
    assert quiet.stderr == ""
    everything = json.loads(run("train", two, tmp_path / "c.model", "--json", "-q").stdout)
    assert everything["rows"] == 400
    assert everything["certificate"]["dual"] <= everything["certificate"]["primal"]
    assert set(everything["seconds"]) == {"read", "train", "certify"}


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
def test_several_classes(values, three, scheme):
    found = values("train", three, "--multi-class", scheme, "--eval", three, "--cv", "3")
    assert float(found["eval_accuracy"]) > 0.6
    assert 0.5 < float(found["cv_accuracy"]) < 1
    assert model_file.read(found["model"]).scheme == scheme


def test_class_weights(run, values, two):
    model = model_file.read(values("train", two, "-w", "1=3", "-w", "-1=0.5")["model"])
    data = read(two)
    same = pegasos.LinearSVC(class_weight={1: 3, -1: 0.5}, tol=1e-10).fit(data.X, data.y)
    assert model.certificate.primal == pytest.approx(same.objective_, rel=2e-3)
    assert model.parameters["class_weight"] == {1: 3.0, -1: 0.5}
    for wrong, words in (("7=1", "no class 7"), ("1", "LABEL=WEIGHT"), ("1=x", "LABEL=WEIGHT")):
        result = run("train", two, "-w", wrong, "--overwrite")
        assert result.exit_code == (1 if wrong == "7=1" else 2)
        assert words in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--C", "0"], "C must be"),
        (["--C", "1", "--lam", "1"], "exclude each other"),
        (["--solver", "no"], "solver"),
        (["--loss", "no"], "loss"),
        (["--tol", "-1"], "tol"),
        (["--scale", "no"], "scale"),
        (["--multi-class", "no"], "multi_class"),
        (["--format", "no"], "format"),
        (["--zero-based", "--auto-based"], "exclude each other"),
    ],
)
def test_wrong_options_are_named(run, two, arguments, words):
    result = run("train", two, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not two.with_name("two.svm.model").exists()


def test_usage_is_exit_code_2(run, two):
    assert run("train").exit_code == 2
    assert run("train", two, "--no-such-option").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_malformed_data_are_refused_with_their_place(run, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\n-1 1:x\n")
    result = run("train", path)
    assert result.exit_code == 1
    assert f"{path}:2:6" in result.stderr
    assert list(tmp_path.iterdir()) == [path]
    skipped = run("train", path, "--skip-bad-lines")
    assert "all rows are of class 1" in skipped.stderr


def test_one_class_or_no_file(run, tmp_path):
    path = tmp_path / "one.svm"
    path.write_text("1 1:1\n1 1:2\n")
    assert "at least two" in run("train", path).stderr
    missing = run("train", tmp_path / "no.svm")
    assert missing.exit_code == 1
    assert "no.svm" in missing.stderr
    nowhere = run("train", path, tmp_path / "no" / "a.model")
    assert "no such folder" in nowhere.stderr


@pytest.mark.parametrize("scale", ["maxabs", "standard"])
def test_scaling_goes_with_the_model(values, run, two, scale):
    found = values("train", two, "--scale", scale)
    out = two.with_name("out.txt")
    accuracy = float(values("predict", found["model"], two, out)["accuracy"])
    data = read(two)
    assert accuracy == np.mean(np.loadtxt(out) == data.y)
    assert accuracy > 0.8
    assert values("certify", found["model"], two)["confirmed"] == "true"


def test_rows_with_several_labels(values, tmp_path):
    path = tmp_path / "many.svm"
    lines = [f"{'1,3' if k % 3 else '2'} {k % 5 + 1}:1 {k % 3 + 6}:{1 + k % 2}" for k in range(60)]
    path.write_text("\n".join(lines) + "\n")
    found = values("train", path, "--multilabel")
    out = tmp_path / "out.txt"
    told = values("predict", found["model"], path, out, "--multilabel")
    assert float(told["accuracy"]) == 1
    assert set(out.read_text().splitlines()) == {"1,3", "2"}
    assert values("certify", found["model"], path, "--multilabel")["confirmed"] == "true"


def test_text_columns(values, run, tmp_path):
    path = tmp_path / "a.csv"
    good, bad = "great, love it", "terrible waste"
    lines = [f'{k},"{good if k % 2 else bad} x{k}",{"good" if k % 2 else "bad"}' for k in range(20)]
    path.write_text("id,review,stars\n" + "\n".join(lines) + "\n")
    for method in ("tfidf", "hashing"):
        found = values(
            "train", path, tmp_path / f"{method}.model", "--text", "review", "--label", "stars",
            "--text-as", method,
        )  # fmt: skip
        assert run("predict", found["model"], path, "-q").stdout.split() == ["bad", "good"] * 10
        new = tmp_path / "new.csv"
        new.write_text("review\nI love it\n")
        assert run("predict", found["model"], new, "-q").stdout.strip() == "good"
    shown = run("inspect", tmp_path / "tfidf.model").stdout
    assert "good\tgreat\t" in shown or "good\tlove\t" in shown


def test_no_more_memory_than_was_said(two):
    code = (
        "import resource, subprocess, sys\n"
        "one = 'from pegasos.cli.app import main; main()'\n"
        "done = subprocess.run([sys.executable, '-c', one, 'train', sys.argv[1]],\n"
        "                      capture_output=True, text=True)\n"
        "said = float(done.stderr.partition('at most ')[2].split()[0]) * 1e6\n"
        "took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024\n"
        "assert took <= said, (took, said)\n"
    )
    subprocess.run([sys.executable, "-c", code, two], check=True)
