"""Newton with its rows on a device, one lane after the other.

The passes are those of ``_core.Newton``. Only rows whose dual changes are added up, and of the
curved ones a sample makes the matrix, which only steers. The first iterations are made on a copy of
a sixteenth of the rows. What a pass costs beside X is the host's part in it, so little is asked of
the device, and what will be asked for next is begun before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from pegasos.certificate import Certificate, Floats, GiveUp, never
from pegasos.gpu import formulas, kernels
from pegasos.gpu.arrays import sent
from pegasos.gpu.certify import Read
from pegasos.gpu.csr import CsrRows
from pegasos.gpu.formulas import formulas_for
from pegasos.gpu.gram import add_some, drawn
from pegasos.gpu.newton_rows import NewtonRows, NewtonState
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import AnyRows, products, row_kernels, sums
from pegasos.gpu.solver import DeviceSolver, OnDevice
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.newton import Newton
from pegasos.solvers.newton_phases import look_at_all

_MATRIX_ROWS = 512  # for every feature
_MOST = 0.8  # share of rows above which those that change are not picked out


class NewtonPasses:
    """As ``_core.Newton``; ranges are always all rows."""

    def __init__(self, problem: DeviceProblem, state: NewtonState) -> None:
        """Go on with the state of a run."""
        self.problem, self.state = problem, state

    def fresh(self) -> None:
        """The slacks of all rows become those of w = 0, and what is along next is w."""
        self.state.fresh()

    def along(self, lo: int, hi: int, every: int, dw: Floats, db: float) -> None:
        """Fill in the products with (dw, db), and look at the whole step."""
        state = self.state
        if state.due:
            state.due, state.moving = False, (dw.copy(), db)
            return
        if every == 1:
            state.take_near()
        rows = state.rows(every)
        weights = sent(dw[None, :-1], rows.slack.device)
        for first, last, X in rows.blocks():
            products(X, weights, exact=False, out=rows.along[None, first:last])
        shift = self._shift(dw, db)
        if shift:
            rows.along.add_(shift)
        state.direction = dw.copy(), db
        state.looked = _looked(rows, 1.0, state.width)

    def line(self, lo: int, hi: int, every: int, step: float, width: float) -> Floats:
        """Look ahead along the direction."""
        state = self.state
        looked, state.looked = state.looked, None
        if looked is None or (step, width) != (1.0, state.width):
            looked = _looked(state.rows(every), step, width)
        return state.seen_along(looked.cpu().numpy())

    def point(
        self, lo: int, hi: int, every: int, step: float, before: float, width: float,
        constant: float, out: Floats,
    ) -> Floats:  # fmt: skip
        """Step, then look at the rows: the change of sum a y x is added to ``out``."""
        state = self.state
        rows = state.rows(every)
        total = None if state.moving is None else self._looked_at(rows, width)
        look = formulas_for(rows.slack, "newton").smoothed_point
        reach = state.reach_of(width) if state.near is None else 0.0
        change, curved, totals = look(
            rows.slack, rows.along, rows.norms, rows.fixed, step, before, width, reach
        )
        some, scale = self._steering(curved, rows.norms, totals[5])
        state.matrix.zero_()
        added = torch.zeros(self.problem.rows.d, dtype=torch.float64, device=change.device)
        for first, last, X in rows.blocks():
            here = _within(some, scale, first, last, len(change))
            add_some(X, *here, constant, 2, state.matrix[0])
            if total is None:
                added += _changed(X, change[first:last])
        shift = change.sum(0, keepdim=True) if self.problem.bias else change.new_zeros(1)
        all_of_it = [added if total is None else total, self.problem.bias * shift, totals]
        found: Floats = torch.cat(all_of_it).cpu().numpy()
        out[-1] += found[:-6]
        return state.stepped(step, width, reach, out[-1], found[-6:])

    def _looked_at(self, rows: NewtonRows, width: float) -> Tensor:
        """Fill in the products of all rows with w; the sum of a y x there."""
        w, b = cast(tuple[Floats, float], self.state.moving)
        self.state.moving = None
        shift = self._shift(w, b)
        look = self.state.look_at_all(w[:-1], shift, width)
        torch.add(look.margins, shift, out=rows.along)
        return look.sum

    def _shift(self, w: Floats, b: float) -> float:
        """What a constant feature and b add to the products with w."""
        return b + self.problem.bias * float(w[-1])

    def _steering(self, curved: Tensor, norms: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers and scales of the rows that make the matrix, in order."""
        size = _MATRIX_ROWS * self.problem.rows.d
        if 2 * size >= len(curved):
            some = curved.nonzero().squeeze(1)
            return some, curved[some]
        draws = torch.rand(
            size, generator=self.state.random, dtype=torch.float64, device=norms.device
        )
        return drawn(curved, norms, mass, draws)

    def turn(self, s: float, intercept: float | None, rhs: Floats) -> Floats | None:
        """The solution of the matrix + s; None if there is none."""
        matrix = self.state.matrix[0]
        matrix.diagonal().add_(s)
        if intercept is not None:
            matrix[-1, -1] += intercept - s
        lift, right = 0.0, sent(rhs, matrix.device)[:, None]
        while lift < 1:
            factor, failed = torch.linalg.cholesky_ex(matrix)
            solution = torch.cholesky_solve(right, factor)[:, 0]
            found: Floats = torch.cat([solution, failed.double()[None]]).cpu().numpy()
            if not found[-1]:
                return found[:-1] if np.isfinite(found).all() else None
            more = max(1e-14, 100 * lift)
            matrix.diagonal().mul_((1 + more) / (1 + lift))
            lift = more
        return None


