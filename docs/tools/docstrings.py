"""Docstrings for the reference: sections ``Parameters`` and ``Attributes`` as definition lists.

Types are in signatures, so that ``name : what it is`` is all a section has.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

try:
    import griffe
except ImportError:  # the tests of `as_markdown` do without
    griffe = None

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises)\n-{3,}\n", re.MULTILINE)
_ITEM = re.compile(r"^([*\w]+(?:, ?\n?[*\w.]+)*) : (.*)$", re.DOTALL)


def as_markdown(docstring: str) -> str:
    """The docstring in Markdown."""
    parts = _SECTION.split(inspect.cleandoc(docstring))
    return "\n\n".join(
        [parts[0].strip()]
        + [
            f"**{title}**\n\n{_definitions(body)}"
            for title, body in zip(parts[1::2], parts[2::2], strict=True)
        ]
    ).strip()


def _definitions(body: str) -> str:
    """Items begin in the first column, and go on indented; other text stays what it is."""
    found: list[str] = []
    for line in body.splitlines():
        starts = bool(line) and not line[0].isspace()
        # Names of one item may take several lines: all but the last end with a comma.
        goes_on = found and found[-1].endswith(",") and " : " not in found[-1]
        if found and ((not starts and found[-1]) or (starts and goes_on)) and line:
            found[-1] += "\n" + line
        elif line or (found and found[-1]):
            found.append(line)
    return "\n\n".join(_definition(one) for one in found if one)


def _definition(text: str) -> str:
    item = _ITEM.match(text)
    if item is None:
        return inspect.cleandoc(text)
    names = ", ".join(f"`{name.strip()}`" for name in item[1].replace("\n", " ").split(","))
    about = " ".join(line.strip() for line in item[2].splitlines())
    return f"{names}\n:   {about}"


if griffe is not None:

    class Definitions(griffe.Extension):
        """For mkdocstrings."""

        def on_object(self, *, obj: Any, **_: Any) -> None:
            """Every object that has a docstring."""
            if obj.docstring is not None:
                obj.docstring.value = as_markdown(obj.docstring.value)
