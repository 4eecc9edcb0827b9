"""The site: pages have their places, public names are in the reference, links lead somewhere."""

import importlib
import re
from pathlib import Path

import pytest
import yaml
from docs.tools import docstrings, included, reference

ROOT = included.ROOT
CONFIG = (ROOT / "mkdocs.yml").read_text()


def nav_pages(entry):
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in nav_pages(part)]


def pages_of_docs():
    return {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}


def test_every_page_is_in_the_navigation_once():
    named = nav_pages(yaml.safe_load(CONFIG)["nav"])
    assert sorted([*named, *included.coming()]) == sorted(pages_of_docs())


@pytest.mark.parametrize("module", reference.WHOLE)
def test_every_public_name_is_in_the_reference(module):
    missing = {f"{module}.{name}" for name in reference.public(module)} - reference.documented()
    assert not missing


def test_what_is_in_the_reference_is_what_users_import():
    for name in reference.documented():
        module, _, attribute = name.rpartition(".")
        place, _, defined = reference.home(module, attribute).rpartition(".")
        user = getattr(importlib.import_module(module), attribute)
        assert getattr(importlib.import_module(place), defined) is user, name


def test_every_command_is_in_the_reference():
    from pegasos.cli.app import COMMANDS

    page = reference.command_line()
    assert re.findall(r"^## pegasos (\w+)$", page, re.MULTILINE) == list(COMMANDS)
    assert "| `--tol`, `-e` |" in page or "| `-e`, `--tol` |" in page


def test_links_between_files_become_links_between_pages():
    text = "[m](../benchmarks/results/gpu.md) [c](cluster.md) ![p](cluster.png) `[x](no.md)`"
    expected = "[m](benchmarks/gpu.md) [c](cluster.md) ![p](cluster.png) `[x](no.md)`"
    assert included.relinked("gpu.md", text) == expected
    own = included.relinked("project/contributing.md", "[a](ARCHITECTURE.md#the-nouns)")
    assert own == "[a](architecture.md#the-nouns)"
    out = "[docs](docs/gpu.md) [web](https://example.org/x)"
    expected = "[docs](../gpu.md) [web](https://example.org/x)"
    assert included.relinked("project/architecture.md", out) == expected
    with pytest.raises(ValueError, match="leads to no page"):
        included.relinked("gpu.md", "[x](../setup.cfg)")


def test_reproductions_are_a_page_once_they_are_there(tmp_path, monkeypatch):
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    monkeypatch.setattr(included, "ROOT", tmp_path)
    assert "reproduce/index.md" not in included.sources()
    (tmp_path / "reproduce/one").mkdir(parents=True)
    (tmp_path / "reproduce/one/picture.png").touch()
    (tmp_path / "reproduce/RESULTS.md").write_text("# Again\n\n![p](one/picture.png)\n")
    shown = included.relinked("reproduce/index.md", included.text("reproduce/index.md"))
    assert shown == "# Again\n\n![p](one/picture.png)\n"
    assert included.sources()["reproduce/one/picture.png"] == "reproduce/one/picture.png"
    with pytest.raises(ValueError, match="leads to no page"):
        included.relinked("reproduce/index.md", "![p](two/picture.png)")


def test_every_result_of_a_benchmark_has_a_page():
    results = {path.name for path in (ROOT / "benchmarks/results").glob("*.md")}
    assert {Path(included.sources()[page]).name for page in included.benchmarks()} == results


def test_pictures_are_small_and_come_from_the_script():
    found = sorted(path.name for path in (ROOT / "docs/pictures").iterdir())
    assert found
    shown = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    for name in found:
        assert f"pictures/{name}" in shown, f"{name} is on no page"
        assert (ROOT / "docs/pictures" / name).stat().st_size < 100_000


def test_pages_load_nothing_from_elsewhere():
    assert yaml.safe_load(CONFIG)["theme"]["font"] is False
    for path in (ROOT / "docs").rglob("*.md"):
        assert not re.search(r"!\[[^\]]*\]\(https?:|<script|<iframe", path.read_text()), path


DOCSTRING = """Do it.

    Parameters
    ----------
    C : weight,
        of the losses.
    loss, tol,
    seed : as ever.

    Ctrl-C ends it.

    Attributes
    ----------
    coef_ : the weights : all.
    """


def test_sections_of_docstrings_become_definitions():
    assert docstrings.as_markdown(DOCSTRING) == (
        "Do it.\n\n**Parameters**\n\n`C`\n:   weight, of the losses.\n\n"
        "`loss`, `tol`, `seed`\n:   as ever.\n\nCtrl-C ends it.\n\n"
        "**Attributes**\n\n`coef_`\n:   the weights : all."
    )
