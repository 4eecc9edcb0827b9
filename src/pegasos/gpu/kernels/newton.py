"""The formulas of Newton's method."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

from pegasos.gpu.formulas import Fixed
from pegasos.gpu.kernels.launch import ENTRIES, Launch


def smoothed_point(
    slack: Tensor, along: Tensor, fixed: Fixed, step: float, before: float, width: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As of ``formulas``."""
    launch = Launch(slack[None], Fixed(fixed.y[None], fixed.c[None], fixed.squared), sums=4)
    t, curved = torch.empty_like(slack), torch.empty_like(slack)
    _smoothed_point[(launch.programs,)](
        slack, along, fixed.y, fixed.c, launch.parts, len(slack), fixed.c.stride(0),
        _floats(slack, step, before, width), t, curved, fixed.squared, before > 0, ENTRIES,
        num_warps=4,
    )  # fmt: skip
    return t, curved, launch.parts[:, 0].sum(1)


def smoothed_line(slack: Tensor, along: Tensor, fixed: Fixed, step: float, width: float) -> Tensor:
    """As of ``formulas``."""
    launch = Launch(slack[None], Fixed(fixed.y[None], fixed.c[None], fixed.squared), sums=2)
    _smoothed_line[(launch.programs,)](
        slack, along, fixed.y, fixed.c, launch.parts, len(slack), fixed.c.stride(0),
        _floats(slack, step, width), fixed.squared, ENTRIES, num_warps=4,
    )  # fmt: skip
    return launch.parts[:, 0].sum(1)


def _floats(like: Tensor, *values: float) -> Tensor:
    """Numbers on the device: as arguments they would be float32."""
    return torch.tensor(values, dtype=torch.float64).to(like.device, non_blocking=True)


@triton.jit
def _smoothed(slack, c, width, SQUARED: tl.constexpr):
    if SQUARED:
        dual = 2.0 * c * tl.maximum(slack, 0.0)
        curved = tl.where(slack > 0.0, 2.0 * c, 0.0)
    else:
        half = 0.5 / width
        dual = c * tl.minimum(tl.maximum(0.5 + slack * half, 0.0), 1.0)
        curved = tl.where(tl.abs(slack) < width, c * half, 0.0)
    return dual, curved


@triton.jit
def _smoothed_point(
    slack_, along_, y_, c_, parts, n, c_row, numbers, t_, curved_, SQUARED: tl.constexpr,
    MOVED: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    step = tl.load(numbers)
    before = tl.load(numbers + 1)
    width = tl.load(numbers + 2)
    total_0 = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_1 = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_2 = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_3 = tl.zeros((ENTRIES,), dtype=tl.float64)
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i = tl.arange(0, ENTRIES).to(tl.int64) + block * ENTRIES
        there = i < n
        label = tl.load(y_ + i, mask=there, other=0)
        inside = label != 0
        y = label.to(tl.float64)
        c = tl.load(c_ + i * c_row, mask=there, other=1.0)
        slack = tl.load(slack_ + i, mask=there, other=0.0)
        if MOVED:
            old, _ = _smoothed(slack, c, before, SQUARED)
        else:
            old = 0.0 * slack
        slack -= step * y * tl.load(along_ + i, mask=there, other=0.0)
        a, curved = _smoothed(slack, c, width, SQUARED)
        if SQUARED:
            lost = c * slack * slack
            dual = a - a * a / (4.0 * c)
        else:
            lost = c * slack
            dual = a
        loss = tl.where(slack <= 0.0, 0.0, lost)
        total_0 += tl.where(inside, loss, 0.0)
        total_1 += tl.where(inside, dual, 0.0)
        total_2 += tl.where(inside, loss - dual + a * (1.0 - slack), 0.0)
        total_3 += a * y
        tl.store(slack_ + i, slack, mask=there)
        tl.store(t_ + i, y * (a - old), mask=there)
        tl.store(curved_ + i, tl.where(inside, curved, 0.0), mask=there)
    to = parts + tl.program_id(0)
    tl.store(to, tl.sum(total_0))
    tl.store(to + tl.num_programs(0), tl.sum(total_1))
    tl.store(to + 2 * tl.num_programs(0), tl.sum(total_2))
    tl.store(to + 3 * tl.num_programs(0), tl.sum(total_3))


@triton.jit
def _smoothed_line(
    slack_, along_, y_, c_, parts, n, c_row, numbers, SQUARED: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    step = tl.load(numbers)
    width = tl.load(numbers + 1)
    total_0 = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_1 = tl.zeros((ENTRIES,), dtype=tl.float64)
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i = tl.arange(0, ENTRIES).to(tl.int64) + block * ENTRIES
        there = i < n
        label = tl.load(y_ + i, mask=there, other=0)
        inside = label != 0
        c = tl.load(c_ + i * c_row, mask=there, other=1.0)
        change = -label.to(tl.float64) * tl.load(along_ + i, mask=there, other=0.0)
        slack = tl.load(slack_ + i, mask=there, other=0.0) + step * change
        dual, curved = _smoothed(slack, c, width, SQUARED)
        total_0 += tl.where(inside, dual * change, 0.0)
        total_1 += tl.where(inside, curved * change * change, 0.0)
    tl.store(parts + tl.program_id(0), tl.sum(total_0))
    tl.store(parts + tl.num_programs(0) + tl.program_id(0), tl.sum(total_1))
