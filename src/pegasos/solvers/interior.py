"""InteriorPoint: exact, for many rows and up to a few thousand features.

Mehrotra's predictor-corrector method with Gondzio's centrality correctors on the slack form

    min s/2 |w|^2 + sum c xi    subject to  r = y (w.x + b) - o + xi >= 0,  xi >= 0

with duals a of the first constraint and v = c - a of the second. A Newton step solves

    da = D (h - y (dw.x + db)),   D = 1 / (r/a + xi/v),   h = ra/a - rv/v - (what r misses)
    (s I + X'DX) dw + X'D db = X'D h y + (X'(a y) - s w)       and its border for b

so that each iteration needs one (d + 1) x (d + 1) Cholesky factor, and four to twelve passes over
the rows. The number of iterations hardly depends on C. Start: w = 0, b = 0, a = c/2, r and xi at
one unit (more for a row of a cost far below the mean);
where one class outweighs the other, its duals start lower, so that sum a y is nearer to 0. If the
first direction finds the rows next to separable, r and xi start again at twice the margins there.

The central path is a weighted one: products v xi are to be mu, but a r only share * mu, less where
one class is rare. A row on the right side has a = share * mu / r, and all such rows together push w
away from them. With share = 1 that outweighs a rare class until mu is tiny: w then moves far as mu
falls, while the slacks of the rows near the margin, of the size of mu, only let it take short
steps. The duals stay inside the box, so D is valid at every iteration. A loss whose duals have no
upper bound has xi = kappa a and no v.

An iteration is one epoch and one step. It is cut into phases (``interior_phases``), each of which
visits the rows block by block, and can pause after any block. On one machine lanes are trained one
after the other; where the passes take several they go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never
from pegasos.losses import LOSSES
from pegasos.problem import Problem
from pegasos.sites import Passes, RowMethod
from pegasos.sites.method import About
from pegasos.solvers import interior_phases as phases
from pegasos.solvers import normal
from pegasos.solvers.interior_rows import ROWS
from pegasos.state import COUNTS, Field, State, expect


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(normal.SecondOrder):
    """Predictor-corrector interior point method, one lane at a time."""

    name: ClassVar[str] = "interior"
    # Rows have either an upper end of the box or a bend: v and xi are what is left to the one, or
    # follow the other.
    losses: ClassVar[frozenset[str]] = frozenset(
        name for name, loss in LOSSES.items() if loss.bounded is not loss.curved
    )
    method: ClassVar[RowMethod] = ROWS

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """The point, and the sums and matrices of the iteration in hand."""
        d = problem.rows.d
        gram, factor = Field("gram", (d + 1, d + 1)), Field("factor", (_core.factor_size(d + 1),))
        return (
            # a, v, r, xi, margins, D and two directions.
            Field("rows", (_core.Interior.ARRAYS, "rows"), check=_check_duals),
            Field("w", (d + 1, "lanes")),
            Field("b", ("lanes",)),
            Field("vectors", (3, d + 1, "lanes")),  # sum a y x; affine rhs; its derivative by mu
            Field("sums", (7, "lanes")),
            Field("rhs", (d + 1, "lanes")),
            Field("second", (d + 1, "lanes")),  # what is added to it
            Field("parts", (4, "lanes")),
            Field("direction", (d + 2, "lanes")),  # dw, db
            Field("taken", (d + 2, "lanes")),  # the best so far
            Field("lengths", (2, "lanes"), start=1),  # of the primal and the dual step
            Field("tried", (2, "lanes"), start=1),
            Field("mu", ("lanes",)),  # aimed at
            Field("share", ("lanes",), check=partial(_check_share, problem)),  # of mu, for a r
            Field("step", ("lanes",)),
            Field("missed", ("lanes",)),  # |sum a y x - s w|^2
            Field("losses", (phases.TRIALS, "lanes")),  # along the first direction
            Field("slack", ("lanes",)),  # to start again with, if not 0
            Field("flags", (phases.FLAGS, "lanes"), np.int64),
            normal.place(problem, phases.PHASES, phases.MATRIX, phases.POINT),
            COUNTS,
            *((gram, factor) if problem.site.matrices_here else ()),
        )

    def lanes_at_once(self, problem: Problem) -> int:
        """As many as the site's passes take."""
        return problem.site.lanes_at_once(ROWS, problem)

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start in the middle of the box, but nearer to sum a y = 0."""
        normal.check_features("InteriorPoint factors a matrix", problem)
        about = self.about(problem)
        rows, there = problem.site.begin(ROWS, problem, about, seed)
        share = about["share"]
        return State.begin(problem.sizes, self.fields(problem), there, share=share, **rows)

    def about(self, problem: Problem) -> About:
        """Where the duals and slacks of either class start."""
        return lightened(problem)._asdict() | {"most_slack": phases.MOST_SLACK}

    def begin_again(self, state: State) -> None:
        """As at the start: the point is looked at, and no step leads to it."""
        state["flags"][phases.STARTED] = 0
        state["place"][:] = phases.POINT, 0

    def passes(self, problem: Problem, state: State) -> Passes:
        """The passes over the rows that an iteration is made of."""
        swapped = bool(state["flags"][phases.SWAPPED, 0])
        about = {"share": state["share"], "swapped": swapped}
        return problem.site.passes(ROWS, problem, state, about)

    def iteration(self, problem: Problem, state: State) -> phases.Iteration:
        """The phases."""
        return phases.Iteration(problem, state, self.passes(problem, state))

    def idle(self, problem: Problem, state: State) -> bool:
        """An iteration in hand is ended, though all lanes have stalled."""
        return self.stalled(problem, state) and not state["place"].any()

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W as it stands; b, if free, is found by the certificate."""
        if problem.lanes == 1:
            return state["w"]
        W = np.zeros(problem.weights_shape)
        W[:, : problem.lanes] = state["w"]
        return W

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """The duals; rounding may have brought one to the box's edge, and sum a y off 0."""
        return problem.site.duals(ROWS, problem, state, balancing(problem, state))

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gaps from the residuals of the last point; exact but for a free intercept.

        Infinite once a lane has stalled: nothing will come of another certificate.
        """
        sums = state["sums"]
        dual = sums[phases.DUAL] - state["b"] * sums[phases.BALANCE]
        gaps = normal.gap(problem, state["w"], state["vectors"][0], sums[phases.LOSS], dual)
        return np.where(state["flags"][phases.STALLED] != 0, np.inf, gaps)

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether the last digits are reached: iterating further gains nothing."""
        return bool(state["flags"][phases.STALLED].all())


