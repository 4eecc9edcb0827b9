"""Duals in few bytes, without loss: most of them are at a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats


class Compressed(NamedTuple):
    """Which duals are at zero and which at c, two bits each, and the others."""

    shape: tuple[int, int]
    above: NDArray[np.uint8]  # bits: not zero
    full: NDArray[np.uint8]  # bits: c
    free: Floats


def compress(duals: Floats, largest: Floats) -> Compressed:
    """Compress duals (n, lanes) whose bounds are ``largest``."""
    above, full = duals != 0, duals == largest
    between = above & ~full
    n, lanes = duals.shape
    return Compressed((n, lanes), np.packbits(above), np.packbits(full), duals[between])


def expand(few: Compressed, largest: Floats) -> Floats:
    """The same duals again."""
    size = few.shape[0] * few.shape[1]
    above = np.unpackbits(few.above, count=size).reshape(few.shape).astype(bool)
    full = np.unpackbits(few.full, count=size).reshape(few.shape).astype(bool)
    out = np.zeros(few.shape)
    out[full] = largest[full]
    out[above & ~full] = few.free
    return out
