"""The rows that Newton's method on a device looks at: a sample, all, or those near the kink.

Rows further than ``reach`` from the kink of the hinge have a dual of 0 or c, and keep it as long
as w moves little: their loss is linear in w. So once all rows have been looked at, the iterations
go on with a copy of those that are near, and all others come in as one vector and three numbers
(``Far``). What that overlooks, a row that crossed all of the reach, shows when all rows are looked
at again, which a certificate does. The squared hinge is nowhere linear where it counts: there are
no such rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.arrays import sent
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.formulas import Fixed, formulas_for
from pegasos.sites.device.fused import Stays
from pegasos.sites.device.lanes import Duals, Read, fixed_of, lanes_of, rows_of
from pegasos.sites.device.loading import room
from pegasos.sites.device.losses import Loss
from pegasos.sites.device.products import AnyRows, products, sums
from pegasos.sites.method import Floats, Kept

if TYPE_CHECKING:
    from pegasos.problem import Problem

_BEYOND = 2.0  # widths that near rows are from the kink at most
_MOVES = 3.0  # that, in slacks' last root-mean-square change
_ASTRAY = 4.0  # such changes in all, of the reach, after which all rows are looked at again
_NEAR = 0.3  # share of the rows that may be near
_NEAR_STREAMED = 1 / 12  # not many more than are in a sample
_LOOKS = 16  # at all rows, after which they are all that is looked at
_ROWS_PER_FEATURE = 4096  # of which fewer are not what an iteration costs: its matrix is


class NewtonRows:
    """Some rows of a lane, their slacks and their products with a direction."""

    def __init__(self, blocks: Any, fixed: Fixed, norms: Tensor) -> None:
        """Slacks of w = 0."""
        self.blocks, self.fixed, self.norms = blocks, fixed, norms
        self.slack = torch.ones(len(norms), dtype=torch.float64, device=norms.device)
        self.along = torch.zeros_like(self.slack)


@dataclass
class Far:
    """What all rows amount to that are not near: sums of losses, of duals, and of a y."""

    loss: float
    dual: float
    balance: float
    slope: float = 0.0  # of the loss along the direction in hand

    def totals(self) -> Floats:
        """Loss, dual, what rounding leaves (nothing), and balance."""
        return np.array([self.loss, self.dual, 0.0, self.balance])


@dataclass(frozen=True)
class Look:
    """All rows at (w, shift), and their duals at a width."""

    w: Floats
    shift: float
    width: float
    margins: Tensor  # (n,) w.x
    duals: Tensor  # (n,)
    sums: Tensor  # (1, d) of a y x; with a free b (2, d): of a x, where y = +1 and where it is -1

    @property
    def sum(self) -> Tensor:
        """(d,): of a y x."""
        return self.sums[0] if len(self.sums) == 1 else self.sums[0] - self.sums[1]

    def is_at(self, w: Floats, shift: float, width: float) -> bool:
        """Whether this is what one would see there."""
        return np.array_equal(self.w, w) and (self.shift, self.width) == (shift, width)


class NewtonRun(Stays):
    """What a run keeps on the device."""

    def __init__(self, problem: Problem, seed: int, every: int) -> None:
        """Slacks of w = 0, of a sample if one of ``every`` rows is in it."""
        self.problem = problem
        self.source, self.device = rows_of(problem), lanes_of(problem).device
        self.random = torch.Generator(self.device).manual_seed(seed)
        size = problem.rows.d + 1
        self.matrix = torch.zeros((size, size), dtype=torch.float64, device=self.device)
        self.sample = self._sample(every) if every > 1 else None
        self._all: NewtonRows | None = None
        self.near: NewtonRows | None = None
        self.far = Far(0.0, 0.0, 0.0)
        self.looks = 0
        self.look: Look | None = None  # the last one, while the run has not gone on
        self.due = False  # a look at all rows is
        self.moving: tuple[Floats, float] | None = None  # the w and b of that
        self.direction = np.zeros(size), 0.0
        self.width = 0.0  # of the last point; 0 if the next step is no search
        self.looked: Tensor | None = None  # what the line search will ask for first
        self.sum, self.totals = np.zeros(size), np.zeros(4)  # of the last point, of all rows
        self.reach, self.within = 0.0, 0  # how far near rows are from the kink, and how many
        self.change, self.moved = 0.0, 0.0  # of slacks along the direction; by steps since the look

    def rows(self, every: int) -> NewtonRows:
        """The sample, the rows that are near, or all, which begin when they are first asked for."""
        if every > 1 and self.sample is not None:
            return self.sample
        if self.near is not None:
            return self.near
        if self._all is None:
            self._all = NewtonRows(self.source.visit, self.fixed(), self.source.norms)
        return self._all

    def fixed(self) -> Fixed:
        """What does not change, of all rows."""
        return fixed_of(self.problem).of(0)

    def fresh(self) -> None:
        """All rows are looked at next."""
        if self.sample is not None:  # what it moved by says nothing of all rows
            self.sample, self.reach, self.change = None, 0.0, 0.0
        self.near, self.due = None, True
        self.width = self.moved = 0.0
        self.looks += 1
        self.rows(1).slack.fill_(1.0)

    def take(self, lanes: Tensor) -> None:
        """There is but one."""

    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """The derivatives of the loss, smoothed within ``at``; 0 while a sample is looked at.

        Where not all rows were looked at, they are: products, duals and sums from one read.
        """
        w, b = state.arrays["w"], float(state.arrays["b"][0])
        place = w[:-1], b + problem.bias * float(w[-1]), float(at[0])
        if self.near is not None or self.due or self.has_looked_at(*place):
            look = self.look_at_all(*place)
            return Duals(look.duals[None], Read(look.margins[None], look.sums))
        if self.sample is not None:
            return Duals(torch.zeros((1, problem.n), dtype=torch.float64, device=self.device))
        rows = self.rows(1)
        y, c, loss = rows.fixed
        duals = loss.rounded_dual(rows.slack, c, float(at[0]))
        return Duals(torch.where(y != 0, duals, 0.0)[None])

    def has_looked_at(self, w: Floats, shift: float, width: float) -> bool:
        """Whether that is what was looked at last."""
        return self.look is not None and self.look.is_at(w, shift, width)

    def look_at_all(self, w: Floats, shift: float, width: float) -> Look:
        """One read of the rows; none, if that is what was looked at last."""
        if self.look is None or not self.look.is_at(w, shift, width):
            self.look = self._look(w, shift, width)
        return self.look

    def _look(self, w: Floats, shift: float, width: float) -> Look:
        problem, device = self.problem, self.device
        weights, fixed = sent(w[None, :], device), self.fixed()
        margins = torch.empty(problem.n, dtype=torch.float64, device=device)
        duals = torch.empty_like(margins)
        sides = 2 if problem.intercept == "free" else 1
        total = torch.zeros((sides, problem.rows.d), dtype=torch.float64, device=device)
        for lo, hi, X in self.source.visit():
            here = fixed.of(slice(lo, hi))
            total += seen(X, weights, shift, here, width, sides, margins[lo:hi], duals[lo:hi])
        return Look(w.copy(), shift, width, margins, duals, total)

    def reach_of(self, width: float, loss: Loss) -> float:
        """Within which of the kink a row is near, at such a width; 0: none is to be."""
        if loss.curved or self.looks > _LOOKS:
            return 0.0
        return max(_BEYOND * width, _MOVES * self.change, self.reach / 4)

    def take_near(self) -> None:
        """Leave all rows but those within reach of the kink, if these are few."""
        rows, few = self._all, self.within
        if self.near is not None or rows is None or not self._worth(few):
            return
        some = (rows.slack.abs() < self.reach).nonzero().squeeze(1)
        X, fixed = self._copied(some), rows.fixed.of(some)
        self.near = NewtonRows(lambda: [(0, len(some), X)], fixed, rows.norms[some])
        self.near.slack = rows.slack[some]
        look = formulas_for(rows.slack, "newton").smoothed_point
        nothing = self.near.along
        _, _, totals = look(
            self.near.slack, nothing, self.near.norms, fixed, 0.0, self.width, self.width, 0.0
        )
        far = self.totals - totals[:4].cpu().numpy()
        self.far = Far(far[0], far[1], far[3])

    def _worth(self, few: int) -> bool:
        source = self.source
        most = (_NEAR if source.resident else _NEAR_STREAMED) * source.n
        if source.n < _ROWS_PER_FEATURE * source.d or not 0 < few <= most:
            return False
        return few * source.row_bytes <= room(self.device, 0)

    def seen_along(self, looked: Floats) -> Floats:
        """The slope and the curvature of all rows at a step, from sums over those in hand."""
        slope, curvature, first, squares = looked
        if self.near is not None:
            dw, db = self.direction
            self.far.slope = -float(self.sum @ dw + self.totals[3] * db) - first
            slope += self.far.slope
        self.change = math.sqrt(squares)
        return np.array([slope, curvature])

    def stepped(
        self, step: float, width: float, reach: float, total: Floats, totals: Floats
    ) -> Floats:
        """A step was made, to a point with a total sum a y x and totals of the rows in hand.

        The totals of all rows.
        """
        if self.width:  # no look at all rows, but a step away from it
            self.look = None
            self.moved += step * self.change
        self.width = width
        if self.near is None:
            self.reach, self.within, self.totals = reach, int(totals[4]), totals[:4]
        else:
            self.far.loss += step * self.far.slope
            self.totals = totals[:4] + self.far.totals()
        self.sum = total.copy()
        return self.totals.copy()

    def astray(self) -> bool:
        """Whether rows that are not near may have come near."""
        return self.near is not None and _ASTRAY * self.moved > self.reach

    def _sample(self, every: int) -> NewtonRows:
        """One of every few rows."""
        count = self.source.n // every
        drawn = torch.randint(0, every, (count,), generator=self.random, device=self.device)
        chosen = torch.arange(count, device=self.device) * every + drawn
        X, fixed = self._copied(chosen), self.fixed().of(chosen)
        return NewtonRows(lambda: [(0, count, X)], fixed, self.source.norms[chosen])

    def _copied(self, chosen: Tensor) -> AnyRows:
        """Rows by their numbers, which ascend."""
        parts = []
        for lo, hi, X in self.source.visit():
            if hi - lo == self.problem.n:
                return X[chosen]
            parts.append(X[chosen[(chosen >= lo) & (chosen < hi)] - lo])
        return torch.cat(parts)


def seen(
    X: AnyRows, weights: Tensor, shift: float, fixed: Fixed, width: float, sides: int,
    margins: Tensor, duals: Tensor,
) -> Tensor:  # fmt: skip
    """Fill in w.x, and the duals of w.x + shift; the sums of ``Look``."""
    if not isinstance(X, CsrRows) and kernels.serve(X):
        look = formulas_for(margins, "newton").smoothed_look
        found: Tensor = look(X, weights, shift, fixed, width, sides, margins, duals)
        return found
    y, c, loss = fixed
    products(X, weights, exact=True, out=margins[None])
    duals.copy_(torch.where(y != 0, loss.rounded_dual(1 - y * (margins + shift), c, width), 0))
    factors = (y * duals)[None]
    if sides > 1:
        factors = torch.stack([torch.where(y > 0, duals, 0.0), torch.where(y < 0, duals, 0.0)])
    return sums(X, factors, exact=True)
