"""Strings and numbers as a page shows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.wording import visible

_LONGEST = 400  # characters of a string: a page holds hundreds


def clean(text: str) -> str:
    """The text with an escape such as ``\\x00`` in place of each character a page cannot show."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return visible(cut)


def short(text: str, most: int) -> str:
    """The text on one line, of at most so many characters."""
    line = " ".join(text.split()) if text.strip() else text
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def number(value: Any, digits: int = 4, *, zeros: bool = False) -> str:
    """A number with so many digits that count; ``zeros`` keeps those at its end."""
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    text, exponent = f"{value:.{digits - 1}e}".split("e")
    power = f"e{int(exponent)}"
    if -4 <= int(exponent) < 15:
        text, power = f"{value:,.{max(0, digits - 1 - int(exponent))}f}", ""
    text = text.rstrip("0").rstrip(".") if "." in text and not zeros else text
    return f"{text}{power}".replace("-", "−")


def fixed(value: Any, places: int = 3) -> str:
    """A number with so many places: for columns."""
    value = float(value)
    return f"{value:.{places}f}".replace("-", "−") if math.isfinite(value) else number(value)


def count(value: Any) -> str:
    """A number of rows, or a sum of weights."""
    value = float(value)
    return f"{value:,.0f}" if value == round(value) else number(value)


def share(value: Any, places: int = 1) -> str:
    """A share as percent."""
    value = float(value)
    return "–" if not math.isfinite(value) else f"{100 * value:.{places}f}%"


def plain(value: Any) -> str:
    """Any value of a parameter."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value, 6)
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, dict):
        return ", ".join(f"{plain(key)}: {plain(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return short(str(value), 300)