def _looked(rows: NewtonRows, step: float, width: float) -> Tensor:
    """The slope and the curvature at a step."""
    find = formulas_for(rows.slack, "newton").smoothed_line
    found: Tensor = find(rows.slack, rows.along, rows.fixed, step, width)
    return found


def _within(some: Tensor, scale: Tensor, lo: int, hi: int, n: int) -> tuple[Tensor, Tensor]:
    """Those of the rows lo..hi-1, of n, by their numbers there."""
    if hi - lo == n:
        return some, scale
    here = (some >= lo) & (some < hi)
    return some[here] - lo, scale[here]


def _changed(X: AnyRows, change: Tensor) -> Tensor:
    """The sum of change x; only rows that change are read, if they are few."""
    if not isinstance(X, CsrRows) and kernels.serve(X):
        found: Tensor = row_kernels().sums(X, change[None], sparse=True)[0]
        return found
    some = change.nonzero().squeeze(1)
    most = len(some) > _MOST * len(X)
    return sums(X, change[None], exact=False, some=None if most else some)[0]


@dataclass(frozen=True, kw_only=True)
class DeviceNewton(DeviceSolver, Newton):
    """Newton, its rows on a device."""

    # Estimates are exact, and a certificate that is refused costs as much as several iterations.
    worth_certifying: ClassVar[float] = 1.0

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """As on the host; slacks and the matrix are on the device."""
        whole = super().start(problem, seed, duals)
        whole.arrays["sums"] = np.zeros((1, problem.rows.d + 1))  # the vector alone
        state = NewtonState(cast(DeviceProblem, problem), seed, self.every(whole))
        return OnDevice(whole.arrays, per_lane=whole.per_lane, device=state)

    def passes(self, problem: Problem, state: State) -> Any:
        """Those over the device's rows."""
        return NewtonPasses(cast(DeviceProblem, problem), cast(OnDevice, state).device)

    def turn(
        self,
        problem: Problem,
        passes: Any,
        state: State,
        s: float,
        intercept: float | None,
        rhs: Floats,
    ) -> float | None:
        """By the matrix on the device."""
        solution = passes.turn(s, intercept, rhs)
        if solution is None:
            return None
        direction = state["direction"]
        direction[:-1], direction[-1] = solution, 0.0
        if intercept is not None:
            direction[-2:] = 0.0, solution[-1]
        return float(rhs @ solution)

    def looks_again(self, state: State, done: bool) -> bool:
        """Where only near rows were looked at, and that does not do any more."""
        device = cast(OnDevice, state).device
        return device.near is not None and (done or device.astray())

    def refused(self, problem: Problem, state: State) -> None:
        """Aim further; a certificate has looked at all rows, and the run goes on from there."""
        super().refused(problem, state)
        device = cast(OnDevice, state).device
        if device.near is not None:
            look_at_all(state, self.width(state))
            device.fresh()

    def certify(
        self, problem: Problem, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """Where not all rows were looked at, they are: products, duals and sums from one read."""
        device, here = cast(OnDevice, state).device, cast(DeviceProblem, problem)
        w = state["w"]
        shift = float(state["b"][0]) + problem.bias * float(w[-1])
        place = w[:-1], shift, self.width(state)
        if device.near is None and not device.due and not device.has_looked_at(*place):
            return super().certify(problem, state, W, b, give_up)
        look = device.look_at_all(*place)
        return self.certified(here, W, look.duals[None], Read(look.margins[None], look.sums))

    def device_duals(self, problem: DeviceProblem, state: State) -> Tensor:
        """The derivatives of the smoothed loss; 0 while a sample is looked at."""
        if self.every(state) > 1:
            return torch.zeros_like(problem.y, dtype=torch.float64)
        rows = cast(OnDevice, state).device.rows(1)
        y, c, squared = rows.fixed
        duals = formulas.smoothed_dual(rows.slack, c, self.width(state), squared)
        return torch.where(y != 0, duals, 0.0)[None]
