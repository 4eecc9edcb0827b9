"""The formulas of Newton's method."""

from __future__ import annotations

import numpy as np
import torch
import triton
from torch import Tensor
from triton import language as tl

from pegasos.sites.device import losses
from pegasos.sites.device.arrays import sent
from pegasos.sites.device.formulas import Fixed
from pegasos.sites.device.kernels.launch import ENTRIES, Launch, programs, rows_of, store_sums
from pegasos.sites.device.kernels.rows import tile_of

_WIDE = 512  # features
# Values of a tile, warps, and how many times the usual number of programs, by sides and whether
# rows are wide: the fastest of a grid on an H200.
_LOOKED = {
    (1, False): (2048, 2, 2), (1, True): (2048, 2, 2),
    (2, False): (1024, 2, 4), (2, True): (2048, 4, 2),
}  # fmt: skip


def smoothed_point(
    slack: Tensor, along: Tensor, norms: Tensor, fixed: Fixed, step: float, before: float,
    width: float, reach: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """As of ``formulas``."""
    launch = Launch(slack[None], fixed.of(None), sums=6)
    t, curved = torch.empty_like(slack), torch.empty_like(slack)
    _smoothed_point[(launch.programs,)](
        slack, along, norms, fixed.y, fixed.c, launch.parts, len(slack), fixed.c.stride(0),
        _floats(slack, step, before, width, reach), t, curved, fixed.loss.code, before > 0, ENTRIES,
        num_warps=4,
    )  # fmt: skip
    return t, curved, launch.parts[:, 0].sum(1)


def smoothed_line(slack: Tensor, along: Tensor, fixed: Fixed, step: float, width: float) -> Tensor:
    """As of ``formulas``."""
    launch = Launch(slack[None], fixed.of(None), sums=4)
    _smoothed_line[(launch.programs,)](
        slack, along, fixed.y, fixed.c, launch.parts, len(slack), fixed.c.stride(0),
        _floats(slack, step, width), fixed.loss.code, ENTRIES, num_warps=4,
    )  # fmt: skip
    return launch.parts[:, 0].sum(1)


def smoothed_look(
    X: Tensor, W: Tensor, shift: float, fixed: Fixed, width: float, sides: int, margins: Tensor,
    duals: Tensor,
) -> Tensor:  # fmt: skip
    """Fill in (n,) w.x and the duals of w.x + shift; (sides, d) the sums of a x of both sides.

    Of one side: of a y x.
    """
    n, d = X.shape
    values, warps, more = _LOOKED[sides, d > _WIDE]
    columns, rows = tile_of(d, values)
    count = min(more * programs(X), triton.cdiv(n, rows))
    parts = torch.empty((count, sides, columns), dtype=torch.float64, device=X.device)
    _smoothed_look[(count,)](
        X, W.double().contiguous(), fixed.y, fixed.c, _floats(margins, shift, width), margins,
        duals, parts, n, X.stride(0), fixed.c.stride(0), d, columns, rows, sides, fixed.loss.code,
        num_warps=warps,
    )  # fmt: skip
    return parts.sum(0)[:, :d]


def _floats(like: Tensor, *values: float) -> Tensor:
    """Numbers on the device: as arguments they would be float32."""
    return sent(np.array(values), like.device)


@triton.jit
def _smoothed_point(
    slack_, along_, norms_, y_, c_, parts, n, c_row, numbers, t_, curved_, LOSS: tl.constexpr,
    MOVED: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    step = tl.load(numbers)
    before = tl.load(numbers + 1)
    width = tl.load(numbers + 2)
    reach = tl.load(numbers + 3)
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_0, total_1, total_2, total_3, total_4, total_5 = zero, zero, zero, zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, 0, ENTRIES)
        c = tl.load(c_ + i * c_row, mask=there, other=1.0)
        slack = tl.load(slack_ + i, mask=there, other=0.0)
        if MOVED:
            old, _ = losses.rounded(slack, c, before, LOSS)
        else:
            old = 0.0 * slack
        slack -= step * y * tl.load(along_ + i, mask=there, other=0.0)
        a, curved = losses.rounded(slack, c, width, LOSS)
        dual = losses.worth(a, c, LOSS)
        loss = tl.where(slack <= 0.0, 0.0, losses.value(slack, c, LOSS))
        total_0 += tl.where(inside, loss, 0.0)
        total_1 += tl.where(inside, dual, 0.0)
        total_2 += tl.where(inside, loss - dual + a * (1.0 - slack), 0.0)
        total_3 += a * y
        total_4 += tl.where(inside & (tl.abs(slack) < reach), 1.0, 0.0)
        curved = tl.where(inside, curved, 0.0)
        total_5 += curved * tl.load(norms_ + i, mask=there, other=0.0)
        tl.store(slack_ + i, slack, mask=there)
        tl.store(t_ + i, y * (a - old), mask=there)
        tl.store(curved_ + i, curved, mask=there)
    store_sums(parts, (total_0, total_1, total_2, total_3, total_4, total_5))


@triton.jit
def _smoothed_line(
    slack_, along_, y_, c_, parts, n, c_row, numbers, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    step = tl.load(numbers)
    width = tl.load(numbers + 1)
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_0, total_1, total_2, total_3 = zero, zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, 0, ENTRIES)
        c = tl.load(c_ + i * c_row, mask=there, other=1.0)
        change = -y * tl.load(along_ + i, mask=there, other=0.0)
        slack = tl.load(slack_ + i, mask=there, other=0.0)
        first, _ = losses.rounded(slack, c, width, LOSS)
        dual, curved = losses.rounded(slack + step * change, c, width, LOSS)
        total_0 += tl.where(inside, dual * change, 0.0)
        total_1 += tl.where(inside, curved * change * change, 0.0)
        total_2 += tl.where(inside, first * change, 0.0)
        total_3 += tl.where(inside, change * change / n, 0.0)
    store_sums(parts, (total_0, total_1, total_2, total_3))


@triton.jit
def _smoothed_look(
    X, w, y_, c_, numbers, margins, duals, parts, n, stride, c_row, D: tl.constexpr,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, SIDES: tl.constexpr, LOSS: tl.constexpr,
):  # fmt: skip
    shift = tl.load(numbers)
    width = tl.load(numbers + 1)
    columns = tl.arange(0, WIDTH)
    there = columns < D
    weights = tl.load(w + columns, mask=there, other=0.0)
    first = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    if SIDES > 1:
        second = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    # The next rows come while these are computed with, which one at a time would wait for.
    rows = tl.arange(0, ROWS).to(tl.int64) + tl.program_id(0) * ROWS
    valid = (rows < n)[:, None] & there[None, :]
    ahead = tl.load(X + rows[:, None] * stride + columns[None, :], mask=valid, other=0.0)
    y_ahead = tl.load(y_ + rows, mask=rows < n, other=0)
    for _ in range(tl.program_id(0), tl.cdiv(n, ROWS), tl.num_programs(0)):
        x, y = ahead.to(tl.float64), y_ahead.to(tl.float64)
        inside, at = rows < n, rows
        rows += tl.num_programs(0) * ROWS
        valid = (rows < n)[:, None] & there[None, :]
        ahead = tl.load(X + rows[:, None] * stride + columns[None, :], mask=valid, other=0.0)
        y_ahead = tl.load(y_ + rows, mask=rows < n, other=0)
        c = tl.load(c_ + at * c_row, mask=inside, other=1.0)
        product = tl.sum(x * weights[None, :], axis=1)
        dual, _ = losses.rounded(1.0 - y * (product + shift), c, width, LOSS)
        dual = tl.where(y != 0.0, dual, 0.0)
        tl.store(margins + at, product, mask=inside)
        tl.store(duals + at, dual, mask=inside)
        if SIDES > 1:
            first += x * tl.where(y > 0.0, dual, 0.0)[:, None]
            second += x * tl.where(y < 0.0, dual, 0.0)[:, None]
        else:
            first += x * (y * dual)[:, None]
    to = parts + tl.program_id(0) * SIDES * WIDTH + columns
    tl.store(to, tl.sum(first, axis=0))
    if SIDES > 1:
        tl.store(to + WIDTH, tl.sum(second, axis=0))
