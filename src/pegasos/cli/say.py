"""What commands tell: results on stdout, words for people on stderr."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np

from pegasos.cli.arguments import SayArguments
from pegasos.wording import class_name, in_words, percent, seconds, size, visible, worst

__all__ = [
    "Voice", "class_name", "in_words", "percent", "plain", "seconds", "shown", "size",
    "table_lines", "worst",
]  # fmt: skip


class Voice:
    """Both streams, as the options want them."""

    def __init__(self, options: SayArguments) -> None:
        """``json`` gathers results into one object; ``quiet`` keeps stderr empty."""
        self.json, self.quiet = options.json, options.quiet
        self.everything: dict[str, Any] = {}
        self.kept = "nothing was saved"  # what an interrupted command leaves

    def tell(self, *lines: str) -> None:
        """Words for people."""
        if not self.quiet:
            for line in lines:
                print(visible(line), file=sys.stderr, flush=True)

    def result(self, **values: Any) -> None:
        """Results by name."""
        for name, value in values.items():
            self.everything[name] = value
            if not self.json:
                print(f"{name}\t{shown(value)}")

    def table(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A result of several rows: tabs, with the names first."""
        self.everything[name] = rows
        if not self.json:
            for line in table_lines(rows):
                print(line)

    def detail(self, **values: Any) -> None:
        """What only the JSON object has."""
        self.everything.update(values)

    def finish(self) -> None:
        """Print the JSON object."""
        if self.json:
            print(json.dumps(plain(self.everything), allow_nan=False))
        sys.stdout.flush()


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Rows with tabs, after their names."""
    names = ["\t".join(rows[0])] if rows else []
    return names + ["\t".join(shown(value) for value in row.values()) for row in rows]


def plain(value: Any) -> Any:
    """As JSON has it: no NumPy, and no infinity, which becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def shown(value: Any) -> str:
    """A value in a line of results."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.10g}"
    return visible(str(value)).replace("\n", "\\n").replace("\t", "\\t")
