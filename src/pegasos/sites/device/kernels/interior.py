"""The formulas of the interior point method, and the slope of the loss in b."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

from pegasos.sites.device import losses
from pegasos.sites.device.formulas import Direction, Fixed, Row
from pegasos.sites.device.kernels.launch import (
    ENTRIES,
    Launch,
    rows_of,
    store_most,
    store_sums,
    variables_of,
)


def point(
    row: Row, now: Direction, fixed: Fixed, share: Tensor, step: Tensor, kind: torch.dtype
) -> tuple[Tensor, Tensor]:
    """As of ``formulas``."""
    launch = Launch(row.a, fixed, sums=7)
    T = launch.empty(3, kind)
    launch(_point, row, now, fixed, share, step, T, T.stride(0))
    return T, launch.parts.sum(2)


def affine(
    row: Row, now: Direction, fixed: Fixed, margins: Tensor, shift: Tensor, kind: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """As of ``formulas``."""
    launch = Launch(row.a, fixed, sums=6)
    T = launch.empty(1, kind)[0]
    launch(_affine, row, now, fixed, margins, margins.stride(0), shift, T)
    steps = 1 / launch.parts[:2].amax(2).clamp(min=1.0)
    return T, steps, launch.parts[2:].sum(2)


def direction(
    row: Row, to: Direction, fixed: Fixed, share: Tensor, mu: Tensor, margins: Tensor, shift: Tensor
) -> Tensor:
    """As of ``formulas``."""
    launch = Launch(row.a, fixed, sums=2)
    launch(_direction, row, to, fixed, share, mu, margins, margins.stride(0), shift)
    return 1 / launch.parts.amax(2).clamp(min=1.0)


def correct(
    row: Row, now: Direction, other: Direction, fixed: Fixed, share: Tensor, mu: Tensor, p: Tensor,
    q: Tensor, kind: torch.dtype,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As of ``formulas``."""
    launch = Launch(row.a, fixed, sums=1)
    T = launch.empty(1, kind)[0]
    launch(_correct, row, now, fixed, other.ra, other.rv, share, mu, p, q, T)
    return T, launch.parts.sum(2)[0]


def slopes(margins: Tensor, fixed: Fixed, b: Tensor) -> Tensor:
    """(K,) the derivatives of the losses by the intercept, at b."""
    launch = Launch(margins, fixed, sums=1)
    K, n = margins.shape
    _slopes[(launch.programs, K)](
        margins, fixed.y, fixed.c, launch.parts, n, *launch.strides, b, fixed.loss.code, ENTRIES,
        num_warps=4,
    )  # fmt: skip
    return launch.parts[0].sum(1)


@triton.jit
def _point(
    a_, v_, r_, xi_, g_, scale_, ra_, rv_, da_, along_, y_, c_, parts, n, lane_stride, y_stride,
    c_lane, c_row, share_, step_, T, t_stride, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    share = tl.load(share_ + lane)
    step = tl.load(step_ + lane)
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    total_0, total_1, total_2, total_3 = zero, zero, zero, zero
    total_4, total_5, total_6 = zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, y_stride, ENTRIES)
        at = lane * lane_stride + i
        c = tl.load(c_ + lane * c_lane + i * c_row, mask=there, other=1.0)
        da = tl.load(da_ + at, mask=there, other=0.0)
        a = tl.load(a_ + at, mask=there, other=1.0)
        r = tl.load(r_ + at, mask=there, other=1.0)
        g = tl.load(g_ + at, mask=there, other=0.0)
        g += step * tl.load(along_ + at, mask=there, other=0.0)
        r += step * (tl.load(ra_ + at, mask=there, other=0.0) - r * da) / a
        a += step * da
        v, xi = losses.stepped(a, c, da, step, v_, xi_, rv_, at, there, inside, LOSS)
        inverse = tl.where(inside, 1.0 / (r * v + xi * a), 0.0)
        scale = a * v * inverse
        tl.store(a_ + at, a, mask=there)
        tl.store(v_ + at, v, mask=there)
        tl.store(r_ + at, r, mask=there)
        tl.store(xi_ + at, xi, mask=there)
        tl.store(g_ + at, g, mask=there)
        tl.store(scale_ + at, scale, mask=there)
        signed = a * y
        gap, dual, t, by_mu = losses.point(y, a, v, r, xi, g, scale, inverse, share, LOSS)
        total_0 += tl.where(inside, gap, 0.0)
        lost = losses.value(-g, c, LOSS)
        total_1 += tl.where(inside, tl.where(g >= 0.0, 0.0, lost), 0.0)
        total_2 += tl.where(inside, dual, 0.0)
        total_3 += signed
        total_4 += scale
        total_5 += t
        total_6 += by_mu
        # T is contiguous.
        to = T + lane * n + i
        tl.store(to, signed, mask=there)
        tl.store(to + t_stride, t, mask=there)
        tl.store(to + 2 * t_stride, by_mu, mask=there)
    store_sums(parts, (total_0, total_1, total_2, total_3, total_4, total_5, total_6))


