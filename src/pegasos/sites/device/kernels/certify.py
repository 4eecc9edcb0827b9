"""The sums over rows of a certificate, from one look at each."""

from __future__ import annotations

import triton
from torch import Tensor
from triton import language as tl

from pegasos import _core
from pegasos.sites.device import losses
from pegasos.sites.device.formulas import Fixed
from pegasos.sites.device.kernels.launch import ENTRIES, Launch, rows_of, store_sums


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
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    loss, dual_positive, dual_negative = zero, zero, zero
    square_positive, square_negative = zero, zero
    slope, slope_norm, cost_norm, dual_norm, support = zero, zero, zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, y_stride, ENTRIES)
        c = tl.load(c_ + lane * c_lane + i * c_row, mask=there, other=1.0)
        a = tl.load(a_ + lane * a_stride + i, mask=there, other=0.0)
        norm = tl.sqrt(tl.load(norms + i, mask=there, other=0.0))
        slack = 1.0 - y * tl.load(margins + lane * lane_stride + i, mask=there, other=0.0)
        # A margin that is no number is a loss that is none.
        lost = inside & ((slack > 0.0) | (slack != slack))
        up = tl.where(y > 0.0, a, 0.0)
        down = tl.where(y < 0.0, a, 0.0)
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
    store_sums(parts, (loss, dual_positive, dual_negative, square_positive, square_negative))
    store_sums(parts, (slope, slope_norm, cost_norm, dual_norm, support), 5)
