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


def check_members(members: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.int8] | None:
    """Membership as (n, K) int8; lanes that share a column keep sharing it."""
    if members is None:
        return None
    given = np.asarray(members)
    if not np.isin(given, (0, 1)).all():
        raise ValueError("members must hold 0 and 1, or False and True")
    return np.broadcast_to(_column(given.astype(np.int8, copy=False), "members", shape), shape)


def check_targets(targets: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Targets as (n, K) float64, or float32 where they are; of any strides."""
    if targets is None:
        return None
    given = np.asarray(targets)
    if given.dtype != np.float32:
        given = given.astype(np.float64, copy=False)
    if not np.isfinite(given).all():
        raise ValueError("targets contain NaN or infinity")
    return np.broadcast_to(_column(given, "targets", shape), shape)


def _column(given: NDArray[Any], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """One column for all lanes, or one for each."""
    if given.shape not in (shape, shape[:1], (shape[0], 1)):
        raise ValueError(f"{name} must have shape {shape[:1]} or {shape}, got {given.shape}")
    return given[:, None] if given.ndim == 1 else given


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


def regularization(
    lam: ArrayLike | None, C: ArrayLike | None, total_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """s per lane, from lam (s = lam N) or C (s = 1/C)."""
    K = total_weight.size
    if (lam is None) == (C is None):
        raise ValueError("give exactly one of lam and C")
    if lam is not None:
        s = per_lane("lam", lam, K) * total_weight
    else:
        s = 1.0 / per_lane("C", C, K)
    if not (np.isfinite(s) & (s > 0)).all():
        raise ValueError("lam or C is so extreme that the regularization leaves float64")
    return s


def check_scaling_range(value: float) -> float:
    """The value of a constant feature; raises for one whose square leaves float64."""
    if (
        not 1e-150 <= number("intercept_scaling", value) <= 1e150
    ):  # its square must be a float64, too
        raise ValueError(f"intercept_scaling must be in 1e-150 .. 1e150, got {value}")
    return float(value)
