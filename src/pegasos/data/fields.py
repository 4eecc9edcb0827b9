"""Numbers from many short fields of text at once, each rounded correctly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_LONGEST = 17  # characters: a sign, a point and 15 digits
_EXACT = 1 << 53  # whole numbers up to here are float64s
_POWERS = 10.0 ** np.arange(23)  # float64s too, so one division rounds once


def numbers(block: bytes, starts: Ints, ends: Ints) -> NDArray[np.float64] | None:
    """The decimals at ``block[starts:ends]``; None if one is no number, or not finite.

    Up to 15 digits without an exponent are a whole number divided by a power of ten, both exact:
    done for all fields of one length together. The rest goes through ``float``.
    """
    text = np.frombuffer(block, np.uint8)
    sizes = ends - starts
    out = np.empty(starts.size)
    rest = [np.flatnonzero(sizes > _LONGEST)]
    for size in np.unique(np.minimum(sizes, _LONGEST + 1)):
        if size > _LONGEST:
            continue
        at = np.flatnonzero(sizes == size)
        values, good = _decimals(text, starts[at], int(size))
        out[at] = values
        rest.append(at[~good])
    try:
        for at in np.concatenate(rest).tolist():
            field = block[starts[at] : ends[at]]
            if b"_" in field:  # float takes them for thousands
                return None
            out[at] = float(field)
    except ValueError:
        return None
    return out if np.isfinite(out).all() else None


def _decimals(
    text: NDArray[np.uint8], starts: Ints, size: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Fields of ``size`` characters, and which of them are plain decimals."""
    whole = np.zeros(starts.size, np.int64)
    digits = np.zeros(starts.size, np.int8)
    after = np.full(starts.size, -1, np.int8)  # digits after the point; -1: no point yet
    good = np.ones(starts.size, np.bool_)
    negative = np.zeros(starts.size, np.bool_)
    for place in range(size):
        character = text[starts + place]
        digit = character - np.uint8(ord("0"))  # others wrap around to more than 9
        is_digit = digit < 10
        if is_digit.all():
            whole *= 10
            whole += digit
            digits += 1
            after += after >= 0
            continue
        point = (character == ord(".")) & (after < 0)
        sign = np.zeros_like(good)
        if place == 0:
            negative = character == ord("-")
            sign = negative | (character == ord("+"))
        good &= is_digit | point | sign
        whole = np.where(is_digit, whole * 10 + digit, whole)
        digits += is_digit
        after += is_digit & (after >= 0)
        after[point] = 0
    good &= (digits > 0) & (whole <= _EXACT)
    values = whole / _POWERS[np.maximum(after, 0)]
    return np.where(negative, -values, values), good
