"""Rows drawn by their mass, and products of rounded rows put together to a matrix."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

_ENTRIES, _SIDE = 1024, 32


def drawn(
    scale: Tensor, norms: Tensor, total: Tensor, draws: Tensor, ticks: float, tiny: float
) -> tuple[Tensor, Tensor]:
    """As of ``gram``."""
    n, rows = len(scale), len(draws)
    counts = torch.empty(n, dtype=torch.int64, device=scale.device)
    _counted[(triton.cdiv(n, _ENTRIES),)](
        scale, norms, total, counts, n, ticks, tiny, _ENTRIES, num_warps=4
    )
    ends = counts.cumsum(0)
    some, weights = (
        torch.empty(rows, dtype=torch.int64, device=scale.device),
        torch.empty_like(draws),
    )
    _found[(triton.cdiv(rows, _ENTRIES),)](
        ends, draws, norms, total, some, weights, n, rows, tiny, _ENTRIES, num_warps=4
    )
    return some, weights


def add_products(parts: Tensor, out: Tensor) -> None:
    """Add to out the sums of (B, d, 2 d) products of high with high and low, as ``gram`` does."""
    B, d, _ = parts.shape
    side = triton.cdiv(d, _SIDE)
    _added[(side, side)](parts, out, d, out.stride(0), B, _SIDE, num_warps=4)


@triton.jit(do_not_specialize=["n"])
def _counted(scale, norms, total, counts, n, TICKS: tl.constexpr, TINY: tl.constexpr,
             ENTRIES: tl.constexpr):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * ENTRIES + tl.arange(0, ENTRIES)
    there = i < n
    mass = tl.load(scale + i, mask=there, other=0.0) * tl.load(norms + i, mask=there, other=0.0)
    each = TICKS / tl.maximum(tl.load(total), TINY)
    tl.store(counts + i, (mass * each).to(tl.int64), mask=there)


@triton.jit(do_not_specialize=["n"])
def _found(ends, draws, norms, total, some, weights, n, rows, TINY: tl.constexpr,
           ENTRIES: tl.constexpr):  # fmt: skip
    i = tl.program_id(0) * ENTRIES + tl.arange(0, ENTRIES)
    there = i < rows
    last = tl.load(ends + n - 1)
    at = (i.to(tl.float64) + tl.load(draws + i, mask=there, other=0.0)) * (
        last.to(tl.float64) / rows
    )
    mark = tl.minimum(at.to(tl.int64), last - 1)
    low, high = tl.zeros((ENTRIES,), dtype=tl.int64), tl.zeros((ENTRIES,), dtype=tl.int64) + (n - 1)
    for _ in range(40):  # the first row that ends beyond the mark
        middle = (low + high) // 2
        beyond = tl.load(ends + middle) > mark
        high = tl.where(beyond, middle, high)
        low = tl.where(beyond, low, tl.minimum(middle + 1, high))
    norm = tl.load(norms + low)
    tl.store(some + i, low, mask=there)
    tl.store(weights + i, tl.load(total) / rows / tl.maximum(norm, TINY), mask=there)


@triton.jit
def _added(parts, out, d, stride, B, SIDE: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    there = (rows < d)[:, None] & (columns < d)[None, :]
    total = tl.zeros((SIDE, SIDE), dtype=tl.float64)
    for b in range(B):
        of = parts + b * 2 * d * d
        here = of + rows[:, None] * 2 * d + columns[None, :]
        across = of + columns[None, :] * 2 * d + d + rows[:, None]
        total += tl.load(here, mask=there, other=0.0).to(tl.float64)
        total += tl.load(here + d, mask=there, other=0.0).to(tl.float64)
        total += tl.load(across, mask=there, other=0.0).to(tl.float64)
    to = out + rows[:, None] * stride + columns[None, :]
    tl.store(to, tl.load(to, mask=there, other=0.0) + total, mask=there)
