"""The losses in torch, as ``formulas`` asks for them; their names are those of ``pegasos.losses``.

All is (lanes, rows), or the rows of one lane; who asks leaves out the rows that are not in a lane.
Of the interior point method a loss has what the upper end of the box adds: the pair v, xi. Without
an upper end, v = a and xi = kappa a stay in step with the duals. ``kernels.losses`` does the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import torch
from torch import Tensor

from pegasos import _core

if TYPE_CHECKING:
    from pegasos.sites.device.formulas import Direction, Row

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
