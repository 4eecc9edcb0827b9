"""The losses on a device: in torch, as ``formulas`` asks for them, and in Triton, for its kernels.

Their names are those of ``pegasos.losses``. All is (lanes, rows), or the rows of one lane; who asks
leaves out the rows that are not in a lane. Of the interior point method a loss has what the upper
end of the box adds: the pair v, xi. Without an upper end, v = a and xi = kappa a stay in step with
the duals. The functions for Triton, below the classes, choose by ``code``. Kernels alone call them,
so Triton need not be there.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import torch
from torch import Tensor

from pegasos import _core

if TYPE_CHECKING:
    from pegasos.sites.device.formulas import Direction, Row

if importlib.util.find_spec("triton") is None:  # torch for a CPU comes without it
    jit: Any = staticmethod  # no kernel calls what it makes
    constexpr: Any = int
else:
    import triton
    from triton import language as tl

    jit, constexpr = triton.jit, tl.constexpr

Falls: TypeAlias = tuple[tuple[Tensor, Tensor], ...]
"""Relative falls of the variables of the primal and of the dual."""


class Loss(ABC):
    """A loss of rows with slacks m = 1 - y f and costs c."""

    code: ClassVar[int]
    """What kernels choose by."""
    curved: ClassVar[bool]
    """kappa > 0: the loss has no kink."""
    bounded: ClassVar[bool]
    """Whether the box has an upper end."""

    @abstractmethod
    def value(self, slack: Tensor, c: Tensor) -> Tensor:
        """phi(m) of rows that lose."""

    @abstractmethod
    def slope(self, slack: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        """phi'(m), a kink's from where rounding may have moved it; 0 outside. A NaN stays one."""

    @abstractmethod
    def signed_slope(self, ahead: Tensor, y: Tensor, c: Tensor) -> Tensor:
        """y phi'(m) of rows that lose, where ahead is y m."""

    @abstractmethod
    def curvature(self, c: Tensor) -> Tensor:
        """phi''(m) of rows that lose."""

    @abstractmethod
    def square(self, duals: Tensor, c: Tensor) -> Tensor:
        """kappa a^2 / 2, or what broadcasts to it."""

    @abstractmethod
    def worth(self, duals: Tensor, c: Tensor) -> Tensor:
        """g(a), the dual's part in D."""

    @abstractmethod
    def boxed(self, duals: Tensor, c: Tensor) -> Tensor:
        """Duals that are not negative, in the box."""

    @abstractmethod
    def rounded_dual(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        """phi'(m), a kink rounded off within ``width``."""

    @abstractmethod
    def rounded_slope(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        """The derivative of that."""

    @abstractmethod
    def room(self, a: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        """The v that starts with a; 1 outside."""

    @abstractmethod
    def step(self, row: Row, now: Direction, c: Tensor, step: Tensor, inside: Tensor) -> None:
        """Step with v and xi, after a."""

    @abstractmethod
    def point(self, row: Row, share: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The residual without r, its part by mu x D / a v, what mu is the mean of, and g(a)."""

    @abstractmethod
    def pull(self, g: Tensor, xi: Tensor) -> Tensor:
        """The residual of the affine direction."""

    @abstractmethod
    def affine(
        self, row: Row, da: Tensor, dr: Tensor, by_a: Tensor, by_v: Tensor, inside: Tensor
    ) -> tuple[Tensor, Tensor, Falls, list[Tensor]]:
        """The target of v xi, what turns the next residual, falls, and three sums of ``affine``."""

    @abstractmethod
    def target(self, rv: Tensor, mu: Tensor, inside: Tensor) -> Tensor:
        """The target of v xi with mu added."""

    @abstractmethod
    def falls(self, row: Row, to: Direction) -> Falls:
        """Of xi and v along a direction."""


class Hinge(Loss):
    """c max(0, m): duals are in [0, c]."""

    code, curved, bounded = 0, False, True

    def value(self, slack: Tensor, c: Tensor) -> Tensor:
        return c * slack

    def slope(self, slack: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        return torch.where(inside & ~(slack <= -_core.NEAR), c, 0.0)

    def signed_slope(self, ahead: Tensor, y: Tensor, c: Tensor) -> Tensor:
        return c * y

    def curvature(self, c: Tensor) -> Tensor:
        return torch.zeros_like(c)

    def square(self, duals: Tensor, c: Tensor) -> Tensor:
        return torch.zeros_like(duals[:, :1])

    def worth(self, duals: Tensor, c: Tensor) -> Tensor:
        return duals

    def boxed(self, duals: Tensor, c: Tensor) -> Tensor:
        return torch.minimum(duals, c)

    def rounded_dual(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        return c * (0.5 + slack * (0.5 / width)).clamp(0.0, 1.0)

    def rounded_slope(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        return (slack.abs() < width) * (c * (0.5 / width))

    def room(self, a: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        return torch.where(inside, c - a, 1.0)

    def step(self, row: Row, now: Direction, c: Tensor, step: Tensor, inside: Tensor) -> None:
        row.xi.add_(step * (now.rv + row.xi * now.da) / row.v)
        row.v.sub_(step * now.da)

    def point(self, row: Row, share: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a, v, r, xi, g, _ = row
        return g, share * v - a, a * r + v * xi, a

    def pull(self, g: Tensor, xi: Tensor) -> Tensor:
        return -g

    def affine(
        self, row: Row, da: Tensor, dr: Tensor, by_a: Tensor, by_v: Tensor, inside: Tensor
    ) -> tuple[Tensor, Tensor, Falls, list[Tensor]]:
        a, v, r, xi, _, _ = row
        dxi = torch.where(inside, xi * (by_v - 1), 0.0)
        rv = torch.where(inside, -v * xi + da * dxi, 0.0)
        sums = [a * dr + v * dxi, (r - xi) * da, da * (dr - dxi)]
        return rv, dr * by_a + dxi * by_v, ((-dxi / xi, by_v),), sums

    def target(self, rv: Tensor, mu: Tensor, inside: Tensor) -> Tensor:
        return torch.where(inside, rv + mu, 0.0)

    def falls(self, row: Row, to: Direction) -> Falls:
        return ((-(to.rv + row.xi * to.da) / (row.v * row.xi), to.da / row.v),)


class SquaredHinge(Loss):
    """c max(0, m)^2: duals have no upper bound."""

    code, curved, bounded = 1, True, False

    def value(self, slack: Tensor, c: Tensor) -> Tensor:
        return c * slack * slack

    def slope(self, slack: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        return torch.where(inside & ~(slack <= 0), 2 * c * slack, 0.0)

    def signed_slope(self, ahead: Tensor, y: Tensor, c: Tensor) -> Tensor:
        return 2 * c * ahead

    def curvature(self, c: Tensor) -> Tensor:
        return 2 * c

    def square(self, duals: Tensor, c: Tensor) -> Tensor:
        """a^2 / 4 c; a product of a with itself may overflow."""
        return duals / c * duals / 4

    def worth(self, duals: Tensor, c: Tensor) -> Tensor:
        return duals - duals * duals / (4 * c)

    def boxed(self, duals: Tensor, c: Tensor) -> Tensor:
        return duals

    def rounded_dual(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        return 2 * c * slack.clamp(min=0.0)

    def rounded_slope(self, slack: Tensor, c: Tensor, width: float) -> Tensor:
        return (slack > 0) * 2 * c

    def room(self, a: Tensor, c: Tensor, inside: Tensor) -> Tensor:
        return a

    def step(self, row: Row, now: Direction, c: Tensor, step: Tensor, inside: Tensor) -> None:
        row.v.copy_(row.a)
        row.xi.copy_(torch.where(inside, row.a / (2 * c), 1.0))

    def point(self, row: Row, share: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a, v, r, xi, g, _ = row
        return g + xi, share * v, a * r, a - a * xi / 2

    def pull(self, g: Tensor, xi: Tensor) -> Tensor:
        return -g - xi

    def affine(
        self, row: Row, da: Tensor, dr: Tensor, by_a: Tensor, by_v: Tensor, inside: Tensor
    ) -> tuple[Tensor, Tensor, Falls, list[Tensor]]:
        a, r = row.a, row.r
        return 0 * a, dr * by_a, (), [a * dr, r * da, da * dr]

    def target(self, rv: Tensor, mu: Tensor, inside: Tensor) -> Tensor:
        return torch.zeros_like(rv)

    def falls(self, row: Row, to: Direction) -> Falls:
        return ()


LOSSES: Mapping[str, Loss] = MappingProxyType({"hinge": Hinge(), "squared_hinge": SquaredHinge()})
"""By the names of ``pegasos.losses``."""


# In Triton, chosen by ``LOSS``, the code of a loss. The names are those of the methods above.
_SQUARED_HINGE = constexpr(SquaredHinge.code)


@jit
def value(slack, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        lost = c * slack * slack
    else:
        lost = c * slack
    return lost


@jit
def slope(slack, c, inside, lost, NEAR: tl.constexpr, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        here = tl.where(lost, 2.0 * c * slack, 0.0)
    else:
        here = tl.where(inside & ((slack > -NEAR) | (slack != slack)), c, 0.0)
    return here


@jit
def signed_slope(ahead, y, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = 2.0 * c * ahead
    else:
        found = c * y
    return found


@jit
def add_square(total, duals, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        total += duals / c * duals / 4.0
    return total


@jit
def worth(duals, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = duals - duals * duals / (4.0 * c)
    else:
        found = duals
    return found


@jit
def rounded(slack, c, width, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        dual = 2.0 * c * tl.maximum(slack, 0.0)
        curved = tl.where(slack > 0.0, 2.0 * c, 0.0)
    else:
        half = 0.5 / width
        dual = c * tl.minimum(tl.maximum(0.5 + slack * half, 0.0), 1.0)
        curved = tl.where(tl.abs(slack) < width, c * half, 0.0)
    return dual, curved


# The upper end of the box in the interior point method.
@jit
def stepped(a, c, da, step, v_, xi_, rv_, at, there, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        v = a
        xi = tl.where(inside, a / (2.0 * c), 1.0)
    else:
        v = tl.load(v_ + at, mask=there, other=1.0)
        xi = tl.load(xi_ + at, mask=there, other=1.0)
        xi += step * (tl.load(rv_ + at, mask=there, other=0.0) + xi * da) / v
        v -= step * da
    return v, xi


@jit
def point(y, a, v, r, xi, g, scale, inverse, share, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        product = a * r
        dual = a - a * xi / 2.0
        t = -y * scale * (g + xi)
        by_mu = y * inverse * share * v
    else:
        product = a * r + v * xi
        dual = a
        t = -y * scale * g
        by_mu = y * inverse * (share * v - a)
    return product, dual, t, by_mu


@jit
def pull(g, xi, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = -g - xi
    else:
        found = -g
    return found


@jit
def affine(y, a, v, r, xi, scale, da, dr, by_a, by_v, inside, most_0, most_1, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        sum_0 = a * dr
        sum_1 = r * da
        sum_2 = da * dr
        rv = 0.0 * a
        t = -y * scale * dr * by_a
    else:
        dxi = tl.where(inside, xi * (by_v - 1.0), 0.0)
        most_0 = tl.maximum(most_0, tl.where(inside, 1.0 - by_v, 0.0))
        most_1 = tl.maximum(most_1, by_v)
        sum_0 = a * dr + v * dxi
        sum_1 = (r - xi) * da
        sum_2 = da * (dr - dxi)
        rv = tl.where(inside, -v * xi + da * dxi, 0.0)
        t = -y * scale * (dr * by_a + dxi * by_v)
    return sum_0, sum_1, sum_2, rv, t, most_0, most_1


@jit
def direction(h, v, scale, along, rv_, there, mu, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        da = scale * (h - along)
        rv = 0.0 * scale
    else:
        rv = tl.where(inside, tl.load(rv_, mask=there, other=0.0) + mu, 0.0)
        by_v = 1.0 / v
        da = scale * (h - rv * by_v - along)
    return da, rv


@jit
def falls(rv, v, xi, da, most_0, most_1, LOSS: tl.constexpr):
    if LOSS != _SQUARED_HINGE:
        most_0 = tl.maximum(most_0, -(rv + xi * da) / (v * xi))
        most_1 = tl.maximum(most_1, da * (1.0 / v))
    return most_0, most_1


@jit
def corrected(v, xi, rv, da, p, q, mu, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        more = 0.0 * v
    else:
        ahead = xi + p * (rv + xi * da) * (1.0 / v)
        more = tl.where(inside, pulled((v - q * da) * ahead, mu), 0.0)
    return more


@jit
def pulled(product, aim):
    high = 10.0 * aim
    inside = tl.minimum(tl.maximum(product, 0.1 * aim), high)
    return tl.maximum(inside - product, -high)
