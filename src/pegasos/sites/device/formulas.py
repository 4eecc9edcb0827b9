"""What each pass of the solvers, and a certificate, does to the rows, for any number of lanes.

The equations of the interior point method are those of the core's ``interior_rows.hpp``. Everything
is (lanes, rows), float64; only factors of rows, which sums are made with next, come as numbers of a
``kind``. ``margins`` are the products with the rows along a direction, ``shift`` what its intercept
adds.
Rows that are not in a lane have y = 0; their variables are 1 and never change.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.losses import Falls, Loss

_PULL = 10.0  # products are pulled into [aim / 10, 10 aim]
_SUMMED = 4096  # rows that are added up first: so many roundings, and as many as there are such


class Row(NamedTuple):
    """The variables of rows: duals a and v = c - a, slacks r and xi, g = margin - 1, and D."""

    a: Tensor
    v: Tensor
    r: Tensor
    xi: Tensor
    g: Tensor
    scale: Tensor


class Direction(NamedTuple):
    """Targets and the direction that belongs to them; ``along`` are its products with the rows."""

    ra: Tensor
    rv: Tensor
    da: Tensor
    along: Tensor


class Fixed(NamedTuple):
    """What does not change: labels, costs (1 where the row is not in the lane), and the loss."""

    y: Tensor
    c: Tensor
    loss: Loss

    def of(self, some: Any) -> Fixed:
        """Of some rows, or of one lane."""
        return Fixed(self.y[some], self.c[some], self.loss)


def formulas_for(tensor: Tensor, part: str) -> Any:
    """The arithmetic of rows: kernels of a part where they can run, else this module."""
    return kernels.module(part) if kernels.enabled(tensor) else sys.modules[__name__]


def point(
    row: Row, now: Direction, fixed: Fixed, share: Tensor, step: Tensor, kind: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Step, in place; (3, K, n) the factors of x in three sums, and (7, K) sums over rows."""
    y, c, loss = fixed
    inside = y != 0
    row.g.add_(step * now.along)
    row.r.add_(step * (now.ra - row.r * now.da) / row.a)
    row.a.add_(step * now.da)
    loss.step(row, now, c, step, inside)
    a, v, r, xi, g, _ = row
    inverse = torch.where(inside, 1 / (r * v + xi * a), 0.0)
    row.scale.copy_(a * v * inverse)
    signed = a * y
    residual, by_share, product, worth = loss.point(row, share)
    t = -y * row.scale * residual
    by_mu = y * inverse * by_share
    sums = [
        torch.where(inside, product, 0.0),
        torch.where(inside & ~(g >= 0), loss.value(-g, c), 0.0),
        torch.where(inside, worth, 0.0),
        signed,
        row.scale,
        t,
        by_mu,
    ]
    factors = torch.stack([signed, t, by_mu]).to(kind)
    return factors, torch.stack([part.sum(1) for part in sums])


