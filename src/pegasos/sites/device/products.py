"""Products with a block of rows, and sums of rows, for any number of lanes.

Three ways, of which the first that can is taken: kernels that read float16, bfloat16 or float32
rows once and add in float64 (one lane, on a GPU); float32 matrix products, whose sums over many
rows are taken in float64 (several lanes, on a GPU); float64 matrix products on a copy, a piece at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.csr import CsrRows

AnyRows: TypeAlias = Tensor | CsrRows
"""Rows of a block."""

_PIECE_VALUES = 1 << 25  # values of X that are converted at a time
_SUMMED = 8192  # rows that are added up in the type of the product


def products(X: AnyRows, W: Tensor, *, exact: bool, out: Tensor | None = None) -> Tensor:
    """(K, n) float64: w.x for weights (K, d); ``exact`` adds in float64."""
    if out is None:
        out = torch.empty((W.shape[0], X.shape[0]), dtype=torch.float64, device=X.device)
    if isinstance(X, CsrRows):
        return out.copy_(X.products(W.to(_kind(X, exact))))
    if kernels.serve(X) and W.shape[0] == 1:
        kernels.module("rows").products(X, W, out)
        return out
    kind = _kind(X, exact)
    weights = W.to(kind)
    with full_float32():
        for lo, piece in pieces(X, kind):
            out[:, lo : lo + len(piece)] = weights @ piece.T
    return out


def products_and_sums(X: AnyRows, W: Tensor, T: Tensor) -> tuple[Tensor, Tensor]:
    """The exact products with weights (K, d), and the exact sums of factors (L, n)."""
    few = W.shape[0] == 1 and T.shape[0] <= 2
    if few and not isinstance(X, CsrRows) and kernels.serve(X):
        found: tuple[Tensor, Tensor] = kernels.module("rows").products_and_sums(X, W, T)
        return found
    return products(X, W, exact=True), sums(X, T, exact=True)


def squared_norms(X: AnyRows) -> Tensor:
    """(n,) float64: |x|^2."""
    if isinstance(X, CsrRows):
        return X.squared_norms()
    if kernels.serve(X):
        return kernels.module("rows").squared_norms(X)
    return torch.cat([(piece * piece).sum(1) for _, piece in pieces(X, torch.float64)])


def kind_of_sums(X: AnyRows, count: int, *, exact: bool) -> torch.dtype:
    """What numbers the factors of so many sums are best made of."""
    if isinstance(X, CsrRows) or (kernels.serve(X) and count <= kernels.MOST_SUMS):
        return torch.float64
    return _kind(X, exact)


def sums(X: AnyRows, T: Tensor, *, exact: bool, some: Tensor | None = None) -> Tensor:
    """(L, d) float64: the sums of t x for factors (L, n); of ``some`` rows only, by their numbers.

    T has the factors of all rows, whichever are looked at.
    """
    if not isinstance(X, CsrRows) and kernels.serve(X) and T.shape[0] <= kernels.MOST_SUMS:
        return kernels.module("rows").sums(X, T, some)
    if some is not None:
        X, T = X[some], T[:, some]
    if isinstance(X, CsrRows):
        return X.sums(T.double())
    kind = _kind(X, exact)
    total = torch.zeros((T.shape[0], X.shape[1]), dtype=torch.float64, device=X.device)
    with full_float32():
        for lo, piece in pieces(X, kind):
            total += _summed(T[:, lo : lo + len(piece)].to(kind), piece)
    return total


def _summed(T: Tensor, X: Tensor) -> Tensor:
    """T @ X, a few thousand rows at a time, and the rest in float64."""
    L, n = T.shape
    whole = n // _SUMMED * _SUMMED
    total = (T[:, whole:] @ X[whole:]).double()
    if whole:
        left = T[:, :whole].reshape(L, -1, _SUMMED).transpose(0, 1)
        right = X[:whole].reshape(-1, _SUMMED, X.shape[1])
        total += torch.bmm(left, right).sum(0, dtype=torch.float64)
    return total


def pieces(X: Tensor, kind: torch.dtype) -> Iterator[tuple[int, Tensor]]:
    """X as numbers of a kind: as it is, or converted a piece at a time."""
    if X.dtype == kind and X.is_cuda:
        yield 0, X
        return
    step = max(1, _PIECE_VALUES // max(1, X.shape[1]))
    for lo in range(0, X.shape[0], step):
        yield lo, X[lo : lo + step].to(kind)


def _kind(X: AnyRows, exact: bool) -> torch.dtype:
    """The numbers to multiply: on a CPU float64 costs little, and is exact there."""
    return torch.float64 if exact or not X.is_cuda or X.dtype == torch.float64 else torch.float32


@contextmanager
def full_float32() -> Iterator[None]:
    """Products of float32 are of float32, whatever was allowed before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
