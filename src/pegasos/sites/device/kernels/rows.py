"""Products with rows, sums of rows, and rows that are rounded."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from triton import language as tl

from pegasos.sites.device.kernels.launch import programs

_TILE, _WARPS = 4096, 4  # values of X, and warps that share them; by far the best for most
_TWO_SUMS = 2048, 8  # for two sums at once, where those would spill
_BOTH = {1: 2048, 2: 4096}  # for products and so many sums at once


def products(X: Tensor, W: Tensor, out: Tensor) -> None:
    """Fill in (1, n) w.x for one lane."""
    _each(X, W.double().contiguous(), out)


def squared_norms(X: Tensor) -> Tensor:
    """(n,): |x|^2."""
    out = torch.empty(len(X), dtype=torch.float64, device=X.device)
    _each(X, None, out)
    return out


def _each(X: Tensor, w: Tensor | None, out: Tensor) -> None:
    """Fill in the product of each row with w, or with itself."""
    n, d = X.shape
    width, rows = tile_of(d)
    tiles = 8
    _products[(triton.cdiv(n, rows * tiles),)](
        X, out if w is None else w, out, n, X.stride(0), d, width, rows, tiles, w is None,
        num_warps=_WARPS,
    )  # fmt: skip


def products_and_sums(X: Tensor, W: Tensor, T: Tensor) -> tuple[Tensor, Tensor]:
    """(1, n) w.x for one lane and (L, d) the sums of t x, L at most 2, from rows read once."""
    out = torch.empty((1, len(X)), dtype=torch.float64, device=X.device)
    tile = _BOTH[len(T)], _WARPS
    return out, _added_up(_sums, X, T, tile, w=W.double().contiguous(), out=out)


def sums(X: Tensor, T: Tensor, some: Tensor | None = None, sparse: bool = False) -> Tensor:
    """(L, d): the sums of t x for at most ``MOST_SUMS`` factors (L, n), or of some of the rows.

    ``sparse``: many factors are 0, and their rows are not read; of one sum only.
    """
    tile = _TWO_SUMS if len(T) == 2 else (_TILE, _WARPS)
    kernel = _sums if some is None else _sums_of_some
    return _added_up(kernel, X, T, tile, some=some, sparse=sparse)


def _added_up(
    kernel: Any, X: Tensor, T: Tensor, tile: tuple[int, int], *, some: Tensor | None = None,
    sparse: bool = False, w: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(L, d) sums of t x; with w, the products of the rows with it on the way."""
    n, d, L = len(X) if some is None else len(some), X.shape[1], len(T)
    T = T.double()
    if T.stride(1) != 1:
        T = T.contiguous()
    width, rows = tile_of(d, tile[0])
    count = min(programs(X), triton.cdiv(n, rows))
    parts = torch.empty((count, L, width), dtype=torch.float64, device=X.device)
    unused = parts
    kernel[(count,)](
        X, T, parts, unused if some is None else some, unused if w is None else w,
        unused if out is None else out, n, X.stride(0), T.stride(0), d, width, rows, L,
        some is not None, sparse, w is not None, num_warps=tile[1],
    )  # fmt: skip
    return parts.sum(0)[:, :d]


def scaled(X: Tensor, root: Tensor, rows: Tensor | None, doubled: bool) -> Tensor:
    """Some rows of X (all, if None) times root in bfloat16; beside them what that leaves."""
    m, d = len(root), X.shape[1]
    out = torch.empty((m, 2 * d if doubled else d), dtype=torch.bfloat16, device=X.device)
    width, height = tile_of(d)
    _scaled[(triton.cdiv(m, height),)](
        X, root, out if rows is None else rows, out, m, X.stride(0), d, width, height,
        rows is not None, doubled, num_warps=_WARPS,
    )  # fmt: skip
    return out


