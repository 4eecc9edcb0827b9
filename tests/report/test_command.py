"""``pegasos report`` and ``train --report``: what they make, and what they refuse first."""

import json

import numpy as np
import pytest
from tests.report.reading import parsed, section, words

import pegasos
from pegasos.data.svmlight import write_svmlight
from pegasos.model import file as model_file


@pytest.fixture
def svm(tmp_path, some_rows):
    X, y = some_rows(3)
    write_svmlight(X, y, tmp_path / "three.svm")
    return tmp_path / "three.svm"


@pytest.fixture
def model(svm, run):
    run("train", svm, svm.with_name("m.model"), "-q")
    return svm.with_name("m.model")


def test_the_page_is_where_it_was_asked_for(run, model, svm, tmp_path):
    told = run("report", model, svm, "-o", tmp_path / "r.html", "--title", "A <title>").stdout
    assert told == f"report\t{tmp_path / 'r.html'}\n"
    tree = parsed((tmp_path / "r.html").read_text())
    assert "A <title>" in words(tree)
    run("report", model, svm, "-q")
    assert model.with_name("m.model.html").exists()
    told = json.loads(run("report", model, svm, "--json", "--overwrite", "-q").stdout)
    assert told == {"report": str(model.with_name("m.model.html"))}


def test_what_was_there_stays(run, model, svm, tmp_path):
    page = tmp_path / "r.html"
    page.write_text("before")
    said = run("report", model, svm, "-o", page, code=1).stderr
    assert "--overwrite" in said
    assert page.read_text() == "before"
    run("report", model, svm, "-o", page, "--overwrite")
    assert page.read_text() != "before"


def test_mistakes_are_told_and_nothing_is_written(run, model, svm, tmp_path):
    page = tmp_path / "r.html"
    no_folder = tmp_path / "none" / "r.html"
    assert "no such folder" in run("report", model, svm, "-o", no_folder, code=1).stderr
    assert "No such file" in run("report", tmp_path / "no.model", svm, "-o", page, code=1).stderr
    assert "no model" in run("report", svm, svm, "-o", page, code=1).stderr
    assert "No such file" in run("report", model, tmp_path / "no.svm", "-o", page, code=1).stderr
    np.savez(tmp_path / "narrow.npz", X=np.ones((4, 3)), y=np.arange(4) % 3)
    said = run("report", model, tmp_path / "narrow.npz", "-o", page, code=1).stderr
    assert "the rows have 3 features, the model 12" in said
    np.savez(tmp_path / "bare.npz", X=np.ones((4, 12)))
    assert "no labels" in run("report", model, tmp_path / "bare.npz", "-o", page, code=1).stderr
    np.savez(tmp_path / "other.npz", X=np.ones((4, 12)), y=np.array(["a", "b"] * 2))
    said = run("report", model, tmp_path / "other.npz", "-o", page, code=1).stderr
    assert "Is it the same column of labels?" in said
    assert not page.exists()


def test_train_refuses_before_it_reads(run, svm, tmp_path):
    page = tmp_path / "r.html"
    page.write_text("before")
    said = run("train", svm, tmp_path / "new.model", "--report", page, code=1).stderr
    assert "--overwrite" in said
    same = tmp_path / "new.model"
    assert "another name" in run("train", svm, same, "--report", same, code=2).stderr
    said = run("train", svm, same, "--report", tmp_path / "x.html", "--dask", "tcp://x", code=2)
    assert "--dask" in said.stderr
    assert not same.exists()
    assert page.read_text() == "before"


def test_train_reports_on_rows_held_out_if_there_are_any(run, svm, tmp_path, some_rows):
    X, y = some_rows(3, n=200, seed=0)
    write_svmlight(X[:100], y[:100], tmp_path / "test.svm")
    run("train", svm, tmp_path / "a.model", "--report", tmp_path / "a.html", "-q")
    assert "flatters" in words(parsed((tmp_path / "a.html").read_text()))
    run("train", svm, tmp_path / "b.model", "--report", tmp_path / "b.html", "-q",
        "--eval", tmp_path / "test.svm")  # fmt: skip
    tree = parsed((tmp_path / "b.html").read_text())
    assert "flatters" not in words(tree)
    assert "trained on no" in section(tree, "details")
    assert "test.svm" in section(tree, "details")
    # Rows like those trained on may be the same ones.
    run("report", tmp_path / "b.model", svm, "-o", tmp_path / "c.html")
    assert "It is not known whether" in words(parsed((tmp_path / "c.html").read_text()))


