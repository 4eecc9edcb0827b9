"""Pages of every kind of model, made once."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_multilabel_classification
from typer.testing import CliRunner

import pegasos
from pegasos.cli.app import make_app
from pegasos.data.svmlight import write_svmlight

GOLDEN = Path(__file__).parent.parent / "golden"


def command(*arguments, code=0):
    result = CliRunner().invoke(make_app(), [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    return result


@pytest.fixture(scope="session")
def run():
    """Run a command, which ends with ``code``."""
    return command


def rows(classes, n=300, d=12, seed=0):
    return make_classification(
        n, d, n_informative=d - 2, n_classes=classes, n_clusters_per_class=1, flip_y=0.1,
        random_state=seed,
    )  # fmt: skip


@pytest.fixture(scope="session")
def some_rows():
    return rows


@pytest.fixture(scope="session")
def reviews(tmp_path_factory):
    """A CSV of short texts and their stars."""
    rng = np.random.default_rng(0)
    words = {1: ["awful", "sad", "poor", "waste"], 5: ["great", "lovely", "superb", "happy"]}
    lines = ["review,stars"]
    for star in rng.choice([1, 5], 200):
        own = rng.choice(words[int(star)] if rng.random() < 0.9 else words[6 - int(star)], 3)
        lines.append(f"{' '.join([*own, *rng.choice(['film', 'plot', 'actor'], 4)])},{star}")
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def estimators():
    X, y = rows(2)
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(12)])
    names = np.array(["ham", "spam"])
    yield "binary", pegasos.LinearSVC(probability=True).fit(frame, names[y]), frame, names[y]
    yield "weighted", pegasos.LinearSVC().fit(X, y), X, y
    X, y = rows(4)
    yield "ovr", pegasos.LinearSVC(C=0.1).fit(sparse.csr_matrix(X), y), sparse.csr_matrix(X), y
    pairs = pegasos.LinearSVC(C=0.1, multi_class="ovo", probability="sigmoid").fit(X, y)
    yield "ovo", pairs, X, y
    joint = pegasos.LinearSVC(C=0.1, multi_class="crammer_singer").fit(X, y)
    yield "crammer_singer", joint, X, y
    path = pegasos.LinearSVCCV(Cs=[0.01, 0.1, 1], cv=3, probability=True).fit(X, y)
    yield "path", path, X, y
    yield "svc", pegasos.SVC(probability=True).fit(X, y), X, y
    yield "svc_ovr", pegasos.SVC(multi_class="ovr").fit(X, y == 1), X, y == 1
    yield "svc_nystroem", pegasos.SVC(approximation="nystroem", n_components=20).fit(X, y), X, y
    gram = X @ X.T
    yield "svc_precomputed", pegasos.SVC(kernel="precomputed").fit(gram, y), gram, y
    online = pegasos.LinearSVC().partial_fit(X, y, classes=np.arange(4))
    yield "partial_fit", online, X, y
    with pytest.warns(Warning, match="not proven|proven"):
        stopped = pegasos.LinearSVC(solver="pegasos", max_iter=1).fit(X, y)
    yield "unproven", stopped, X, y
    many = np.arange(300) % 50
    yield "many", pegasos.LinearSVC(C=0.01).fit(X, many), X, many
    yield "loaded_path", reloaded(path), X, y
    X, Y = make_multilabel_classification(150, 20, n_classes=6, random_state=0)
    yield "labels", pegasos.LinearSVC(C=0.01).fit(X, Y), X, Y
    yield "sparse_labels", pegasos.LinearSVC().fit(X, sparse.csr_matrix(Y)), X, sparse.csr_matrix(Y)


def reloaded(model):
    path = Path(os.environ["PYTEST_REPORT_FOLDER"]) / "path.model"
    pegasos.save(model, path)
    return pegasos.load(path)


@pytest.fixture(scope="session")
def pages(tmp_path_factory, reviews):
    """The page of each kind of model, by name."""
    folder = tmp_path_factory.mktemp("pages")
    os.environ["PYTEST_REPORT_FOLDER"] = str(folder)
    found = {}
    for name, model, X, y in estimators():
        weight = np.linspace(0, 2, X.shape[0]) if name == "weighted" else None
        found[name] = model.report(X, y, sample_weight=weight).html
    text = folder / "text.html"
    command("train", reviews, folder / "text.model", "--text", "review", "--label", "stars",
            "--report", text, "-q")  # fmt: skip
    found["text"] = text.read_text()
    X, y = rows(3)
    write_svmlight(X, y, folder / "three.svm")
    command("train", folder / "three.svm", folder / "three.model", "-q")
    command("export", folder / "three.model", folder / "three.liblinear", "--to", "liblinear")
    files = {"liblinear": folder / "three.liblinear", "file": folder / "three.model"}
    for name, model in files.items():
        command("report", model, folder / "three.svm", "-o", folder / f"{name}.html", "-q")
        found[name] = (folder / f"{name}.html").read_text()
    X, y = rows(2, d=4)
    np.savez(folder / "old.npz", X=X, y=np.where(y, "spam", "häm"))
    command("report", GOLDEN / "v1-binary.model", folder / "old.npz", "-o", folder / "old.html")
    found["old_file"] = (folder / "old.html").read_text()
    one = slice(0, 1)
    X, y = rows(3)
    found["one_row"] = pegasos.LinearSVC().fit(X, y).report(X[one], y[one]).html
    return found
