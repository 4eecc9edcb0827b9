"""The tables of equivalents: both sides of every line are trained, and predict the same."""

import ctypes
import re
import shlex

import numpy as np
import pytest
from docs.tools.blocks import ROOT

PAGE = (ROOT / "docs/how-to/move.md").read_text()


def lines(begins):
    """Pairs of code of the table whose left cells begin so."""
    found = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
    return [(left, right) for left, right in found if left.startswith(begins)]


def rows(classes, n=80):
    """Few, and of small values."""
    rng = np.random.default_rng(classes)
    X = 0.1 * (rng.normal(size=(n, 4)) + 0.5)
    scores = X @ rng.normal(size=(4, classes)) + 0.1 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize(("theirs", "ours"), lines("sklearn.svm."))
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learns(theirs, ours, classes):
    import sklearn.svm

    import pegasos

    X, y = rows(classes)
    known = {"sklearn": sklearn, "pegasos": pegasos}
    their = eval(theirs, known)
    exact = {"max_iter": 1_000_000} if "LinearSVC" in theirs else {}
    their.set_params(tol=1e-9, **exact).fit(X, y)
    our = eval(ours, known).set_params(tol=1e-9).fit(X, y)
    assert np.max(our.certificate_.relative_gap) <= 1e-9
    found, expected = our.decision_function(X), their.decision_function(X)
    if classes > 2 and 'multi_class="ovo"' in ours:  # votes that are even are counted otherwise
        found = -(X @ our.coef_.T + our.intercept_)
    if classes > 2 and "crammer_singer" in ours:  # a shift of all scores of a row changes nothing
        found, expected = (s - s.mean(axis=1, keepdims=True) for s in (found, expected))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(("theirs", "ours"), lines("train "))
@pytest.mark.parametrize("classes", [2, 3])
def test_liblinears(theirs, ours, classes, tmp_path):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    from typer.testing import CliRunner

    import pegasos
    from pegasos.cli.app import make_app
    from pegasos.data.svmlight import write_svmlight

    X, y = rows(classes, 20)  # LIBLINEAR ends after 1000 passes, and is to be close by then
    options = theirs.removeprefix("train ") + " -e 1e-9 -q"
    ctypes.CDLL(None).srand(0)  # its order is then the same whatever ran before
    their = liblinear.train(liblinear.problem(y, X), options)
    write_svmlight(X, y, tmp_path / "rows.svm")
    command = [*shlex.split(ours.removeprefix("pegasos ")), "--tol", "1e-9", "--quiet"]
    done = CliRunner().invoke(
        make_app(), [*command, str(tmp_path / "rows.svm"), str(tmp_path / "our.model")]
    )
    assert done.exit_code == 0, done.output
    our = pegasos.load(tmp_path / "our.model")
    _, _, scores = liblinear.predict(y, X, their, "-q")
    found, expected = our.decision_function(X), np.array(scores)
    if classes == 2:
        expected = expected[:, 0] if their.get_labels()[0] == 1 else -expected[:, 0]
        if "-s 4" in theirs:  # the score of a class, where ours is the difference of the two
            expected *= 2
    else:
        expected = expected[:, np.argsort(their.get_labels())]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_what_is_no_estimator_of_the_same_kind():
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    import pegasos

    X, y = rows(2)
    exact = {"loss": "hinge", "tol": 1e-9, "max_iter": 1_000_000}
    grid = GridSearchCV(LinearSVC(**exact), {"C": [0.5, 5]}, cv=4).fit(X, y)
    path = pegasos.LinearSVCCV(Cs=[0.5, 5], cv=4, intercept="regularized", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(path.scores_.mean(axis=1), grid.cv_results_["mean_test_score"])

    sgd = SGDClassifier(alpha=1e-2, max_iter=5_000, tol=None, random_state=0, average=True).fit(
        X, y
    )
    ours = pegasos.LinearSVC(lam=1e-2, tol=1e-9).fit(X, y)
    theirs = np.mean(np.maximum(0, 1 - (2 * y - 1) * sgd.decision_function(X)))
    theirs += 1e-2 / 2 * np.sum(sgd.coef_**2)
    assert ours.objective_ <= theirs <= 1.01 * ours.objective_

    labels = np.stack([y, X[:, 0] > 0], axis=1).astype(int)
    each = OneVsRestClassifier(LinearSVC(**exact, fit_intercept=False)).fit(X, labels)
    many = pegasos.LinearSVC(fit_intercept=False, tol=1e-9).fit(X, labels)
    found, expected = many.decision_function(X), each.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_lines_of_other_problems_would_be_told_apart():
    import pegasos

    X, y = rows(3)
    changes = {
        "loss": "squared_hinge",
        "intercept": "regularized",
        "class_weight": {1: 5},
        "C": 1.0,
    }
    base = {"C": 2.0, "tol": 1e-9, "intercept": "none"}
    scores = pegasos.LinearSVC(**base).fit(X, y).decision_function(X)
    for name, value in changes.items():
        other = pegasos.LinearSVC(**base | {name: value}).fit(X, y).decision_function(X)
        assert np.abs(other - scores).max() > 0.05, name


def test_the_tables_have_lines():
    assert len(lines("sklearn.svm.")) >= 8
    assert len(lines("train ")) >= 5