def balancing(problem: Problem, state: State) -> Floats:
    """(K,) steps of a free b that bring sum a y to 0: the factor of -D y in the duals.

    0 while a step is being taken, and the sums are those of some of the rows.
    """
    sums = state["sums"]
    phase, block = state["place"]
    if problem.intercept != "free" or (phase == phases.POINT and block > 0):
        return np.zeros(problem.lanes)
    some = (sums[phases.SCALE] > 0) & np.isfinite(sums[phases.SCALE])
    return np.where(some, sums[phases.BALANCE] / np.where(some, sums[phases.SCALE], 1.0), 0.0)


def _check_duals(state: State, name: str) -> None:
    """None has left the box at 0."""
    expect((state[name][0] >= 0).all(), f"{name} has duals below 0")


def _check_share(problem: Problem, state: State, name: str) -> None:
    """That of these classes, whose weights may have been added up in another order."""
    share = lightened(problem).share
    expect(np.allclose(state[name], share, rtol=1e-9, atol=0), f"{name} is that of other classes")


class Lightened(NamedTuple):
    """How much less weight the rows of the heavier class have; (K,) each."""

    positive: Floats  # factor of the duals of y = +1 at the start; 1 for the lighter class
    negative: Floats
    share: Floats  # of mu that a r is aimed at; 1 where no class is rare
    typical: Floats  # cost below which a row starts with more slack


def lightened(problem: Problem) -> Lightened:
    """The heavier class starts lower, which brings sum a y towards 0, but not into a corner.

    By ratio^0.7, where ratio is the lighter class's costs over the heavier's; the share is
    (10 ratio)^2, at most 1. Neither is less than 0.01.
    """
    up, down = problem.class_costs
    most = np.maximum(up, down)
    ratio = np.minimum(up, down) / np.where(most > 0, most, 1.0)
    start = np.maximum(ratio**phases.START_POWER, phases.LEAST_SHARE)
    return Lightened(
        positive=np.where(up > down, start, 1.0),
        negative=np.where(up > down, 1.0, start),
        share=np.clip((ratio / phases.RARE_CLASS_RATIO) ** 2, phases.LEAST_SHARE, 1.0),
        typical=phases.LIGHT_ROW * (up + down) / np.maximum(problem.lane_rows, 1),
    )
