"""Labels that were text: numbers where all of them are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_EXACT = 2.0**53  # whole numbers up to here are float64s


def number(text: str) -> float | None:
    """A finite decimal, or None: stricter than ``float``, which takes 1_000 and nan too."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def missing(text: str) -> bool:
    """Whether a label is none: empty, or not a finite number though it looks like one."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return not text


def numeric(text: str) -> float | None:
    """A label as a number; None for names, and for whole numbers that float64 cannot tell apart."""
    value = number(text)
    if value is not None and abs(value) >= _EXACT and text.lstrip("+-").isdigit():
        return None
    return value


def from_text(texts: Sequence[str]) -> NDArray[Any]:
    """Numbers if all are (int64 if all are whole, else float64), strings otherwise."""
    values = [numeric(text) for text in texts]
    if any(value is None for value in values):
        return np.array(texts, dtype=np.str_)
    return whole(np.array(values, dtype=np.float64))


def whole(values: NDArray[Any]) -> NDArray[Any]:
    """``values`` as int64 if that changes none of them."""
    if values.dtype.kind == "f" and (np.abs(values) < _EXACT).all() and (values % 1 == 0).all():
        return values.astype(np.int64)
    return values


def numbered(known: dict[Any, int], found: Iterable[Any]) -> NDArray[np.int32]:
    """The number of each; ``known`` has those so far, and is told of new ones as they come."""
    return np.fromiter((known.setdefault(one, len(known)) for one in found), np.int32)
