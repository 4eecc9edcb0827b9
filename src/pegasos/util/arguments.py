"""Arguments of the wrong type get an error that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


def check_sample_weight(sample_weight: ArrayLike, n: int, lanes: int = 1) -> NDArray[np.float64]:
    """Sample weights as (n, 1), or (n, lanes) if given per lane; finite, not all zero.

    Not to be written to: they may be the caller's own.
    """
    weight = np.require(floats("sample_weight", sample_weight, new=False), requirements=["C", "A"])
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim == 1:
        weight = weight[:, None]
    if weight.ndim != 2 or weight.shape[0] != n or weight.shape[1] not in (1, lanes):
        raise ValueError(
            f"sample_weight must have one entry per row ({n}), got shape {np.shape(sample_weight)}"
        )
    bad = np.argwhere(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        row, lane = bad[0]
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weight[row, lane]} at row {row}"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return weight


def per_lane(
    name: str, value: ArrayLike | None, lanes: int, *, zero: bool = False
) -> NDArray[np.float64]:
    """``value`` for every lane, positive, or at least 0."""
    array = floats(name, value)
    if array.ndim > 1 or (array.ndim == 1 and array.size != lanes):
        raise ValueError(f"{name} must be one number or {lanes}, got shape {array.shape}")
    bad = ~(np.isfinite(array) & ((array >= 0) if zero else (array > 0)))
    if bad.any():
        wanted = "finite and not negative" if zero else "finite and positive"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return np.ascontiguousarray(np.broadcast_to(array, (lanes,)))


def check_scaling_range(value: float) -> float:
    """The value of a constant feature; raises for one whose square leaves float64."""
    if (
        not 1e-150 <= number("intercept_scaling", value) <= 1e150
    ):  # its square must be a float64, too
        raise ValueError(f"intercept_scaling must be in 1e-150 .. 1e150, got {value}")
    return float(value)
