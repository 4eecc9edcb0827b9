"""Triton kernels: rows are read once, and everything is added in float64.

Each does what plain tensors do in ``formulas``, ``products`` and ``gram``, which is what the tests
compare it with: with TRITON_INTERPRET=1 kernels run on a CPU, too. Sums come from a fixed number of
programs that each add up their rows in order, so that the same device gives the same bits.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from torch import Tensor

MOST_SUMS = 3
"""Of rows that are read once for all of them."""

MOST_FEATURES = 1024
"""Of a row that is read at once."""

INTERPRETED = False  # tests say that tensors on the CPU are served, too

_THERE = importlib.util.find_spec("triton") is not None  # torch for a CPU comes without it


def enabled(tensor: Tensor) -> bool:
    """Whether kernels can run where this tensor is."""
    return _THERE and (tensor.is_cuda or INTERPRETED)


def serve(X: Tensor) -> bool:
    """Whether they can read these rows."""
    return enabled(X) and X.shape[1] <= MOST_FEATURES and X.stride(1) == 1


def module(name: str) -> Any:
    """A module of kernels; where they can run, Triton is there."""
    return importlib.import_module(f"{__name__}.{name}")
