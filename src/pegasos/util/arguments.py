"""Arguments of the wrong type get an error that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number(name: str, value: Any) -> float:
    """``value`` as it is, if it is a real number; a TypeError that names it otherwise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return value  # type: ignore[return-value]


def whole(name: str, value: Any) -> int:
    """``value`` as an int, if it is a positive whole number; an error that names it otherwise."""
    if number(name, value) != int(value) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value}")
    return int(value)


def floats(name: str, value: Any, *, new: bool = True) -> NDArray[np.float64]:
    """``value`` as a float64 array; a TypeError that names it if it holds no numbers.

    Unless ``new``, one that is such an array already is given back.
    """
    try:
        return np.array(value, dtype=np.float64, copy=new or None)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers only, got {_short(value)}") from None


def functions(name: str, value: Any) -> tuple[Callable[..., Any], ...]:
    """``value`` as a tuple of functions."""
    if not isinstance(value, Iterable) or not all(callable(item) for item in value):
        raise TypeError(f"{name} must be a list of functions, got {_short(value)}")
    return tuple(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
