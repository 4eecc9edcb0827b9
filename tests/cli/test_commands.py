import json

import numpy as np
import pytest

import pegasos
from pegasos.data import read
from pegasos.model import file as model_file


def test_predictions_go_to_stdout_or_a_file(run, values, three):
    target = values("train", three)["model"]
    data = read(three)
    expected = model_file.read(target).predict(data.X)
    result = run("predict", target, three)
    np.testing.assert_array_equal(np.array(result.stdout.split(), dtype=int), expected)
    assert "accuracy" in result.stderr
    out = three.with_name("out.txt")
    told = values("predict", target, three, out)
    assert float(told["accuracy"]) == np.mean(expected == data.y)
    np.testing.assert_array_equal(np.loadtxt(out), expected)
    again = run("predict", target, three, out)
    assert again.exit_code == 1
    assert run("predict", target, three, out, "--overwrite").exit_code == 0


def test_scores_are_those_of_the_model_to_the_bit(run, values, three, two):
    for path in (three, two):
        target = values("train", path)["model"]
        text = run("predict", target, path, "--scores", "-q").stdout
        scores = np.array([line.split("\t") for line in text.splitlines()], dtype=float)
        expected = model_file.read(target).scores(read(path).X)
        np.testing.assert_array_equal(scores.squeeze(), expected)


def test_the_confusion_matrix(run, values, two):
    target = values("train", two)["model"]
    out = two.with_name("out.txt")
    told = json.loads(run("predict", target, two, out, "--metrics", "--json", "-q").stdout)
    y, said = read(two).y, np.loadtxt(out)
    row = told["classes"][1]
    assert row["class"] == "1"
    assert row["as -1"] == np.sum((y == 1) & (said == -1))
    assert row["recall"] == pytest.approx(np.mean(said[y == 1] == 1))
    assert row["precision"] == pytest.approx(np.mean(y[said == 1] == 1))
    assert "as -1" in run("predict", target, two, "--metrics").stderr


def test_features_that_the_model_has_not_seen_have_no_weight(run, values, two, tmp_path):
    target = values("train", two)["model"]
    wide = tmp_path / "wide.svm"
    wide.write_text("1 1:1 2:1 1000:5\n")
    narrow = tmp_path / "narrow.svm"
    narrow.write_text("1 1:1 2:1\n")
    result = run("predict", target, wide, "--scores")
    assert "the rest has no weight" in result.stderr
    assert result.stdout == run("predict", target, narrow, "--scores").stdout


def test_cross_validation_prints_the_path_and_trains(run, values, two, tmp_path):
    target = tmp_path / "best.model"
    result = run("cv", two, "--Cs", "0.01:1:3", "--folds", "3", "--train-best", target)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split("\t") == ["C", "accuracy", "standard_error", "largest_gap"]
    table = np.array([line.split("\t") for line in lines[1:4]], dtype=float)
    np.testing.assert_allclose(table[:, 0], [0.01, 0.1, 1])
    assert (table[:, 3] <= 1e-3).all()
    told = dict(line.split("\t") for line in lines[4:])
    best = table[np.argmax(table[:, 1])]
    assert float(told["chosen_C"]) == best[0]
    assert model_file.read(target).parameters["C"] == best[0]
    for wrong in ("x", "0,1", "1:2", ""):
        assert run("cv", two, "--Cs", wrong).exit_code == 2


def test_certify_tells_how_far_any_model_is_from_the_optimum(values, two, tmp_path):
    """Worse models have larger gaps; the bounds hold the true one between them."""
    data = read(two)
    exact = pegasos.LinearSVC(C=1, tol=1e-10).fit(data.X, data.y)
    for factor in (1.0, 1.1, 2.0):
        model = model_file.read(values("train", two, "--overwrite", "--tol", "1e-9")["model"])
        scaled = type(model)(**{**vars(model), "coef": model.coef * factor, "certificate": None})
        path = tmp_path / f"{factor}.model"
        model_file.write(scaled, path)
        told = values("certify", path, two)
        proof = pegasos.certify(
            np.hstack([data.X.toarray(), np.ones((data.n, 1))]),
            data.y,
            np.append(scaled.coef[0], scaled.intercept[0]),
            C=1.0,
        )
        objective = proof.primal - scaled.intercept[0] ** 2 / (2 * data.n)  # b is not penalised
        true = objective / exact.objective_ - 1
        assert float(told["primal"]) == pytest.approx(objective, rel=1e-8)
        assert float(told["at_least"]) - 1e-8 <= true <= float(told["relative_gap"]) + 1e-8
        assert float(told["relative_gap"]) <= 1.2 * true + 1e-7


