"""The sums over rows of a certificate, from one look at each."""

from __future__ import annotations

import triton
from torch import Tensor
from triton import language as tl

from pegasos import _core
from pegasos.sites.device.formulas import Fixed
from pegasos.sites.device.kernels import losses
from pegasos.sites.device.kernels.launch import ENTRIES, Launch


def gap_sums(margins: Tensor, a: Tensor, norms: Tensor, fixed: Fixed) -> tuple[Tensor, float]:
    """As of ``formulas``."""
    launch = Launch(margins, fixed, sums=10)
    K, n = launch.shape
    _gap_sums[(launch.programs, K)](
        margins, a, a.stride(0), norms, fixed.y, fixed.c, launch.parts, n, *launch.strides,
        fixed.loss.code, _core.NEAR, ENTRIES, num_warps=4,
    )  # fmt: skip
    added = n / (launch.programs * ENTRIES) + 1 + ENTRIES + launch.programs
    return launch.parts.sum(2), added


@triton.jit
def _gap_sums(
    margins, a_, a_stride, norms, y_, c_, parts, n, lane_stride, y_stride, c_lane, c_row,
    LOSS: tl.constexpr, NEAR: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    loss = tl.zeros((ENTRIES,), dtype=tl.float64)
    dual_positive = tl.zeros((ENTRIES,), dtype=tl.float64)
    dual_negative = tl.zeros((ENTRIES,), dtype=tl.float64)
    square_positive = tl.zeros((ENTRIES,), dtype=tl.float64)
    square_negative = tl.zeros((ENTRIES,), dtype=tl.float64)
    slope = tl.zeros((ENTRIES,), dtype=tl.float64)
    slope_norm = tl.zeros((ENTRIES,), dtype=tl.float64)
    cost_norm = tl.zeros((ENTRIES,), dtype=tl.float64)
    dual_norm = tl.zeros((ENTRIES,), dtype=tl.float64)
    support = tl.zeros((ENTRIES,), dtype=tl.float64)
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i = tl.arange(0, ENTRIES).to(tl.int64) + block * ENTRIES
        there = i < n
        label = tl.load(y_ + lane * y_stride + i, mask=there, other=0)
        inside = label != 0
        y = label.to(tl.float64)
        c = tl.load(c_ + lane * c_lane + i * c_row, mask=there, other=1.0)
        a = tl.load(a_ + lane * a_stride + i, mask=there, other=0.0)
        norm = tl.sqrt(tl.load(norms + i, mask=there, other=0.0))
        slack = 1.0 - y * tl.load(margins + lane * lane_stride + i, mask=there, other=0.0)
        # A margin that is no number is a loss that is none.
        lost = inside & ((slack > 0.0) | (slack != slack))
        up = tl.where(label > 0, a, 0.0)
        down = tl.where(label < 0, a, 0.0)
        loss += tl.where(lost, losses.value(slack, c, LOSS), 0.0)
        square_positive = losses.add_square(square_positive, up, c, LOSS)
        square_negative = losses.add_square(square_negative, down, c, LOSS)
        here = losses.slope(slack, c, inside, lost, NEAR, LOSS)
        dual_positive += up
        dual_negative += down
        slope += here
        slope_norm += here * norm
        cost_norm += tl.where(inside, c * norm, 0.0)
        dual_norm += a * norm
        support += tl.where(a != 0.0, 1.0, 0.0)
    to = parts + lane * tl.num_programs(0) + tl.program_id(0)
    size = tl.num_programs(1) * tl.num_programs(0)
    tl.store(to, tl.sum(loss))
    tl.store(to + size, tl.sum(dual_positive))
    tl.store(to + 2 * size, tl.sum(dual_negative))
    tl.store(to + 3 * size, tl.sum(square_positive))
    tl.store(to + 4 * size, tl.sum(square_negative))
    tl.store(to + 5 * size, tl.sum(slope))
    tl.store(to + 6 * size, tl.sum(slope_norm))
    tl.store(to + 7 * size, tl.sum(cost_norm))
    tl.store(to + 8 * size, tl.sum(dual_norm))
    tl.store(to + 9 * size, tl.sum(support))
