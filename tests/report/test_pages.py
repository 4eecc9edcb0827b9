"""Every kind of model gives a page that is whole, strict HTML, and says what it should."""

import re
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pytest
from tests.report.reading import parsed, section, sections, words

import pegasos
from pegasos.report import Report

SECTIONS = [
    "certificate", "path", "confusion", "classes", "curves", "margins", "calibration", "features",
    "worst", "details",
]  # fmt: skip


@pytest.fixture(scope="module")
def trees(pages):
    """The pages, read without a single error."""
    return {name: parsed(html) for name, html in pages.items()}


def test_every_page_has_every_section(trees):
    for name, tree in trees.items():
        assert sections(tree) == SECTIONS, name


def test_pages_are_small_and_ask_for_nothing(pages):
    for name, html in pages.items():
        assert len(html.encode()) < 500_000, name
        assert not re.search(r"(src|href|action)=[\"'](?!#|data:,)", html), name
        assert "style=" not in html, name
        assert not re.search(r"<[^>]* on[a-z]+=", html), name


def test_the_policy_allows_the_one_script_and_the_one_style(pages):
    html = pages["binary"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_sections_that_cannot_be_shown_say_why(trees):
    assert "no history" in section(trees["old_file"], "certificate")
    assert "no history" in section(trees["liblinear"], "certificate")
    assert "Nothing is proven" in section(trees["liblinear"], "certificate")
    assert "Nothing is proven" in section(trees["partial_fit"], "certificate")
    assert "C was given" in section(trees["ovr"], "path")
    assert "probability=True" in section(trees["ovr"], "calibration")
    assert "support vectors" in section(trees["svc"], "features")
    assert "several labels" in section(trees["labels"], "confusion")
    assert "too many for a matrix" in section(trees["many"], "confusion")


def test_the_certificate_in_words(trees, pages):
    for name in ("binary", "ovr", "ovo", "crammer_singer", "path", "svc", "text", "file", "labels"):
        said = section(trees[name], "certificate")
        assert "Proven within" in said, name
        assert "and met it" in said, name
        assert "proven relative gap" in said, name  # the axis of the curve
    assert "the worst of 6 problems, one for each of the pairs" in section(
        trees["ovo"], "certificate"
    )
    assert "features in place of the kernel" in section(trees["svc_nystroem"], "certificate")
    said = section(trees["unproven"], "certificate")
    assert "ended before: the passes that were allowed were over" in said


def test_the_path_and_what_a_file_keeps_of_it(trees):
    for name in ("path", "loaded_path"):
        said = section(trees[name], "path")
        assert "3 folds" in said
        assert "standard error" in said
    assert "Proven within" in section(trees["loaded_path"], "certificate")


def test_numbers_on_the_page_are_those_of_the_model(some_rows):
    X, y = some_rows(2)
    model = pegasos.LinearSVC().fit(X, y)
    tree = parsed(model.report(X, y).html)
    said = model.predict(X)
    assert f"{100 * np.mean(said == y):.2f}%" in words(tree)
    counts = np.array([[np.sum((y == i) & (said == j)) for j in (0, 1)] for i in (0, 1)])
    matrix = f"0 1 0 {counts[0, 0]} {counts[0, 1]} 1 {counts[1, 0]} {counts[1, 1]} "
    assert matrix in section(tree, "confusion")
    heaviest = int(np.argmax(model.coef_[0]))
    assert f"1 {heaviest} {model.coef_[0, heaviest]:.3g}"[:6] in section(tree, "features")
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    worst = int(np.argmin(margins))
    assert f"what misled {worst} {y[worst]} {said[worst]} " in section(tree, "worst")


def test_names_of_features_and_texts_of_rows(trees, reviews):
    said = section(trees["text"], "features")
    assert "awful" in said
    assert "superb" in said
    worst = section(trees["text"], "worst")
    lines = reviews.read_text().splitlines()
    number = re.search(r"what it says (\d+)", worst)[1]
    text, star = lines[int(number)].split(",")
    assert f"what it says {number} {star} {6 - int(star)} " in worst
    assert text in worst
    assert "column 3" in section(trees["binary"], "features")


def test_rows_that_were_trained_on_are_named(trees):
    assert "trained on: everything measured here flatters it" in words(trees["text"])
    assert "not known whether the model was trained on these rows" in words(trees["binary"])


def test_weights_of_rows_count(trees):
    assert "as given" in section(trees["weighted"], "details")
    assert "all rows count the same" in section(trees["ovr"], "details")


def test_notebooks_show_the_page_in_a_frame(some_rows, tmp_path):
    X, y = some_rows(2)
    report = pegasos.LinearSVC().fit(X, y).report(X, y, title='A "title"')
    assert isinstance(report, Report)
    frame = report._repr_html_()
    assert frame.startswith('<iframe title="A &quot;title&quot;"')
    assert frame.count("<") == 2
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == report.html
    with pytest.raises(FileExistsError):
        report.save(tmp_path / "page.html", overwrite=False)
    assert "A " in repr(report)


def test_what_does_not_fit_is_refused(some_rows):
    X, y = some_rows(2)
    model = pegasos.LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="12 features"):
        model.report(X, y, feature_names=["one"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.report(X, y[:-1])
    with pytest.raises(ValueError, match="none of the 300 rows has a label that the model knows"):
        model.report(X, np.full(300, 9))
    with pytest.raises(Exception, match="not fitted"):
        pegasos.LinearSVC().report(X, y)
    with pytest.raises(ValueError, match="several labels a row"):
        model.report(X, np.ones((300, 2)))
