"""The classes of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
"""The class of each row, as its place among the classes."""

BLOCK_ROWS = 1 << 16


def classes_and_codes(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """The classes in order, and those of the rows, in the fewest bytes that hold them.

    Two numbers need no sort. NumPy's inverse takes 8 bytes a row, and several times that on the
    way.
    """
    if y.size and y.dtype.kind in "biuf":
        low, high = y.min(), y.max()
        is_high = y == high
        if low < high and np.count_nonzero(is_high) + np.count_nonzero(y == low) == y.size:
            return np.array([low, high], dtype=y.dtype), is_high.view(np.uint8)
    classes = np.unique(y)
    codes = np.empty(y.size, dtype=np.min_scalar_type(max(0, classes.size - 1)))
    for lo in range(0, y.size, BLOCK_ROWS):
        codes[lo : lo + BLOCK_ROWS] = np.searchsorted(classes, y[lo : lo + BLOCK_ROWS])
    return classes, codes
