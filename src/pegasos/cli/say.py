"""What commands tell: results on stdout, words for people on stderr."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np

from pegasos.certificate import Certificate
from pegasos.cli.arguments import SayArguments


class Voice:
    """Both streams, as the options want them."""

    def __init__(self, options: SayArguments) -> None:
        """``json`` gathers results into one object; ``quiet`` keeps stderr empty."""
        self.json, self.quiet = options.json, options.quiet
        self.everything: dict[str, Any] = {}

    def tell(self, *lines: str) -> None:
        """Words for people."""
        if not self.quiet:
            for line in lines:
                print(line, file=sys.stderr, flush=True)

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
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
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
    return str(value)


def worst(certificate: Certificate) -> float:
    """The largest relative gap of all lanes."""
    return float(np.max(certificate.relative_gap))


def in_words(gap: float) -> str:
    """What a relative gap proves."""
    if math.isinf(gap):
        return "nothing is proven about the objective yet"
    if gap > 1:
        return f"the objective is proven to be at most {1 + gap:.3g} times the best possible"
    return f"proven within {percent(gap)} of the best possible objective"


def percent(share: float) -> str:
    """A share with two digits, however small."""
    share = max(share, 0.0)
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.3g}%"


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def seconds(value: float) -> str:
    """A time for people."""
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def class_name(value: Any) -> str:
    """A class as it is written in files: whole numbers without a point."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
