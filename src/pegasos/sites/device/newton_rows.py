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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.arrays import host, sent
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.formulas import Fixed, formulas_for
from pegasos.sites.device.fused import Stays
from pegasos.sites.device.lanes import Duals, Read, fixed_of, lanes_of, rows_of
from pegasos.sites.device.loading import room
from pegasos.sites.device.losses import Loss
from pegasos.sites.device.products import AnyRows, products, sums
from pegasos.sites.method import About, Arrays, Floats, Kept
from pegasos.state import expect

if TYPE_CHECKING:
    from pegasos.problem import Problem

_BEYOND = 2.0  # widths that near rows are from the kink at most
_MOVES = 3.0  # that, in slacks' last root-mean-square change
_ASTRAY = 4.0  # such changes in all, of the reach, after which all rows are looked at again
_NEAR = 0.3  # share of the rows that may be near
_NEAR_STREAMED = 1 / 12  # not many more than are in a sample
_LOOKS = 16  # at all rows, after which they are all that is looked at
ALL, SAMPLE, NEAR = range(3)
"""Which rows a run has in hand."""

Block = tuple[int, int, AnyRows]
"""Rows lo..hi-1."""

_ROWS_PER_FEATURE = 4096  # of which fewer are not what an iteration costs: its matrix is


class NewtonRows:
    """Some rows of a lane, their slacks and their products with a direction."""

    def __init__(
        self, blocks: Callable[[], Iterable[Block]], fixed: Fixed, norms: Tensor, some: Tensor
    ) -> None:
        """Slacks of w = 0; ``some`` are the rows' numbers, of none where they are all."""
        self.blocks, self.fixed, self.norms, self.some = blocks, fixed, norms, some
        self.slack = torch.ones(len(norms), dtype=torch.float64, device=norms.device)
        self.along = torch.zeros_like(self.slack)


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
    """The rows that are looked at, and what is known of the others."""

    numbers: ClassVar[tuple[str, ...]] = (
        "kind", "looks", "due", "width", "reach", "within", "change", "moved",
        "far_loss", "far_dual", "far_balance", "far_slope",
    )  # fmt: skip

    def __init__(self, problem: Problem, about: About, seed: int) -> None:
        """Slacks of w = 0, of a sample if one of ``every`` rows is in it."""
        self.problem = problem
        self.source, self.device = rows_of(problem), lanes_of(problem).device
        self.random = torch.Generator(self.device).manual_seed(seed)
        size = problem.rows.d + 1
        self.matrix = torch.zeros((size, size), dtype=torch.float64, device=self.device)
        every = int(about["every"])
        self.kind = SAMPLE if every > 1 else ALL  # of the rows in hand
        self.hand = self._some(self._drawn(every)) if every > 1 else self._all()
        self.looks = 0  # at all rows
        self.look: Look | None = None  # the last one, while the run has not gone on
        self.due = False  # a look at all rows is, until the point there
        self.width = 0.0  # of the last point; 0 if the next step is no search
        self.looked: Tensor | None = None  # what the line search will ask for first
        self.reach, self.within = 0.0, 0  # how far near rows are from the kink, and how many
        self.change, self.moved = 0.0, 0.0  # of slacks along the direction; by steps since the look
        # What all rows amount to that are not near: sums of losses, of duals, and of a y; and the
        # slope of the loss along the direction in hand.
        self.far_loss = self.far_dual = self.far_balance = self.far_slope = 0.0

    def saved(self) -> Arrays:
        """Where the last look was is enough: it is repeated."""
        look = self.look
        place = [] if look is None else [*look.w, look.shift, look.width]
        return super().saved() | {"some": host(self.hand.some), "look": np.array(place)}

    def resume(self, arrays: Arrays) -> None:
        """Bring the rows in hand anew, and look again where the last look was."""
        some, place = torch.from_numpy(arrays["some"]), arrays["look"]
        right = some.dtype == torch.int64 and some.ndim == 1
        right = right and bool((some.diff() > 0).all()) and not (some < 0).any()
        expect(right and not (some >= self.problem.n).any(), "some are no rows in order")
        self.hand = self._some(some.to(self.device)) if len(some) else self._all()
        super().resume({k: v for k, v in arrays.items() if k not in ("some", "look")})
        if place.size:
            finite = place.dtype == np.float64 and np.isfinite(place).all() and place[-1] > 0
            expect(finite and place.shape == (self.problem.rows.d + 2,), "its look was nowhere")
            self.look_at_all(place[:-2], float(place[-2]), float(place[-1]))

    def tensors(self) -> dict[str, Tensor]:
        """Slacks, and products with the direction."""
        return {"slack": self.hand.slack, "along": self.hand.along}

    def check(self) -> None:
        """Rows are some or all."""
        expect((self.kind == ALL) == (len(self.hand.some) == 0), "its rows are not of their kind")
        expect(self.kind in (ALL, SAMPLE, NEAR) and self.width >= 0, "its course is none")

    def fixed(self) -> Fixed:
        """What does not change, of all rows."""
        return fixed_of(self.problem).of(0)

    def fresh(self) -> None:
        """All rows are looked at next."""
        if self.kind == SAMPLE:  # what it moved by says nothing of all rows
            self.reach, self.change = 0.0, 0.0
        self.kind, self.hand, self.due = ALL, self._all(), True
        self.width = self.moved = 0.0
        self.looks += 1

    def take(self, lanes: Tensor) -> None:
        """There is but one."""

    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """The derivatives of the loss, smoothed within ``at``; 0 while a sample is looked at.

        Where not all rows were looked at, they are: products, duals and sums from one read.
        """
        w, b = state.arrays["w"], float(state.arrays["b"][0])
        place = w[:-1], b + problem.bias * float(w[-1]), float(at[0])
        if self.kind == NEAR or self.due or (self.look is not None and self.look.is_at(*place)):
            look = self.look_at_all(*place)
            return Duals(look.duals[None], Read(look.margins[None], look.sums))
        if self.kind == SAMPLE:
            return Duals(torch.zeros((1, problem.n), dtype=torch.float64, device=self.device))
        y, c, loss = self.hand.fixed
        duals = loss.rounded_dual(self.hand.slack, c, float(at[0]))
        return Duals(torch.where(y != 0, duals, 0.0)[None])

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
        if self.kind == NEAR or loss.curved or self.looks > _LOOKS:
            return 0.0
        return max(_BEYOND * width, _MOVES * self.change, self.reach / 4)

    def take_near(self, totals: Floats) -> None:
        """Leave all rows, which amount to that, but those within reach of the kink, if few."""
        rows = self.hand
        if self.kind != ALL or not self._worth(self.within):
            return
        some = (rows.slack.abs() < self.reach).nonzero().squeeze(1)
        self.kind, self.hand = NEAR, self._some(some)
        self.hand.slack = rows.slack[some]
        look = formulas_for(rows.slack, "newton").smoothed_point
        nothing = self.hand.along
        _, _, near = look(
            self.hand.slack, nothing, self.hand.norms, self.hand.fixed, 0.0, self.width,
            self.width, 0.0,
        )  # fmt: skip
        far = totals - host(near[:4])
        self.far_loss, self.far_dual, self.far_balance = float(far[0]), float(far[1]), float(far[3])

    def _worth(self, few: int) -> bool:
        source = self.source
        most = (_NEAR if source.resident else _NEAR_STREAMED) * source.n
        if source.n < _ROWS_PER_FEATURE * source.d or not 0 < few <= most:
            return False
        return few * source.row_bytes <= room(self.device, 0)

    def seen_along(self, looked: Floats, whole: float) -> Floats:
        """The slope and the curvature of all rows at a step, from sums over those in hand.

        ``whole`` is the slope of all of them where the step begins.
        """
        slope, curvature, first, squares = looked
        if self.kind == NEAR:
            self.far_slope = whole - float(first)
            slope += self.far_slope
        self.change = math.sqrt(squares)
        return np.array([slope, curvature])

    def stepped(self, step: float, width: float, reach: float, totals: Floats) -> Floats:
        """A step was made, to a point with totals of the rows in hand; the totals of all rows."""
        if self.width:  # no look at all rows, but a step away from it
            self.look = None
            self.moved += step * self.change
        self.width = width
        if self.kind != NEAR:
            self.reach, self.within = reach, int(totals[4])
            return totals[:4]
        self.far_loss += step * self.far_slope
        far = np.array([self.far_loss, self.far_dual, 0.0, self.far_balance])
        return np.asarray(totals[:4] + far)

    def astray(self) -> bool:
        """Whether rows that are not near may have come near."""
        return self.kind == NEAR and _ASTRAY * self.moved > self.reach

    def _drawn(self, every: int) -> Tensor:
        """One of every few rows."""
        count = self.source.n // every
        drawn = torch.randint(0, every, (count,), generator=self.random, device=self.device)
        return torch.arange(count, device=self.device) * every + drawn

    def _all(self) -> NewtonRows:
        nothing = torch.zeros(0, dtype=torch.int64)
        return NewtonRows(self.source.visit, self.fixed(), self.source.norms, nothing)

    def _some(self, some: Tensor) -> NewtonRows:
        """A copy of rows by their numbers, which ascend."""
        parts, count = [], len(some)
        for lo, hi, X in self.source.visit():
            if hi - lo == self.problem.n:
                parts = [X[some]]
            else:
                parts.append(X[some[(some >= lo) & (some < hi)] - lo])
        X = parts[0] if len(parts) == 1 else torch.cat(parts)
        rows, norms = [(0, count, X)], self.source.norms[some]
        return NewtonRows(lambda: rows, self.fixed().of(some), norms, some)


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