@triton.jit
def _affine(
    a_, v_, r_, xi_, g_, scale_, ra_, rv_, da_, along_, y_, c_, parts, n, lane_stride, y_stride,
    c_lane, c_row, margins, m_stride, shift_, T, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    shift = tl.load(shift_ + lane)
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    most_0, most_1, total_0, total_1, total_2, total_3 = zero, zero, zero, zero, zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, y_stride, ENTRIES)
        at = lane * lane_stride + i
        along = y * (tl.load(margins + lane * m_stride + i, mask=there, other=0.0) + shift)
        a, v, r, xi, g, scale = variables_of(a_, v_, r_, xi_, g_, scale_, at, there)
        da = scale * (losses.pull(g, xi, LOSS) - along)
        by_a = da / a
        by_v = da / v
        dr = tl.where(inside, -r * (1.0 + by_a), 0.0)
        most_0 = tl.maximum(most_0, tl.where(inside, 1.0 + by_a, 0.0))
        most_1 = tl.maximum(most_1, -by_a)
        sum_0, sum_1, sum_2, rv, t, most_0, most_1 = losses.affine(
            y, a, v, r, xi, scale, da, dr, by_a, by_v, inside, most_0, most_1, LOSS
        )
        total_0 += sum_0
        total_1 += sum_1
        total_2 += sum_2
        total_3 += t
        tl.store(ra_ + at, tl.where(inside, -a * r - da * dr, 0.0), mask=there)
        tl.store(rv_ + at, rv, mask=there)
        tl.store(T + lane * n + i, t, mask=there)
    store_most(parts, most_0, most_1)
    store_sums(parts, (total_0, total_1, total_2, total_3), 2)


@triton.jit
def _direction(
    a_, v_, r_, xi_, g_, scale_, ra_, rv_, da_, along_, y_, c_, parts, n, lane_stride, y_stride,
    c_lane, c_row, share_, mu_, margins, m_stride, shift_, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    mu = tl.load(mu_ + lane)
    aim = tl.load(share_ + lane) * mu
    shift = tl.load(shift_ + lane)
    zero = tl.zeros((ENTRIES,), dtype=tl.float64)
    most_0, most_1 = zero, zero
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, y_stride, ENTRIES)
        at = lane * lane_stride + i
        along = y * (tl.load(margins + lane * m_stride + i, mask=there, other=0.0) + shift)
        a, v, r, xi, g, scale = variables_of(a_, v_, r_, xi_, g_, scale_, at, there)
        ra = tl.where(inside, tl.load(ra_ + at, mask=there, other=0.0) + aim, 0.0)
        by_a = 1.0 / a
        h = ra * by_a - (g + xi - r)
        da, rv = losses.direction(h, v, scale, along, rv_ + at, there, mu, inside, LOSS)
        most_0 = tl.maximum(most_0, (r * da - ra) / (a * r))
        most_0, most_1 = losses.falls(rv, v, xi, da, most_0, most_1, LOSS)
        most_1 = tl.maximum(most_1, -da * by_a)
        tl.store(ra_ + at, ra, mask=there)
        tl.store(rv_ + at, rv, mask=there)
        tl.store(da_ + at, da, mask=there)
        tl.store(along_ + at, along, mask=there)
    store_most(parts, most_0, most_1)


@triton.jit
def _correct(
    a_, v_, r_, xi_, g_, scale_, ra_, rv_, da_, along_, y_, c_, parts, n, lane_stride, y_stride,
    c_lane, c_row, other_ra, other_rv, share_, mu_, p_, q_, T, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    mu = tl.load(mu_ + lane)
    aim = tl.load(share_ + lane) * mu
    p = tl.load(p_ + lane)
    q = tl.load(q_ + lane)
    total = tl.zeros((ENTRIES,), dtype=tl.float64)
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, inside, y = rows_of(block, n, y_, y_stride, ENTRIES)
        at = lane * lane_stride + i
        a, v, r, xi, _, scale = variables_of(a_, v_, r_, xi_, g_, scale_, at, there)
        ra = tl.load(ra_ + at, mask=there, other=0.0)
        rv = tl.load(rv_ + at, mask=there, other=0.0)
        da = tl.load(da_ + at, mask=there, other=0.0)
        by_a = 1.0 / a
        ahead_r = r + p * (ra - r * da) * by_a
        more_a = tl.where(inside, losses.pulled((a + q * da) * ahead_r, aim), 0.0)
        more_v = losses.corrected(v, xi, rv, da, p, q, mu, inside, LOSS)
        t = y * scale * (more_a * by_a - more_v * (1.0 / v))
        total += t
        tl.store(other_ra + at, ra + more_a, mask=there)
        tl.store(other_rv + at, rv + more_v, mask=there)
        tl.store(T + lane * n + i, t, mask=there)
    store_sums(parts, (total,))


@triton.jit
def _slopes(
    margins, y_, c_, parts, n, lane_stride, y_stride, c_lane, c_row, b_, LOSS: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    lane = tl.program_id(1).to(tl.int64)
    b = tl.load(b_ + lane)
    total = tl.zeros((ENTRIES,), dtype=tl.float64)
    for block in range(tl.program_id(0), tl.cdiv(n, ENTRIES), tl.num_programs(0)):
        i, there, _, y = rows_of(block, n, y_, y_stride, ENTRIES)
        c = tl.load(c_ + lane * c_lane + i * c_row, mask=there, other=1.0)
        ahead = y - tl.load(margins + lane * lane_stride + i, mask=there, other=0.0) - b
        total -= tl.where(y * ahead > 0.0, losses.signed_slope(ahead, y, c, LOSS), 0.0)
    store_sums(parts, (total,))
