"""Matrices sum D x x' of many lanes, in a precision that is just enough.

The matrix only steers: residuals are exact, and what the matrix errs is mended by the next step.
So it is a sample's at first: rows are drawn with probabilities in proportion to D |x|^2, at most 1,
and weigh the more the less likely they were, so that the heavy ones are all there (``sampled``, for
several lanes), or as often as they weigh (``drawn``, for one). On a GPU the rows times the roots of
D are rounded to sums of two bfloat16 numbers (one is too coarse where few rows weigh far more than
the rest, as they do near the optimum). Where that does not do, nothing is rounded, then there are
more rows, and then all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.products import AnyRows


@dataclass(frozen=True)
class Precision:
    """How exact a matrix is."""

    rows: float = math.inf  # of the sample, for every feature
    parts: int = 0  # bfloat16 numbers that make up a value; 0: nothing is rounded


LEVELS = (Precision(128, 2), Precision(128), Precision(1024), Precision())
"""From what is nearly always enough to all there is."""

_ROUNDS = 4  # that find the limit above which rows are all there
_PIECE_VALUES = 1 << 27
_SUMMED = 8192  # rows that are added up in float32
_FEW = 0.7  # share of rows below which those that count are gathered
_TICKS = 2.0**52  # that all rows weigh together, where they are counted
_TINY = 1e-290  # by which the ticks can be divided


def sampled(scale: Tensor, norms: Tensor, rows: float, draws: Tensor) -> Tensor:
    """(K, n) scales of about so many rows of each lane, the others 0; draws are in [0, 1)."""
    if rows >= scale.shape[1] / 2:
        return scale
    mass = scale * norms
    # Rows above the limit are all there; below it they share what is left by their mass.
    limit = mass.sum(1, keepdim=True) / rows
    for _ in range(_ROUNDS):
        above = mass >= limit
        left = torch.where(above, 0.0, mass).sum(1, keepdim=True)
        limit = left / (rows - above.sum(1, keepdim=True)).clamp(min=rows / 2)
    likely = (mass / limit).clamp(max=1.0)
    return torch.where(draws < likely, scale / likely, 0.0)


def drawn(scale: Tensor, norms: Tensor, total: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of as many rows of one lane as draws in [0, 1), in order, and their scales.

    One from each stretch of the same mass, heavy rows as often as they have such: as good as
    ``sampled``, and nothing is asked of the device. ``total`` is the sum of scale x norms. Masses
    are added up as integers, whose sums do not depend on the order.
    """
    rows = len(draws)
    if kernels.enabled(scale):
        found: tuple[Tensor, Tensor] = kernels.module("gram").drawn(
            scale, norms, total, draws, _TICKS, _TINY
        )
        return found
    mass = scale * norms
    ends = (mass * (_TICKS / total.clamp(min=_TINY))).to(torch.int64).cumsum(0)
    at = (torch.arange(rows, device=mass.device) + draws) * (ends[-1].double() / rows)
    last = ends[-1] - 1  # of a row with mass, however the product was rounded
    some = torch.searchsorted(ends, torch.minimum(at.to(torch.int64), last), right=True)
    return some, total / rows / norms[some].clamp(min=_TINY)


def add_gram(X: AnyRows, scales: Tensor, constant: float, parts: int, out: Tensor) -> None:
    """Add sum_i scales[k, i] z z', z = (x, constant), to out[k], of rows with scales > 0."""
    for scale, matrix in zip(scales, out, strict=True):
        counted = scale.nonzero().squeeze(1)
        few = len(counted) <= _FEW * len(X)
        some, own = (counted, scale[counted]) if few else (None, scale)
        add_some(X, some, own, constant, parts, matrix)


def add_some(
    X: AnyRows, some: Tensor | None, scale: Tensor, constant: float, parts: int, out: Tensor
) -> None:
    """Add sum scale z z', z = (x, constant), of some rows (all, if None) to out."""
    step = max(_SUMMED, _PIECE_VALUES // X.shape[1])  # rows that are gathered at a time
    for lo in range(0, len(scale), step):
        here = slice(lo, lo + step)
        rows, places = (X[here], None) if some is None else (X, some[here])
        _add(rows, scale[here].sqrt(), places, constant, parts if X.is_cuda else 0, out)


def _add(
    X: AnyRows, root: Tensor, rows: Tensor | None, constant: float, parts: int, out: Tensor
) -> None:
    """Add the rows (all, if None) times root."""
    if isinstance(X, CsrRows):
        X, rows = (X if rows is None else X[rows]).to_dense(), None
    matrix = out[:-1, :-1]
    if not parts:
        high = (X if rows is None else X[rows]).double() * root[:, None]
        matrix += high.T @ high
    else:
        both = scaled(X, root, rows, doubled=parts > 1)
        high = both[:, : X.shape[1]]
        for product in _products(high, both):
            _put_together(product, matrix)
    if constant:
        border = constant * _weighted(root, high)
        out[:-1, -1] += border
        out[-1, :-1] += border
        out[-1, -1] += constant**2 * (root * root).sum()


def _weighted(root: Tensor, Z: Tensor) -> Tensor:
    """The sum of root z; what rounding z does to it is as little as to the matrix."""
    if Z.dtype == torch.float64:
        return root @ Z
    return torch.mm(root.to(Z.dtype)[None], Z, out_dtype=torch.float32)[0].double()


def scaled(X: Tensor, root: Tensor, rows: Tensor | None, *, doubled: bool) -> Tensor:
    """Rows times root in bfloat16, and beside them, if doubled, what that leaves of them."""
    if kernels.serve(X):
        found: Tensor = kernels.module("rows").scaled(X, root, rows, doubled)
        return found
    z = (X if rows is None else X[rows]).float() * root.float()[:, None]
    high = z.bfloat16()
    return torch.cat([high, (z - high.float()).bfloat16()], dim=1) if doubled else high


def _products(left: Tensor, right: Tensor) -> Iterator[Tensor]:
    """(B, columns of left, of right) left' right in float32, of a few thousand rows each."""
    n = len(left)
    whole = n // _SUMMED * _SUMMED
    if whole:
        yield torch.bmm(
            left[:whole].view(-1, _SUMMED, left.shape[1]).transpose(1, 2),
            right[:whole].view(-1, _SUMMED, right.shape[1]),
            out_dtype=torch.float32,
        )
    if whole < n:
        yield torch.mm(left[whole:].T, right[whole:], out_dtype=torch.float32)[None]


def _put_together(parts: Tensor, out: Tensor) -> None:
    """Add the sums of products to out: of high with high, and with low and the other way round."""
    d = parts.shape[1]
    if parts.shape[2] > d and kernels.enabled(parts):
        kernels.module("gram").add_products(parts, out)
        return
    found = parts.sum(0, dtype=torch.float64)
    out += found[:, :d]
    if parts.shape[2] > d:
        out += found[:, d:]
        out += found[:, d:].T
