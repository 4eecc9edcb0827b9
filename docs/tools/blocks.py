"""The code blocks of pages: found, run page by page, and held to the output that is shown.

    python -m docs.tools.blocks [--write] docs/tutorial.md ...

A page is one program: its blocks run in order, in one folder and one namespace. Lines of a
``console`` block that begin with ``$ `` are commands, what follows them is shown output; a ``text``
block right after a ``python`` block is what that prints. Shown and real output must agree in words:
numbers may differ, and a line ``...`` stands for any lines. ``--write`` puts the real output into
the page.

What a machine may not have is said in comments above a block:

    <!-- runs only with: torch -->          and is skipped without it
    <!-- not run: why -->
    <!-- stand-in: 10_000_000 -> 2_000 -->  the test replaces the one by the other
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)")
_NOTE = re.compile(r"<!--\s*(runs only with|not run|stand-in):\s*(.*?)\s*-->")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?|\binf\b")


class BlockError(AssertionError):
    """A block that fails, or prints something else than its page shows."""


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    first: int  # the line of its first line of code, from 1
    indent: str
    language: str
    lines: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]  # what comments above it say
    follows: bool  # nothing but blank lines between it and the block before

    def said(self, kind: str) -> list[str]:
        """The notes of a kind."""
        return [text for name, text in self.notes if name == kind]

    @property
    def code(self) -> str:
        """With the stand-ins in place."""
        text = textwrap.dedent("\n".join(self.lines))
        for note in self.said("stand-in"):
            old, _, new = note.partition(" -> ")
            if old not in text:
                raise BlockError(f"{self.where}: the stand-in replaces {old!r}, which is not there")
            text = text.replace(old, new)
        return text

    @property
    def where(self) -> str:
        """For people."""
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{page}:{self.first}"


def pages() -> list[Path]:
    """What people write by hand."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """In order."""
    found: list[Block] = []
    notes: list[tuple[str, str]] = []
    inside: tuple[int, str, str] | None = None
    lines: list[str] = []
    follows = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if inside is None and fence:
            inside = number + 1, fence["indent"], fence["language"]
            lines = []
        elif inside is None:
            notes += _NOTE.findall(line)
            if line.strip() and not _NOTE.search(line):
                notes, follows = [], False
        elif fence:
            found.append(Block(page, *inside, tuple(lines), tuple(notes), follows))
            inside, notes, follows = None, [], True
        else:
            lines.append(line)
    if inside is not None:
        raise BlockError(f"{page}: the block of line {inside[0] - 1} has no end")
    return found


@dataclass
class Shown:
    """What a page says that comes out, where it says so, and what did."""

    block: Block
    at: int  # lines of the block before it
    lines: list[str]
    got: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """In words."""
        return _alike([_words(line) for line in self.lines], [_words(line) for line in self.got])


class Page:
    """A page under way."""

    def __init__(self, page: Path, folder: Path) -> None:
        """Commands and code run in ``folder``."""
        self.blocks, self.folder = blocks_of(page), folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.skipped: list[str] = []

    def run(self) -> Iterator[Shown]:
        """Run all blocks, but those that need what is not here: they are ``skipped``."""
        for block, after in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            if block.said("not run") or block.language not in ("python", "console"):
                continue
            missing = [need for need in block.said("runs only with") if not there(need)]
            if missing:
                self.skipped.append(f"{block.where} runs only with {', '.join(missing)}")
            elif block.language == "console":
                yield from self._commands(block)
            else:
                printed = self._python(block)
                if after is not None and after.language == "text" and after.follows:
                    yield Shown(after, 0, list(after.lines), printed)

    def _python(self, block: Block) -> list[str]:
        # Errors and warnings then have the line of the page.
        code = compile("\n" * (block.first - 1) + block.code, str(block.page), "exec")
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            exec(code, self.names)
        return out.getvalue().splitlines()

    def _commands(self, block: Block) -> Iterator[Shown]:
        shown: Shown | None = None
        command = ""
        for at, line in enumerate([*block.code.splitlines(), "$ "]):
            if line.startswith("$ "):
                if shown is not None:
                    shown.got = self._command(block, command)
                    yield shown
                command, shown = line[2:], Shown(block, at + 1, [])
            elif shown is not None:
                shown.lines.append(line)
            else:
                raise BlockError(f"{block.where}: a console block begins with a command, '$ ...'")

    def _command(self, block: Block, command: str) -> list[str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        if done.returncode:
            raise BlockError(
                f"{block.where}: `{command}` exits with {done.returncode}: {done.stdout}"
            )
        return done.stdout.splitlines()


def there(need: str) -> bool:
    """Whether this machine has it: a module by name, or a GPU."""
    if need == "a GPU":
        return there("torch") and importlib.import_module("torch").cuda.is_available()
    return importlib.util.find_spec(need) is not None


def _words(line: str) -> str:
    return " ".join(_NUMBER.sub("#", line).split())


def _alike(shown: list[str], got: list[str]) -> bool:
    while shown and shown[0] != "...":
        if not got or shown[0] != got[0]:
            return False
        shown, got = shown[1:], got[1:]
    if not shown:
        return not got
    return any(_alike(shown[1:], got[skipped:]) for skipped in range(len(got) + 1))


def write(page: Path, shown: list[Shown]) -> bool:
    """Put real output into the page, but where ``...`` leaves lines out; whether it changed."""
    lines = page.read_text().splitlines()
    for one in reversed(shown):
        if "..." in one.lines:
            continue
        begin = one.block.first - 1 + one.at
        new = [one.block.indent + line.expandtabs() for line in one.got]
        lines[begin : begin + len(one.lines)] = [line.rstrip() for line in new]
    text = "\n".join(lines) + "\n"
    changed = text != page.read_text()
    page.write_text(text)
    return changed


def main() -> None:
    """Run pages, and say what is wrong."""
    parser = argparse.ArgumentParser(prog="docs.tools.blocks")
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put the real output into the pages")
    options = parser.parse_args()
    wrong = False
    for page in options.pages or pages():
        with tempfile.TemporaryDirectory() as folder:
            running = Page(page, Path(folder))
            shown = list(running.run())
        for why in running.skipped:
            print(f"skipped: {why}")
        if options.write and write(page, shown):
            print(f"{page}: written")
        for one in shown:
            if not options.write and not one.agrees:
                wrong = True
                print(f"{one.block.where}: shows", *one.lines, "but there is", *one.got, sep="\n  ")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
