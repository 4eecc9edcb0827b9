"""Reports: one page of HTML about a model and the rows it was tried on.

``scored`` gathers what is to be told, block by block; ``page`` makes a page of it.
"""

from __future__ import annotations

import os
from html import escape

from pegasos.report.about import About, Rows, about_model
from pegasos.report.scored import Scored
from pegasos.util.atomic import atomic_write

__all__ = ["About", "Report", "Rows", "Scored", "about_model", "make"]


class Report:
    """A page; shown in notebooks, and saved with ``save``."""

    def __init__(self, html: str, title: str) -> None:
        """``html`` is the whole page."""
        self.html, self.title = html, title

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the page; without ``overwrite`` an existing file raises FileExistsError."""
        with atomic_write(path, overwrite=overwrite) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        """The page in a frame, which keeps its style and script to itself."""
        return (
            f'<iframe title="{escape(self.title)}" width="100%" height="800" '
            f'sandbox="allow-scripts" srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        """Its title and size."""
        return f"Report({self.title!r}, {len(self.html):,} characters)"


def make(scored: Scored, rows: Rows, title: str) -> Report:
    """The report of rows that were scored."""
    from pegasos.report.page import render  # which imports jinja2
    from pegasos.report.text import clean

    if not scored.finite:
        raise ValueError("the scores of some rows are not finite: their values are too large")
    if scored.unknown == scored.rows:
        known = ", ".join(scored.about.classes[:10])
        raise ValueError(
            f"none of the {scored.rows:,} rows has a label that the model knows ({known}). "
            "Is it the same column of labels?"
        )
    return Report(render(scored, rows, title), clean(title))