def test_rows_on_disk_give_the_same_page(run, svm, tmp_path):
    run("train", svm, tmp_path / "a.model", "--report", tmp_path / "a.html", "-q")
    run("train", svm, tmp_path / "b.model", "--report", tmp_path / "b.html", "-q", "--memory", "1G")
    confusion = [
        section(parsed((tmp_path / name).read_text()), "confusion") for name in ("a.html", "b.html")
    ]
    assert confusion[0] == confusion[1]


def test_names_of_files_stay_text(run, model, svm, tmp_path):
    name = "<img src=x onerror=alert(1)>\"'&{{7*7}}\udcff.svm"
    folder = tmp_path / name
    folder.mkdir()
    data = folder / name
    data.write_bytes(svm.read_bytes())
    other = folder / "<script>alert(1)<.model"
    other.write_bytes(model.read_bytes())
    run("report", other, data, "-o", tmp_path / "r.html", "-q")
    tree = parsed((tmp_path / "r.html").read_text())
    assert not tree.findall(".//{*}img")
    assert len(tree.findall(".//{*}script")) == 1
    assert name.replace("\udcff", "\\udcff") in section(tree, "details")


def test_names_of_columns_and_weights_of_a_table(run, tmp_path, some_rows):
    X, y = some_rows(2, d=4)
    lines = ["<b>bold</b>,plain,x,y,kind,heavy"]
    for row, kind in zip(X, y, strict=True):
        lines.append(",".join([*(f"{v:.4f}" for v in row), "<i>" if kind else "<u>", "2.5"]))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    run("train", tmp_path / "t.csv", "--label", "kind", "--weights", "heavy",
        "--report", tmp_path / "r.html", "-q")  # fmt: skip
    tree = parsed((tmp_path / "r.html").read_text())
    assert "<b>bold</b>" in section(tree, "features")
    assert "weights column heavy" in section(tree, "details")
    assert not tree.findall(".//{*}u")
    rows = section(tree, "classes").split("<i>")[1].split()[0]
    assert float(rows.replace(",", "")) == 2.5 * np.sum(y)


def test_labels_and_hashed_text(run, tmp_path, reviews):
    lines = [f"{k % 3},{3 + k % 2} {1 + k % 3}:1 {4 + k % 2}:1" for k in range(60)]
    (tmp_path / "many.svm").write_text("\n".join(lines) + "\n")
    run("train", tmp_path / "many.svm", "--multilabel", "--report", tmp_path / "m.html", "-q")
    assert "micro F1" in words(parsed((tmp_path / "m.html").read_text()))
    run("train", reviews, tmp_path / "h.model", "--text", "review", "--label", "stars",
        "--text-as", "hashing", "--report", tmp_path / "h.html", "-q")  # fmt: skip
    assert "The text was hashed" in section(parsed((tmp_path / "h.html").read_text()), "features")


def test_the_way_c_was_chosen_is_kept(run, svm, tmp_path):
    run(
        "cv", svm, "--Cs", "0.01,0.1,1", "--folds", "3", "--train-best", tmp_path / "cv.model", "-q"
    )
    kept = model_file.read(tmp_path / "cv.model")
    assert kept.path["C"] == [0.01, 0.1, 1.0]
    run("report", tmp_path / "cv.model", svm, "-o", tmp_path / "r.html")
    assert "Mean accuracy of the rows held out in 3 folds" in section(
        parsed((tmp_path / "r.html").read_text()), "path"
    )


def test_files_keep_the_history_of_a_fit(tmp_path, some_rows):
    X, y = some_rows(3)
    model = pegasos.LinearSVC(solver="pegasos", tol=0.3, random_state=0).fit(X, y)
    pegasos.save(model, tmp_path / "m")
    kept = model_file.read(tmp_path / "m").history
    np.testing.assert_array_equal(kept["seconds"], model.history_["seconds"])
    worst = model.history_["relative_gap"].max(axis=1)
    np.testing.assert_array_equal(kept["worst_gap"], worst)
    primal, dual = (model.history_[name].mean(axis=1) for name in ("primal", "dual"))
    np.testing.assert_allclose(
        np.array(kept["relative_gap"])[dual > 0], (primal / dual - 1)[dual > 0]
    )
    pegasos.save(pegasos.load(tmp_path / "m"), tmp_path / "again")
    assert model_file.read(tmp_path / "again").history == kept
    refitted = pegasos.load(tmp_path / "m").fit(X, y)
    assert len(refitted.history_.records) > 0
    assert "_kept" not in vars(refitted)
