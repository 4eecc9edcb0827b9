"""The passes of Newton's method over rows on a device, one lane at a time.

Only rows whose dual changes are added up, and of the curved ones a sample makes the matrix, which
only steers. The first iterations are made on a copy of a sixteenth of the rows. What a pass costs
beside X is the host's part in it, so little is asked of the device, and what will be asked for next
is begun before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device import kernels
from pegasos.sites.device.arrays import host, sent
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.formulas import formulas_for
from pegasos.sites.device.fused import FusedPasses, Stays
from pegasos.sites.device.gram import add_some, drawn
from pegasos.sites.device.newton_rows import NEAR, NewtonRows, NewtonRun
from pegasos.sites.device.products import AnyRows, products, row_kernels, sums
from pegasos.sites.method import About, Bools, Floats, Kept, RowMethod

if TYPE_CHECKING:
    from pegasos.problem import Problem

_MATRIX_ROWS = 512  # for every feature
_MOST = 0.8  # share of rows above which those that change are not picked out


class NewtonPasses(FusedPasses):
    """Those over the sample, over the rows that are near the kink, or over all."""

    stays: ClassVar[type[Stays]] = NewtonRun
    # Estimates are exact, and a certificate that is refused costs as much as several iterations.
    worth_certifying: ClassVar[float] = 1.0

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with the state of a run."""
        super().__init__(problem, method, state, about)
        self.run: NewtonRun = state.there
        arrays = state.arrays
        self.sum, self.totals, self.w, self.b = (
            arrays["sums"][-1],
            arrays["totals"],
            arrays["w"],
            arrays["b"],
        )
        self.to = arrays["direction"]
        self.added: tuple[float, float | None] = 0.0, None  # to the diagonal, and to its last entry

    def restart(self) -> None:
        """The slacks of all rows become those of w = 0, and what is along next is w."""
        self.run.fresh()

    def swap(self, lanes: Bools) -> None:
        """There is one direction."""

    def begin_matrix(self) -> None:
        """It is each point's own."""

    def astray(self, done: bool) -> bool:
        """Where only near rows were looked at, and that does not do any more."""
        return self.run.astray() or (done and self.run.kind == NEAR)

    def look_again(self) -> bool:
        """A certificate has looked at all rows, and the run goes on from there."""
        if self.run.kind != NEAR:
            return False
        self.run.fresh()
        return True

    def along(self, every: int, dw: Floats, db: float) -> dict[str, Floats]:
        """Fill in the products with (dw, db), and look at the whole step."""
        run = self.run
        if run.due:
            return {}
        run.take_near(self.totals)
        rows = run.hand
        weights = sent(dw[None, :-1], rows.slack.device)
        for first, last, X in rows.blocks():
            products(X, weights, exact=False, out=rows.along[None, first:last])
        shift = self._shift(dw, db)
        if shift:
            rows.along.add_(shift)
        run.looked = _looked(rows, 1.0, run.width)
        return {}

    def line(self, every: int, step: float, width: float) -> dict[str, Floats]:
        """Look ahead along the direction."""
        run = self.run
        looked, run.looked = run.looked, None
        if looked is None or (step, width) != (1.0, run.width):
            looked = _looked(run.hand, step, width)
        whole = -float(self.sum @ self.to[:-1] + self.totals[3] * float(self.to[-1]))
        return {"line": run.seen_along(host(looked), whole)}

    def point(
        self, every: int, step: float, before: float, width: float, constant: float
    ) -> dict[str, Floats]:
        """Step, then look at the rows: the change of sum a y x is added to the run's sums."""
        run = self.run
        rows = run.hand
        total = self._looked_at(rows, width) if run.due else None
        look = formulas_for(rows.slack, "newton").smoothed_point
        reach = run.reach_of(width, rows.fixed.loss)
        change, curved, totals = look(
            rows.slack, rows.along, rows.norms, rows.fixed, step, before, width, reach
        )
        some, scale = self._steering(curved, rows.norms, totals[5])
        run.matrix.zero_()
        added = torch.zeros(self.problem.rows.d, dtype=torch.float64, device=change.device)
        for first, last, X in rows.blocks():
            here = _within(some, scale, first, last, len(change))
            add_some(X, *here, constant, 2, run.matrix)
            if total is None:
                added += _changed(X, change[first:last])
        shift = change.sum(0, keepdim=True) if self.problem.bias else change.new_zeros(1)
        all_of_it = [added if total is None else total, self.problem.bias * shift, totals]
        found = host(torch.cat(all_of_it))
        self.sum += found[:-6]
        return {"totals": run.stepped(step, width, reach, found[-6:])}

    def _looked_at(self, rows: NewtonRows, width: float) -> Tensor:
        """Fill in the products of all rows with w; the sum of a y x there."""
        self.run.due = False
        shift = self._shift(self.w, float(self.b[0]))
        look = self.run.look_at_all(self.w[:-1], shift, width)
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
            size, generator=self.run.random, dtype=torch.float64, device=norms.device
        )
        return drawn(curved, norms, mass, draws)

    def factor(
        self, s: Floats, *, whole: Floats | None = None, last: Floats | None = None
    ) -> Bools:
        """Hear what is added: factor and solution are asked of the device together."""
        assert whole is None  # all curved rows may be in the sample
        self.added = float(s[0]), None if last is None else float(last[0])
        return np.array([True])

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Floats:
        """The solution of the matrix of the last point, lifted a little where it has none."""
        s, last = self.added
        matrix = self.run.matrix
        matrix.diagonal().add_(s)
        if last is not None:
            matrix[-1, -1] += last - s
        lift, right = 0.0, sent(rhs, matrix.device)[:, None]
        while lift < 1:
            factor, failed = torch.linalg.cholesky_ex(matrix)
            solution = torch.cholesky_solve(right, factor)[:, 0]
            found = host(torch.cat([solution, failed.double()[None]]))
            if not found[-1]:
                return self._turned(found[:-1], rhs, free, direction)
            more = max(1e-14, 100 * lift)
            matrix.diagonal().mul_((1 + more) / (1 + lift))
            lift = more
        return np.array([np.nan])

    def _turned(self, solution: Floats, rhs: Floats, free: bool, direction: Floats) -> Floats:
        """Write the direction; what it gains, NaN if it is not finite."""
        if not np.isfinite(solution).all():
            return np.array([np.nan])
        direction[:-1], direction[-1] = solution, 0.0
        if free:
            direction[-2:] = 0.0, solution[-1]
        return np.array([rhs @ solution])


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
