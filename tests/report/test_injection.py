"""Fifty payloads, in all that comes from others, stay text."""

import pytest
from tests.report.payloads import PAYLOADS, page
from tests.report.reading import parsed, section, structure, words

from pegasos.report.text import clean


@pytest.fixture(scope="module")
def plain():
    return {scheme: structure(parsed(page("plain", scheme).html)) for scheme in ("ovr", "labels")}


def test_there_are_fifty():
    assert len(set(PAYLOADS)) == 50


@pytest.mark.parametrize("number", range(50))
def test_a_payload_stays_text(plain, number):
    payload = PAYLOADS[number]
    tree = parsed(page(payload).html)
    assert structure(tree) == plain["ovr"]  # no element and no attribute more, or less
    shown = clean(payload)
    assert "".join(tree.find(".//{*}title").itertext()) == shown
    assert "".join(tree.find(".//{*}h1").itertext()) == shown
    for name in ("confusion", "classes", "curves", "features", "worst", "details"):
        assert " ".join(shown.split()) in section(tree, name)
    assert f"0{shown}" in words(tree)


@pytest.mark.parametrize("number", range(0, 50, 7))
def test_labels_stay_text(plain, number):
    tree = parsed(page(PAYLOADS[number], "labels").html)
    assert structure(tree) == plain["labels"]


def test_frames_in_notebooks_hold_the_page_and_nothing_else():
    for payload in PAYLOADS:
        report = page(payload)
        tree = parsed(f"<!DOCTYPE html><title>t</title>{report._repr_html_()}")
        (frame,) = tree.findall(".//{*}iframe")
        assert set(frame.attrib) == {"title", "width", "height", "sandbox", "srcdoc"}
        assert frame.attrib["srcdoc"] == report.html
        assert frame.attrib["title"] == clean(payload)
