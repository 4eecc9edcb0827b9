"""How kernels over (lanes, rows) are launched."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from pegasos.sites.device.formulas import Direction, Fixed, Row

ENTRIES = 1024
"""Rows of a lane that a program looks at together."""


class Launch:
    """Programs over (lanes, rows), each of which adds up entries of one lane."""

    def __init__(self, like: Tensor, fixed: Fixed, sums: int) -> None:
        """Room for so many sums of each program; ``like`` has the shape."""
        self.shape, self.device = like.shape, like.device
        K, n = self.shape
        self.programs = max(1, min(triton.cdiv(n, ENTRIES), triton.cdiv(programs(like) * 2, K)))
        size = (sums, K, self.programs)
        self.parts = torch.empty(size, dtype=torch.float64, device=self.device)
        # Costs may be one number for all rows of a lane.
        self.strides = (like.stride(0), fixed.y.stride(0), *fixed.c.stride())

    def empty(self, count: int, kind: torch.dtype) -> Tensor:
        """(count, K, n)."""
        return torch.empty((count, *self.shape), dtype=kind, device=self.device)

    def __call__(self, kernel: Any, row: Row, now: Direction, fixed: Fixed, *more: Any) -> None:
        """Run a kernel over the variables of the interior point method."""
        K, n = self.shape
        kernel[(self.programs, K)](
            *row, *now, fixed.y, fixed.c, self.parts, n, *self.strides, *more,
            fixed.loss.code, ENTRIES, num_warps=4,
        )  # fmt: skip


def programs(tensor: Tensor) -> int:
    """How many programs fill the device."""
    if not tensor.is_cuda:
        return 4
    return 4 * int(torch.cuda.get_device_properties(tensor.device).multi_processor_count)
