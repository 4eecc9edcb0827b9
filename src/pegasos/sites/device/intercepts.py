"""The best free intercept for given products: the loss is convex in b, its slope piecewise linear.

A row's loss has its kink at b = y - w.x. The slope is bisected over all rows until few kinks are
left between the ends; those are sorted, and the place where the slope changes sign is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device.formulas import Fixed, formulas_for
from pegasos.sites.device.lanes import fixed_of
from pegasos.sites.method import Floats

if TYPE_CHECKING:
    from pegasos.problem import Problem

_HALVINGS = 12  # over all rows


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