def affine(
    row: Row, now: Direction, fixed: Fixed, margins: Tensor, shift: Tensor, kind: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Set the targets, but for mu; (K, n) the factors of x, (2, K) steps and (4, K) sums."""
    y, _, loss = fixed
    inside = y != 0
    a, v, r, xi, g, scale = row
    da = scale * (loss.pull(g, xi) - y * (margins + shift))
    by_a, by_v = da / a, da / v
    dr = torch.where(inside, -r * (1 + by_a), 0.0)
    now.ra.copy_(torch.where(inside, -a * r - da * dr, 0.0))
    rv, turn, falls, sums = loss.affine(row, da, dr, by_a, by_v, inside)
    now.rv.copy_(rv)
    t = -y * scale * turn
    found = torch.stack([part.sum(1) for part in (*sums, t)])
    return t.to(kind), _steps(((-dr / r, -by_a), *falls)), found


def direction(
    row: Row, to: Direction, fixed: Fixed, share: Tensor, mu: Tensor, margins: Tensor, shift: Tensor
) -> Tensor:
    """Add mu, or its share, to the targets, fill in the direction; (2, K) the largest steps."""
    y, _, loss = fixed
    inside = y != 0
    a, v, r, xi, g, scale = row
    to.ra.copy_(torch.where(inside, to.ra + share * mu, 0.0))
    to.rv.copy_(loss.target(to.rv, mu, inside))
    h = to.ra / a - to.rv / v - (g + xi - r)
    to.along.copy_(y * (margins + shift))
    to.da.copy_(scale * (h - to.along))
    falls = (r * to.da - to.ra) / (a * r), -to.da / a
    return _steps((falls, *loss.falls(row, to)))


def correct(
    row: Row, now: Direction, other: Direction, fixed: Fixed, share: Tensor, mu: Tensor, p: Tensor,
    q: Tensor, kind: torch.dtype,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Set the other targets; (K, n) the factors of x, and (K,) their sum."""
    y, _, loss = fixed
    inside = y != 0
    a, v, r, xi, _, scale = row
    ahead_r = r + p * (now.ra - r * now.da) / a
    more_a = torch.where(inside, _pulled((a + q * now.da) * ahead_r, share * mu), 0.0)
    more_v = torch.zeros_like(a)
    if loss.bounded:
        ahead_xi = xi + p * (now.rv + xi * now.da) / v
        more_v = torch.where(inside, _pulled((v - q * now.da) * ahead_xi, mu), 0.0)
    other.ra.copy_(now.ra + more_a)
    other.rv.copy_(now.rv + more_v)
    t = y * scale * (more_a / a - more_v / v)
    return t.to(kind), t.sum(1)


def trial(row: Row, now: Direction, fixed: Fixed, factors: Tensor) -> Tensor:
    """(factors + 2, K) hinge losses so far along the direction, and how either class's margins do.

    Once in a run, so that there is no kernel for it.
    """
    y, c, _ = fixed
    inside = torch.where(y != 0, c, 0.0)
    losses = [(inside * (-row.g - t * now.along).clamp(min=0.0)).sum(1) for t in factors]
    classes = [torch.where(which, c * now.along, 0.0).sum(1) for which in (y > 0, y < 0)]
    return torch.stack(losses + classes)


def smoothed_point(
    slack: Tensor, along: Tensor, norms: Tensor, fixed: Fixed, step: float, before: float,
    width: float, reach: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Step, in place; (n,) changes of a y, curvatures, and (6,) sums; see ``newton_rows.hpp``.

    ``along`` are the products of the rows with the direction. The last sums are the number of rows
    that are within ``reach`` of the kink, and curvatures x norms.
    """
    y, c, loss = fixed
    inside = y != 0
    old = loss.rounded_dual(slack, c, before) if before > 0 else 0 * slack
    slack.sub_(step * (y * along))
    a = loss.rounded_dual(slack, c, width)
    curved, dual = loss.rounded_slope(slack, c, width), loss.worth(a, c)
    lost = torch.where(slack <= 0, 0.0, loss.value(slack, c))
    rounded = lost - dual + a * (1 - slack)
    within = (slack.abs() < reach).double()
    sums = lost, dual, rounded, a * y, within, curved * norms
    parts = [torch.where(inside, part, 0.0).sum() for part in sums]
    return y * (a - old), torch.where(inside, curved, 0.0), torch.stack(parts)


def smoothed_line(slack: Tensor, along: Tensor, fixed: Fixed, step: float, width: float) -> Tensor:
    """(4,) the slope and the curvature of the smoothed losses at a step; the slope at 0.

    The last is the mean square of what slacks change by along the direction.
    """
    y, c, loss = fixed
    change = -(y * along)
    ahead = slack + step * change
    slope = loss.rounded_dual(ahead, c, width) * change
    curved = loss.rounded_slope(ahead, c, width)
    first = loss.rounded_dual(slack, c, width) * change
    parts = slope, curved * change * change, first, change * change / len(slack)
    return torch.stack([torch.where(y != 0, part, 0.0).sum() for part in parts])


def slopes(margins: Tensor, fixed: Fixed, b: Tensor) -> Tensor:
    """(K,) the derivatives of the losses by the intercept, at b."""
    y, c, loss = fixed
    ahead = y - margins - b[:, None]  # y times the slack
    return -torch.where(y * ahead > 0, loss.signed_slope(ahead, y, c), 0.0).sum(1)


def gap_sums(margins: Tensor, a: Tensor, norms: Tensor, fixed: Fixed) -> tuple[Tensor, float]:
    """(10, K) the sums of ``certify.SUMS``, and how many numbers are added after one another."""
    y, c, loss = fixed
    inside = y != 0
    norm = norms.sqrt()
    slack = 1 - y * margins
    slope = loss.slope(slack, c, inside)
    up = torch.where(y > 0, a, 0.0)
    down = torch.where(y < 0, a, 0.0)
    sums = [
        torch.where(inside & ~(slack <= 0), loss.value(slack, c), 0.0),
        up,
        down,
        loss.square(up, c),
        loss.square(down, c),
        slope,
        slope * norm,
        torch.where(inside, c * norm, 0.0),
        a * norm,
        (a != 0).double(),
    ]
    return torch.stack([_total(each) for each in sums]), _SUMMED + a.shape[1] / _SUMMED + 1


def _total(values: Tensor) -> Tensor:
    """(K,) sums: of few thousand at first, then of those, so that the roundings can be counted."""
    K, n = values.shape
    whole = n // _SUMMED * _SUMMED
    parts = values[:, :whole].reshape(K, -1, _SUMMED).sum(2)
    return parts.sum(1) + values[:, whole:].sum(1)


def _pulled(product: Tensor, aim: Tensor) -> Tensor:
    """How far to pull a product towards [low, high], by at most ``high`` at once."""
    low, high = aim / _PULL, aim * _PULL
    inside = torch.minimum(torch.maximum(product, low), high)
    return torch.maximum(inside - product, -high)


def _steps(falls: Falls) -> Tensor:
    """(2, K): the steps in (0, 1] that the largest relative falls allow."""
    most = [torch.stack([fall.amax(1) for fall in of]).amax(0) for of in zip(*falls, strict=True)]
    return torch.stack([1 / each.clamp(min=1.0) for each in most])
