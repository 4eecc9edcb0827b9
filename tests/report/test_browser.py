"""Pages in Chromium: they render, hover, print, and stay by themselves."""

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.report.payloads import MARK, PAYLOADS, page

import pegasos

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: make test-report installs it"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip("there is no Chromium", allow_module_level=True)

DATA = os.environ.get("PEGASOS_DATA")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        # Without its own sandbox, which root and many containers do not have: pages are ours.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Watched:
    """A page, and everything that should not happen on it."""

    def __init__(self, context):
        self.page = context.new_page()
        self.heard, self.asked = [], []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on("dialog", self.refuse)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def refuse(self, dialog):
        self.heard.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path):
        self.page.goto(path.as_uri())
        return self.page

    def is_quiet(self, *paths):
        assert self.heard == []
        assert [url for url in self.asked if not url.startswith("data:")] == [
            path.as_uri() for path in paths
        ]


@pytest.fixture
def watched(browser):
    """Make a watched page; options are those of a context."""
    contexts = []

    def make(**options):
        contexts.append(browser.new_context(**options))
        return Watched(contexts[-1])

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html)
    return {name: folder / f"{name}.html" for name in pages}


SCROLLS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def test_every_page_renders_without_a_word_and_without_a_request(watched, files):
    one = watched(viewport={"width": 1280, "height": 900})
    for path in files.values():
        page = one.open(path)
        assert page.locator("section").count() == 10
        assert page.locator("section h2").last.is_visible()
        assert not page.evaluate(SCROLLS)
    one.is_quiet(*files.values())


