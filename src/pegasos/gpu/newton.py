"""Newton with its rows on a device, one lane after the other.

The passes are those of ``_core.Newton``. Only rows whose dual changes are added up, and of the
curved ones a sample makes the matrix, which only steers. The first iterations are made on a copy of
a sixteenth of the rows. What a pass costs beside X is the host's part in it, so little is asked of
the device, and what will be asked for next is begun before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.gpu import formulas
from pegasos.gpu.formulas import Fixed, formulas_for
from pegasos.gpu.gram import add_some, drawn
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import products, sums
from pegasos.gpu.solver import DeviceSolver, OnDevice
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.newton import Newton

_MATRIX_ROWS = 512  # for every feature
_MOST = 0.8  # share of rows above which those that change are not picked out


class _Rows:
    """Some rows of a lane, their slacks and their products with a direction."""

    def __init__(self, blocks: Any, fixed: Fixed, norms: Tensor) -> None:
        self.blocks, self.fixed, self.norms = blocks, fixed, norms
        self.slack = torch.ones(len(norms), dtype=torch.float64, device=norms.device)
        self.along = torch.zeros_like(self.slack)  # products with the direction


class NewtonState:
    """What a run keeps on the device."""

    def __init__(self, problem: DeviceProblem, seed: int, every: int) -> None:
        """Slacks of w = 0, of a sample if one of ``every`` rows is in it."""
        self.problem = problem
        self.random = torch.Generator(problem.y.device).manual_seed(seed)
        size = problem.rows.d + 1
        self.matrix = torch.zeros((1, size, size), dtype=torch.float64, device=problem.y.device)
        self.sample = self._sample(every) if every > 1 else None
        self._all: _Rows | None = None
        self.width = 0.0  # of the last point; 0 if the next step is no search
        self.looked: Tensor | None = None  # what the line search will ask for first

    def rows(self, every: int) -> _Rows:
        """The sample, or all rows, which begin when they are first asked for."""
        if every > 1 and self.sample is not None:
            return self.sample
        if self._all is None:
            problem = self.problem
            fixed = Fixed(problem.y[0], problem.device_costs()[0], _squared(problem))
            self._all = _Rows(problem.here.visit, fixed, problem.here.norms)
            self.sample = None
        return self._all

    def _sample(self, every: int) -> _Rows:
        """One of every few rows."""
        problem, device = self.problem, self.problem.y.device
        count = problem.n // every
        drawn = torch.randint(0, every, (count,), generator=self.random, device=device)
        chosen = torch.arange(count, device=device) * every + drawn
        parts = []
        for lo, hi, X in problem.here.visit():
            parts.append(X[chosen[(chosen >= lo) & (chosen < hi)] - lo])
        X = parts[0] if len(parts) == 1 else torch.cat(parts)
        costs = problem.device_costs()[0][chosen]
        fixed = Fixed(problem.y[0][chosen], costs, _squared(problem))
        return _Rows(lambda: [(0, count, X)], fixed, problem.here.norms[chosen])


class NewtonPasses:
    """As ``_core.Newton``; ranges are always all rows."""

    def __init__(self, problem: DeviceProblem, state: NewtonState) -> None:
        """Go on with the state of a run."""
        self.problem, self.state = problem, state

    def fresh(self) -> None:
        """The slacks of all rows become those of w = 0: they begin so."""
        self.state.width = 0.0

    def along(self, lo: int, hi: int, every: int, dw: Floats, db: float) -> None:
        """Fill in the products with (dw, db), and look at the whole step."""
        rows = self.state.rows(every)
        weights = torch.from_numpy(dw[None, :-1].copy()).to(rows.slack.device)
        shift = db + self.problem.bias * float(dw[-1])
        for first, last, X in rows.blocks():
            products(X, weights, exact=False, out=rows.along[None, first:last])
        if shift:
            rows.along.add_(shift)
        width = self.state.width
        self.state.looked = _looked(rows, 1.0, width) if width else None

    def line(self, lo: int, hi: int, every: int, step: float, width: float) -> Floats:
        """Look ahead along the direction."""
        looked, self.state.looked = self.state.looked, None
        if looked is None or (step, width) != (1.0, self.state.width):
            looked = _looked(self.state.rows(every), step, width)
        return np.asarray(looked.cpu().numpy())

    def point(
        self, lo: int, hi: int, every: int, step: float, before: float, width: float,
        constant: float, out: Floats,
    ) -> Floats:  # fmt: skip
        """Step, then look at the rows: the change of sum a y x is added to ``out``."""
        rows = self.state.rows(every)
        look = formulas_for(rows.slack, "newton").smoothed_point
        change, curved, totals = look(rows.slack, rows.along, rows.fixed, step, before, width)
        self.state.width = width
        some, scale = self._steering(curved, rows.norms)
        self.state.matrix.zero_()
        total = torch.zeros(self.problem.rows.d, dtype=torch.float64, device=change.device)
        for first, last, X in rows.blocks():
            here = _within(some, scale, first, last, len(change))
            add_some(X, *here, constant, 2, self.state.matrix[0])
            total += _changed(X, change[first:last])
        shift = change.sum(0, keepdim=True) if self.problem.bias else change.new_zeros(1)
        found: Floats = torch.cat([total, self.problem.bias * shift, totals]).cpu().numpy()
        out[-1] += found[: len(total) + 1]
        return found[len(total) + 1 :]

    def _steering(self, curved: Tensor, norms: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers and scales of the rows that make the matrix, in order."""
        size = _MATRIX_ROWS * self.problem.rows.d
        if 2 * size >= len(curved):
            some = curved.nonzero().squeeze(1)
            return some, curved[some]
        draws = torch.rand(
            size, generator=self.state.random, dtype=torch.float64, device=norms.device
        )
        return drawn(curved, norms, size, draws)

    def turn(self, s: float, intercept: float | None, rhs: Floats) -> Floats | None:
        """The solution of the matrix + s; None if there is none."""
        matrix = self.state.matrix[0]
        matrix.diagonal().add_(s)
        if intercept is not None:
            matrix[-1, -1] += intercept - s
        lift, right = 0.0, torch.from_numpy(rhs).to(matrix.device)[:, None]
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


def _looked(rows: _Rows, step: float, width: float) -> Tensor:
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


def _changed(X: Tensor, change: Tensor) -> Tensor:
    """The sum of change x; only rows that change are read, if they are few."""
    some = change.nonzero().squeeze(1)
    if not len(some):
        return torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    most = len(some) > _MOST * len(X)
    return sums(X, change[None], exact=False, some=None if most else some)[0]


def _squared(problem: Problem) -> bool:
    return problem.loss == "squared_hinge"


@dataclass(frozen=True, kw_only=True)
class DeviceNewton(DeviceSolver, Newton):
    """Newton, its rows on a device."""

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

    def device_duals(self, problem: DeviceProblem, state: State) -> Tensor:
        """The derivatives of the smoothed loss; 0 while a sample is looked at."""
        if self.every(state) > 1:
            return torch.zeros_like(problem.y, dtype=torch.float64)
        rows = cast(OnDevice, state).device.rows(1)
        y, c, squared = rows.fixed
        duals = formulas.smoothed_dual(rows.slack, c, self.width(state), squared)
        return torch.where(y != 0, duals, 0.0)[None]
