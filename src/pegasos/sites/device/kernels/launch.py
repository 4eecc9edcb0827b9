"""How kernels over (lanes, rows) are launched, and what all of them do."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl

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


@triton.jit
def rows_of(block, n, y_, y_stride, ENTRIES: tl.constexpr):  # noqa: D103
    i = tl.arange(0, ENTRIES).to(tl.int64) + block * ENTRIES
    there = i < n
    label = tl.load(y_ + tl.program_id(1).to(tl.int64) * y_stride + i, mask=there, other=0)
    return i, there, label != 0, label.to(tl.float64)


@triton.jit
def variables_of(a_, v_, r_, xi_, g_, scale_, at, there):  # noqa: D103
    a = tl.load(a_ + at, mask=there, other=1.0)
    v = tl.load(v_ + at, mask=there, other=1.0)
    r = tl.load(r_ + at, mask=there, other=1.0)
    xi = tl.load(xi_ + at, mask=there, other=1.0)
    g = tl.load(g_ + at, mask=there, other=0.0)
    return a, v, r, xi, g, tl.load(scale_ + at, mask=there, other=0.0)


@triton.jit
def store_sums(parts, totals, first: tl.constexpr = 0):  # noqa: D103
    to = parts + tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    size = tl.num_programs(1) * tl.num_programs(0)
    for k in tl.static_range(len(totals)):
        tl.store(to + (first + k) * size, tl.sum(totals[k]))


@triton.jit
def store_most(parts, first, second):  # noqa: D103
    to = parts + tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    tl.store(to, tl.max(first, axis=0))
    tl.store(to + tl.num_programs(1) * tl.num_programs(0), tl.max(second, axis=0))