def tile_of(d: int, values: int = _TILE) -> tuple[int, int]:
    """Columns and rows of a tile."""
    width = triton.next_power_of_2(d)
    return width, max(1, values // width)


@triton.jit
def _products(
    X, w, out, n, stride, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    TILES: tl.constexpr, SQUARED: tl.constexpr,
):  # fmt: skip
    columns = tl.arange(0, WIDTH)
    there = columns < D
    if not SQUARED:
        weights = tl.load(w + columns, mask=there, other=0.0)
    for tile in range(TILES):
        rows = (tl.program_id(0).to(tl.int64) * TILES + tile) * ROWS + tl.arange(0, ROWS)
        inside = rows < n
        at = X + rows[:, None] * stride + columns[None, :]
        x = tl.load(at, mask=inside[:, None] & there[None, :], other=0.0).to(tl.float64)
        if SQUARED:
            found = tl.sum(x * x, axis=1)
        else:
            found = tl.sum(x * weights[None, :], axis=1)
        tl.store(out + rows, found, mask=inside)


def _added(
    X, T, parts, index, w, out, n, stride, t_stride, D: tl.constexpr, WIDTH: tl.constexpr,
    ROWS: tl.constexpr, L: tl.constexpr, SOME: tl.constexpr, SPARSE: tl.constexpr,
    PRODUCTS: tl.constexpr,
):  # fmt: skip
    columns = tl.arange(0, WIDTH)
    there = columns < D
    if PRODUCTS:
        weights = tl.load(w + columns, mask=there, other=0.0)
    first = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    if L > 1:
        second = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    if L > 2:
        third = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    for tile in range(tl.program_id(0), tl.cdiv(n, ROWS), tl.num_programs(0)):
        rows = tl.arange(0, ROWS).to(tl.int64) + tile * ROWS
        inside = rows < n
        if SOME:
            rows = tl.load(index + rows, mask=inside, other=0)
        if SPARSE:  # what is not a number is read
            inside = inside & (tl.load(T + rows, mask=inside, other=0.0) != 0.0)
        at = X + rows[:, None] * stride + columns[None, :]
        x = tl.load(at, mask=inside[:, None] & there[None, :], other=0.0).to(tl.float64)
        if PRODUCTS:
            tl.store(out + rows, tl.sum(x * weights[None, :], axis=1), mask=inside)
        first += x * tl.load(T + rows, mask=inside, other=0.0)[:, None]
        if L > 1:
            second += x * tl.load(T + t_stride + rows, mask=inside, other=0.0)[:, None]
        if L > 2:
            third += x * tl.load(T + 2 * t_stride + rows, mask=inside, other=0.0)[:, None]
    to = parts + tl.program_id(0) * L * WIDTH + columns
    tl.store(to, tl.sum(first, axis=0))
    if L > 1:
        tl.store(to + WIDTH, tl.sum(second, axis=0))
    if L > 2:
        tl.store(to + 2 * WIDTH, tl.sum(third, axis=0))


_sums = triton.jit(_added)
# The number of some rows is no reason to compile anew: it is another one every time.
_sums_of_some = triton.jit(do_not_specialize=["n"])(_added)


@triton.jit(do_not_specialize=["m"])
def _scaled(
    X, root, index, out, m, stride, D: tl.constexpr, WIDTH: tl.constexpr,
    ROWS: tl.constexpr, SOME: tl.constexpr, DOUBLED: tl.constexpr,
):  # fmt: skip
    columns = tl.arange(0, WIDTH)
    to = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = to < m
    rows = tl.load(index + to, mask=inside, other=0) if SOME else to
    valid = inside[:, None] & (columns < D)[None, :]
    x = tl.load(X + rows[:, None] * stride + columns[None, :], mask=valid, other=0.0)
    scale = tl.load(root + to, mask=inside, other=0.0).to(tl.float32)
    z = x.to(tl.float32) * scale[:, None]
    rounded = z.to(tl.bfloat16)
    at = out + to[:, None] * (2 * D if DOUBLED else D) + columns[None, :]
    tl.store(at, rounded, mask=valid)
    if DOUBLED:
        tl.store(at + D, (z - rounded.to(tl.float32)).to(tl.bfloat16), mask=valid)
