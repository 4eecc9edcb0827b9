"""InteriorPoint: exact, for many rows and up to a few thousand features.

Mehrotra's predictor-corrector method with Gondzio's centrality correctors on the slack form

    min s/2 |w|^2 + sum c xi    subject to  r = y (w.x + b) - 1 + xi >= 0,  xi >= 0

with duals a of the first constraint and v = c - a of the second. A Newton step solves

    da = D (h - y (dw.x + db)),   D = 1 / (r/a + xi/v),   h = ra/a - rv/v - (what r misses)
    (s I + X'DX) dw + X'D db = X'D h y + (X'(a y) - s w)       and its border for b

so that each iteration needs one (d + 1) x (d + 1) Cholesky factor, and four to twelve passes over
the rows. The number of iterations hardly depends on C. Start: w = 0, b = 0, a = c/2, r = xi = 1;
where b is free and one class outweighs the other, its duals start lower, so that sum a y is nearer
to 0, which halves the iterations of one class against nine. The duals stay inside the box, so D is
valid at every iteration. The squared hinge, sum c xi^2, has xi = a / 2c and no v.

An iteration is one epoch and one step. It is cut into phases (``interior_phases``), each of which
visits the rows block by block, and can pause after any block.

State: ``rows`` (a, v, r, xi, margins, D and two directions, one row of the array each), ``w``,
``b``, the sums and matrices of the iteration in hand, and ``place`` (phase, block).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never
from pegasos.problem import Problem
from pegasos.solvers import normal
from pegasos.solvers.base import Solver, State
from pegasos.solvers.by_blocks import BlockInterior
from pegasos.solvers.interior_phases import DUAL, LOSS, POINT, STALLED, Iteration

_LEAST_SHARE = 0.2  # of c/2, in the heavier class


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Predictor-corrector interior point method, one lane at a time."""

    name: ClassVar[str] = "interior"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    losses: ClassVar[frozenset[str]] = frozenset({"hinge", "squared_hinge"})
    exact: ClassVar[bool] = True
    by_blocks: ClassVar[bool] = True
    lanes_apart: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start in the middle of the box; with a free intercept, nearer to sum a y = 0."""
        d = problem.rows.d
        normal.check_features("InteriorPoint", d)
        rows = np.zeros((1, 0))
        if not problem.elsewhere:
            rows = self.start_rows(problem, lightened(problem))
        return State(
            {
                "rows": rows,
                "w": np.zeros(d + 1),
                "b": np.zeros(1),
                "vectors": np.zeros((3, d + 1)),  # sum a y x; affine rhs; its derivative by mu
                "sums": np.zeros(7),
                "gram": np.zeros((d + 1, d + 1)),
                "factor": np.zeros((d + 1, d + 1), order="F"),
                "rhs": np.zeros(d + 1),
                "second": np.zeros(d + 1),  # what is added to it
                "parts": np.zeros(4),
                "direction": np.zeros(d + 2),  # dw, db
                "taken": np.zeros(d + 2),  # the best so far
                "lengths": np.ones(2),  # of the primal and the dual step
                "tried": np.ones(2),
                "mu": np.zeros(1),  # aimed at
                "step": np.zeros(1),
                "flags": np.zeros(4, dtype=np.int64),
                "place": np.array([POINT, 0]),  # phase, block
                "cursor": np.zeros(2, dtype=np.int64),
            }
        )

    @staticmethod
    def start_rows(problem: Problem, shares: dict[int, float]) -> Floats:
        """The variables of the rows; ``shares`` of the duals' start, by label."""
        rows = np.zeros((_core.Interior.ARRAYS, problem.n))
        costs, labels = problem.costs()[:, 0], problem.labels[:, 0]
        rows[0] = costs / 2 * np.where(labels > 0, shares[1], shares[-1])
        rows[1], rows[2], rows[3] = costs - rows[0], 1.0, 1.0
        return rows

    def passes(self, problem: Problem, state: State) -> Any:
        """The passes over the rows that an iteration is made of."""
        if problem.rows.blocks is not None:
            return BlockInterior(problem, state["rows"])
        return _core.Interior(problem.core, state["rows"])

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Iterate; a step is an iteration, which counts as one visit of each."""
        iteration = Iteration(problem, state, self.passes(problem, state))
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            if self.stalled(problem, state) and not state["place"].any():
                state["cursor"][:] += (problem.n, 1)
                work -= problem.n
                continue
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                work -= iteration.visit_block()
        return True

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W as it stands; b, if free, is found by the certificate."""
        return state["w"].reshape(problem.weights_shape)

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """The duals themselves; rounding may have brought one to the box's edge."""
        a = state["rows"][0]
        return lambda lo, hi: np.minimum(a[lo:hi, None], problem.largest_duals(lo, hi))

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap from the residuals of the last point; exact but for a free intercept.

        Infinite once the run has stalled: nothing will come of another certificate.
        """
        if self.stalled(problem, state):
            return np.full(problem.lanes, np.inf)
        sums = state["sums"]
        return normal.gap(problem, state["w"], state["vectors"][0], sums[LOSS], sums[DUAL])

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether the last digits are reached: iterating further gains nothing."""
        return bool(state["flags"][STALLED])


def lightened(problem: Problem) -> dict[int, float]:
    """Factors of the duals by label: with a free intercept the heavier class starts lower.

    That brings sum a y towards 0, but not far into a corner.
    """
    if problem.intercept != "free":
        return {1: 1.0, -1: 1.0}
    up, down = (float(side[0]) for side in problem.class_costs)
    share = max(min(up, down) / (max(up, down) or 1.0), _LEAST_SHARE)
    return {1: share, -1: 1.0} if up > down else {1: 1.0, -1: share}