def test_certify_needs_to_know_the_problem(run, values, two, tmp_path):
    text = tmp_path / "liblinear.model"
    values("export", values("train", two)["model"], text, "--to", "liblinear")
    result = run("certify", text, two)
    assert result.exit_code == 1
    assert "--C or --lam" in result.stderr
    told = values("certify", text, two, "--C", "1", "--intercept", "free")
    assert float(told["relative_gap"]) < 2e-3
    assert run("certify", text, two, "--C", "1", "--tol", "1e-12").exit_code == 3


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
def test_certify_confirms_what_training_recorded(values, three, scheme):
    target = values("train", three, "--multi-class", scheme)["model"]
    told = values("certify", target, three)
    assert told["confirmed"] == "true"
    assert float(told["relative_gap"]) <= float(told["recorded_gap"]) + 1e-12


def test_certify_is_not_fooled_by_other_rows(values, two, three, run):
    target = values("train", two)["model"]
    other = two.with_name("other.svm")
    lines = two.read_text().splitlines()
    other.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    told = run("certify", target, other)
    assert told.exit_code == 0
    assert "confirmed\tfalse" in told.stdout
    assert "does not know class" in run("certify", target, three).stderr


def test_convert_and_train_on_the_cache(values, two, tmp_path):
    cache = tmp_path / "two.cache"
    told = values("convert", two, cache)
    assert told["rows"] == "400"
    first = model_file.read(values("train", two)["model"])
    second = model_file.read(values("train", cache)["model"])
    np.testing.assert_array_equal(first.coef, second.coef)
    back = tmp_path / "back.svm"
    values("convert", cache, back)
    assert back.read_text() == two.read_text()


def test_inspect_names_the_heaviest_features(run, values, two):
    target = values("train", two)["model"]
    told = json.loads(run("inspect", target, "--top", "3", "--json", "-q").stdout)
    weights = model_file.read(target).coef[0]
    order = np.argsort(-np.abs(weights))[:3]
    assert [row["feature"] for row in told["top_features"]] == [str(j + 1) for j in order]
    assert told["features"] == 30


def test_help_and_version(run):
    for command in ("train", "predict", "cv", "certify", "convert", "export", "inspect", "demo"):
        for flag in ("-h", "--help"):
            assert run(command, flag).exit_code == 0
        assert command in run("-h").stdout
    assert run("--version").stdout.strip() == pegasos.__version__


def test_files_that_are_no_models(run, two):
    result = run("predict", two, two)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert str(two) in result.stderr


@pytest.mark.parametrize("how", ["--zero-based", "--auto-based"])
def test_where_indices_begin_is_remembered(run, values, tmp_path, how):
    path, new = tmp_path / "zero.svm", tmp_path / "new.svm"
    path.write_text("0 0:1 2:1\n1 1:1\n")
    new.write_text("1 1:1\n")  # would be feature 0 if indices began with 1
    model = values("train", path, how)["model"]
    expected = run("predict", model, new, "--scores", "--zero-based").stdout
    assert run("predict", model, new, "--scores").stdout == expected


def test_skipped_lines_are_told_of(run, values, two):
    target = values("train", two)["model"]
    holes = two.with_name("holes.svm")
    holes.write_text("1 1:1\n1 1:x\n-1 2:1\n" + "1 3:y\n" * 30)
    result = run("predict", target, holes, "--skip-bad-lines")
    assert len(result.stdout.split()) == 2
    assert "31 bad lines were skipped" in result.stderr
    assert run("predict", target, two, "-", "-q").stdout == run("predict", target, two, "-q").stdout
