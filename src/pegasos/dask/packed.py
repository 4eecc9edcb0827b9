"""Duals in few bytes, without loss: most of them are at a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats


class Packed(NamedTuple):
    """Which duals are at zero and which at c, two bits each, and the others."""

    shape: tuple[int, int]
    above: NDArray[np.uint8]  # bits: not zero
    full: NDArray[np.uint8]  # bits: c
    free: Floats


def pack(duals: Floats, largest: Floats) -> Packed:
    """Pack duals (n, lanes) whose bounds are ``largest``."""
    above, full = duals != 0, duals == largest
    between = above & ~full
    n, lanes = duals.shape
    return Packed((n, lanes), np.packbits(above), np.packbits(full), duals[between])


def unpack(packed: Packed, largest: Floats) -> Floats:
    """The same duals again."""
    size = packed.shape[0] * packed.shape[1]
    above = np.unpackbits(packed.above, count=size).reshape(packed.shape).astype(bool)
    full = np.unpackbits(packed.full, count=size).reshape(packed.shape).astype(bool)
    out = np.zeros(packed.shape)
    out[full] = largest[full]
    out[above & ~full] = packed.free
    return out
