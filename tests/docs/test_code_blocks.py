"""Every code block of the documentation runs, and prints what its page shows."""

import sys

import pytest
from docs.tools import blocks

PAGES = blocks.pages()
NAMES = [str(page.relative_to(blocks.ROOT)) for page in PAGES]
OF_NAME = dict(zip(NAMES, PAGES, strict=True))


@pytest.mark.parametrize("name", [n for n in NAMES if blocks.blocks_of(OF_NAME[n])])
def test_the_blocks_of_a_page_run_and_print_what_it_shows(name, tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="the extra `demo` is not installed")
    matplotlib.use("Agg")
    page = blocks.Page(OF_NAME[name], tmp_path)
    try:
        for shown in page.run():
            assert shown.agrees, (
                f"{shown.block.where}: the page shows\n"
                + "\n".join(shown.lines)
                + "\nbut there is\n"
                + "\n".join(shown.got)
                + f"\n(python -m docs.tools.blocks --write {name})"
            )
    finally:
        if "matplotlib.pyplot" in sys.modules:
            matplotlib.pyplot.close("all")
    if page.skipped:
        pytest.skip("all but: " + "; ".join(page.skipped))


@pytest.mark.parametrize("name", NAMES)
def test_every_block_says_what_it_is(name):
    before = None
    for block in blocks.blocks_of(OF_NAME[name]):
        assert block.language in ("python", "console", "text"), f"{block.where}: no such language"
        if block.language == "text":
            assert before is not None
            assert before.language == "python", f"{block.where}: output of what?"
            assert block.follows, f"{block.where}: output of what?"
        for kind in ("not run", "runs only with"):
            assert all(block.said(kind)), f"{block.where}: {kind}: why?"
        assert block.code.strip(), f"{block.where}: an empty block"
        before = block


def test_the_tutorial_takes_ten_commands_at_most_from_a_csv_to_model_proof_report_prediction():
    commands = [
        line[2:]
        for block in blocks.blocks_of(OF_NAME["docs/tutorial.md"])
        if block.language == "console"
        for line in block.lines
        if line.startswith("$ ")
    ]
    assert len(commands) <= 10
    for does in ("train reviews.csv", "certify", "report", "predict"):
        assert any(c.startswith(f"pegasos {does}") for c in commands), does


PAGE = """
<!-- stand-in: 1000 -> 3 -->

```python
for i in range(1000): print("row", i)
```
```text
row 17
...
row 5
```

```console
$ echo a 1; echo b
a 2
b
$ true
```
"""


def run(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    return list(blocks.Page(tmp_path / "page.md", tmp_path).run())


def test_output_is_compared_in_words(tmp_path):
    assert [one.agrees for one in run(tmp_path, PAGE)] == [True, True, True]
    other = [one.agrees for one in run(tmp_path, PAGE.replace("row 5", "line 5"))]
    assert other == [False, True, True]
    assert [one.agrees for one in run(tmp_path, PAGE.replace("\nb\n", "\nc\n"))][1] is False
    assert [one.agrees for one in run(tmp_path, PAGE.replace("$ true\n", "$ true\nx\n"))][
        2
    ] is False


def test_what_fails_is_an_error(tmp_path):
    with pytest.raises(blocks.BlockError, match="exits with 1"):
        run(tmp_path, "```console\n$ false\n```\n")
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, "```python\n1 / 0\n```\n")
    with pytest.raises(blocks.BlockError, match="which is not there"):
        run(tmp_path, PAGE.replace("1000 ->", "2000 ->"))
    with pytest.raises(blocks.BlockError, match="has no end"):
        run(tmp_path, "```python\n1\n")


def test_what_is_not_here_is_skipped_with_its_reason(tmp_path):
    (tmp_path / "page.md").write_text(
        "<!-- runs only with: no_such_module -->\n```python\n1 / 0\n```\n" + PAGE
    )
    page = blocks.Page(tmp_path / "page.md", tmp_path)
    assert len(list(page.run())) == 3
    assert len(page.skipped) == 1
    assert "runs only with no_such_module" in page.skipped[0]


def test_real_output_is_written_into_the_page(tmp_path):
    page = tmp_path / "page.md"
    shown = run(tmp_path, PAGE)
    assert blocks.write(page, shown)
    assert page.read_text() == PAGE.replace("a 2", "a 1")
    assert not blocks.write(page, run(tmp_path, page.read_text()))
