"""Certificates of models whose rows are on a device: the sums of ``GapSums``, all in float64.

A free intercept is the best for the given products: the loss is convex in b, its slope piecewise
linear. A row's loss has its kink at b = y - w.x. The slope is bisected over all rows until few
kinks are left between the ends; those are sorted, and the place where the slope changes sign is
computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.certificate import GapSums
from pegasos.sites.device.arrays import host, sent
from pegasos.sites.device.formulas import Fixed, formulas_for
from pegasos.sites.device.lanes import Read, fixed_of, lanes_of, rows_of
from pegasos.sites.device.products import products_and_sums
from pegasos.sites.method import Floats

if TYPE_CHECKING:
    from pegasos.problem import Problem

SUMS = (
    "loss", "dual_positive", "dual_negative", "square_positive", "square_negative", "slope",
    "slope_norm", "cost_norm", "dual_norm", "support",
)  # fmt: skip
"""Of ``formulas.gap_sums``, by their names in ``_core.GAP_SUMS``."""

_HALVINGS = 12  # over all rows, in search of b


def gap_sums(
    problem: Problem, W: Floats, duals: Tensor, read: Read | None = None
) -> tuple[GapSums, Floats]:
    """The sums for W, padded as in ``Problem.weights_shape``, and (K, n) duals; its b.

    Duals of rows that are not in a lane are 0. ``read``: what is known of the rows already.
    """
    K, free = problem.lanes, problem.intercept == "free"
    device = lanes_of(problem).device
    margins, sums = _read(problem, W, duals) if read is None else read
    if free:
        b = best_intercepts(problem, margins)
    else:
        b = problem.bias * W[-1, :K]
    total = _sums(problem, margins + sent(b, device)[:, None], duals)
    U_positive, U_negative = _padded(problem, sums[:K]), None
    if free:
        U_negative = _padded(problem, sums[K:])
    else:
        signed = total[:, _at("dual_positive")] - total[:, _at("dual_negative")]
        U_positive[-1, :K] = problem.bias * signed
    return GapSums(total, U_positive, U_negative), b


def _read(problem: Problem, W: Floats, duals: Tensor) -> Read:
    """The margins of W, and the sums of the duals."""
    every = lanes_of(problem).y
    weights = sent(W[:-1, : problem.lanes].T, every.device).contiguous()
    margins = torch.empty(every.shape, dtype=torch.float64, device=every.device)
    total: Tensor | None = None
    for lo, hi, X in rows_of(problem).visit():
        here, y = duals[:, lo:hi], every[:, lo:hi]
        if problem.intercept == "free":
            factors = torch.cat([torch.where(y > 0, here, 0.0), torch.where(y < 0, here, 0.0)])
        else:
            factors = here * y
        margins[:, lo:hi], found = products_and_sums(X, weights, factors)
        total = found if total is None else total + found
    return Read(margins, cast(Tensor, total))


def _sums(problem: Problem, margins: Tensor, duals: Tensor) -> Floats:
    """(K, 15): the sums over rows of ``_core.GAP_SUMS``. Offsets are 1: those beyond it are 0."""
    look = formulas_for(margins, "certify").gap_sums
    sums, added = look(margins, duals, rows_of(problem).norms, fixed_of(problem))
    columns = dict(zip(SUMS, sums, strict=True)) | {"blocks": torch.full_like(sums[0], added)}
    nothing = torch.zeros_like(sums[0])
    found = torch.stack([columns.get(name, nothing) for name in _core.GAP_SUMS], dim=1)
    return host(found)


def _padded(problem: Problem, U: Tensor) -> Floats:
    out = np.zeros(problem.weights_shape)
    out[:-1, : problem.lanes] = U.T.cpu().numpy()
    return out


def _at(name: str) -> int:
    return int(_core.GAP_SUMS.index(name))


def best_intercepts(problem: Problem, margins: Tensor) -> Floats:
    """(K,) the b that minimise the losses of w.x + b, to the last digits of the kinks."""
    fixed = fixed_of(problem)
    inside = fixed.y != 0
    slopes = formulas_for(margins, "interior").slopes
    kinks = fixed.y - margins
    low = torch.where(inside, kinks, torch.inf).amin(1)
    high = torch.where(inside, kinks, -torch.inf).amax(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = slopes(margins, fixed, middle) > 0
        low, high = torch.where(rising, low, middle), torch.where(rising, middle, high)
    at_low = slopes(margins, fixed, low)
    between = inside & (kinks > low[:, None]) & (kinks <= high[:, None])
    found = torch.stack(
        [
            _between(kinks[k], fixed.of(k), between[k], low[k], high[k], at_low[k])
            for k in range(problem.lanes)
        ]
    )  # fmt: skip
    return np.ascontiguousarray(found.cpu().numpy())


def _between(
    kinks: Tensor, fixed: Fixed, some: Tensor, low: Tensor, high: Tensor, at_low: Tensor
) -> Tensor:
    """The best b of one lane in [low, high], where ``some`` rows have their kinks."""
    rows = some.nonzero().squeeze(1)
    places, order = kinks[rows].sort()
    rows = rows[order]
    c = fixed.c[rows]
    if not fixed.loss.curved:
        # Every kink raises the slope by c; right of low, those of y = -1 at low have done so, too.
        begun = torch.where((kinks == low) & (fixed.y < 0), fixed.c, 0.0).sum()
        slopes = at_low + begun + torch.cat([0 * low[None], c.cumsum(0)])
        ends = torch.cat([low[None], places, high[None]])
        return ends[torch.count_nonzero(slopes < 0)]
    # Rows that lose add their curvature to that of all: those of y = -1 from their kink on, those
    # of y = +1 up to it. All other rows that lose at low do so up to high.
    steep = _curvature(kinks, fixed, low)
    turns = torch.cat([steep[None], -fixed.loss.curvature(c) * fixed.y[rows]]).cumsum(0)
    knots = torch.cat([low[None], places, high[None]])
    slopes = at_low + torch.cat([0 * low[None], (turns * knots.diff()).cumsum(0)])
    last = torch.count_nonzero(slopes[1:-1] < 0)  # the knot before the change of sign
    b = knots[last] - slopes[last] / turns[last].clamp(min=torch.finfo(torch.float64).tiny)
    return torch.minimum(torch.maximum(b, knots[last]), knots[last + 1])


def _curvature(kinks: Tensor, fixed: Fixed, b: Tensor) -> Tensor:
    """The derivative of a curved loss's slope right of b."""
    y, c, loss = fixed
    loses = ((y > 0) & (kinks > b)) | ((y < 0) & (kinks <= b))
    return torch.where(loses, loss.curvature(c), 0.0).sum()