def test_phones_need_no_scrolling_sideways(watched, files):
    one = watched(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    for name, path in files.items():
        assert not one.open(path).evaluate(SCROLLS), name
    one.is_quiet(*files.values())


def over(page, selector, right=0.5, down=0.5):
    """Move the pointer to a place of an element."""
    found = page.locator(selector).first
    found.scroll_into_view_if_needed()
    box = found.bounding_box()
    page.mouse.move(box["x"] + right * box["width"], box["y"] + down * box["height"])


def test_the_pointer_shows_values(watched, files):
    page = watched().open(files["binary"])
    tip = page.locator(".tip")
    assert tip.is_hidden()
    over(page, "#curves svg", 0.5, 0.5)
    assert tip.inner_text().startswith("recall 0.")
    assert ": precision " in tip.inner_text()
    over(page, "#margins rect.bar")
    assert "with margins from" in tip.inner_text()
    over(page, "#certificate svg .dot")
    assert "proven after" in tip.inner_text()
    page.mouse.move(1, 1)
    assert tip.is_hidden()


def test_the_value_at_the_end_of_a_curve_is_right(watched, files):
    page = watched().open(files["binary"])
    over(page, "#curves figure:nth-of-type(2) svg rect.plot", 0.999, 0.02)
    assert page.locator(".tip").inner_text() == "false positive rate 1: true positive rate 1"


def test_tables_sort(watched, files):
    page = watched().open(files["ovr"])
    head = page.locator("#classes thead th", has_text="precision")
    cells = page.locator("#classes tbody td:nth-child(4)")
    head.locator("button").click()
    falling = [float(text) for text in cells.all_inner_texts()]
    assert falling == sorted(falling, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert [float(text) for text in cells.all_inner_texts()] == sorted(falling)


def test_without_scripts_the_page_is_complete(watched, files):
    one = watched(java_script_enabled=False)
    for name in ("binary", "ovr", "text", "labels"):
        page = one.open(files[name])
        bare = page.locator("main").inner_text()
        other = watched().open(files[name]).locator("main").inner_text()
        assert bare.split() == other.split()
    titles = one.page.locator("#margins rect.bar title")
    assert titles.count() > 3


def colour(page, selector, what):
    return page.eval_on_selector(selector, f"e => getComputedStyle(e).{what}")


def brightness(text):
    return sum(float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]) / 765


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_light_and_dark(watched, files, scheme, dark):
    page = watched(color_scheme=scheme).open(files["ovr"])
    paper = brightness(colour(page, "body", "backgroundColor"))
    assert (paper < 0.2) == dark
    for selector, what in (("h2", "color"), (".lead", "color"), (".chart text", "fill")):
        assert abs(brightness(colour(page, selector, what)) - paper) > 0.4, selector


def test_paper_is_white_and_tables_fit_it(watched, files):
    one = watched(color_scheme="dark", viewport={"width": 700, "height": 990})
    for name in ("binary", "ovr", "ovo", "text"):
        page = one.open(files[name])
        page.emulate_media(media="print")
        assert brightness(colour(page, "body", "backgroundColor")) == 1
        assert page.locator("nav").is_hidden()
        assert not page.evaluate(SCROLLS), name
        pdf = page.pdf(format="A4")
        assert pdf.startswith(b"%PDF")
        assert len(pdf) > 10_000


def test_fifty_payloads_do_nothing(watched, tmp_path):
    one = watched()
    paths = []
    for number, payload in enumerate(PAYLOADS):
        paths.append(tmp_path / f"{number}.html")
        report = page(payload)
        report.save(paths[-1])
        opened = one.open(paths[-1])
        assert opened.evaluate(f"window.{MARK}") is None
        assert opened.locator("script").count() == 1
    one.is_quiet(*paths)


def test_a_payload_that_could_run_would_be_noticed(watched, tmp_path):
    # What the tests above look for does happen where nothing is escaped.
    bare = tmp_path / "bare.html"
    bare.write_text(f"<!DOCTYPE html><title>t</title>{PAYLOADS[0]}")
    assert watched().open(bare).evaluate(f"window.{MARK}") == 1
    html = page("plain").html
    caught = tmp_path / "caught.html"
    caught.write_text(html.replace("<main>", f"<main>{PAYLOADS[0]}"))
    one = watched()
    assert one.open(caught).evaluate(f"window.{MARK}") is None  # the policy alone holds it
    assert "Content Security Policy" in one.heard[0]


def test_notebooks_frame_the_page(watched, some_rows, tmp_path):
    X, y = some_rows(2)
    report = pegasos.LinearSVC().fit(X, y).report(X, y)
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!DOCTYPE html><title>notebook</title>{report._repr_html_()}")
    one = watched()
    frame = one.open(outer).frame_locator("iframe")
    assert frame.locator("section").count() == 10
    frame.locator("#curves svg").first.hover()
    assert "precision" in frame.locator(".tip").inner_text()
    frame.locator("nav a").last.click()
    assert frame.locator("#details h2").is_visible()
    assert one.heard == []


def fashion(name, offset):
    with gzip.open(Path(DATA) / "fashion-mnist" / f"{name}-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


@pytest.mark.skipif(DATA is None, reason="PEGASOS_DATA is not set")
@pytest.mark.parametrize("which", ["news", "fashion"])
def test_reports_of_real_models(watched, tmp_path, which):
    if which == "news":
        data = pegasos.data.read(Path(DATA) / "20news_bydate_tfidf_train.npz")
        X, y = data.X, data.y
        held_out = pegasos.data.read(Path(DATA) / "20news_bydate_tfidf_test.npz")
        other, truth = held_out.X, held_out.y
    else:
        X = fashion("train-images-idx3", 16).reshape(-1, 784)[:4000] / 255
        y = fashion("train-labels-idx1", 8)[:4000]
        other = fashion("t10k-images-idx3", 16).reshape(-1, 784) / 255
        truth = fashion("t10k-labels-idx1", 8)
    model = pegasos.LinearSVC(C=1.0 if which == "news" else 0.01, tol=1e-2).fit(X, y)
    path = tmp_path / f"{which}.html"
    model.report(other, truth).save(path)
    assert path.stat().st_size < 3_000_000
    one = watched(viewport={"width": 390, "height": 844})
    opened = one.open(path)
    count = len(model.classes_)
    assert opened.locator("#confusion .matrix tbody tr").count() == count
    assert opened.locator("#curves .tiles svg").count() == 2 * count
    assert not opened.evaluate(SCROLLS)
    accuracy = f"{100 * model.score(other, truth):.2f}%"
    assert opened.locator(".cards").inner_text().count(accuracy) >= 1
    one.is_quiet(path)
