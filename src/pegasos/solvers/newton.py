"""Newton: exact, for many more rows than features.

The loss is rounded off within ``width`` of its kink, and the smooth problem, of the hinge

    min s/2 |w|^2 + sum c h(1 - y (w.x + b)),   h' = min(1, max(0, 1/2 + m / 2 width))

is solved by Newton's method with an exact line search, while the width shrinks. The duals are
a = c h'(m): in the box whatever w is, so that D is a bound at every step. What rounding leaves
between P and D is at most c width / 8 for each row within ``width`` of the kink, and there are the
fewer of those the smaller it is. So the width falls with the square root of the gap: a gap of 1e-3
takes one of a few hundredths, where the problem is still smooth and Newton's method quick.

Only rows within ``width`` of the kink are curved, so that the matrix of an iteration is the sum
over a part of the rows, and sum a y x changes by the rows whose duals do. The products of all rows
with the direction are the one pass over X that each iteration makes; the line search is along these
numbers alone. A curved loss is smooth by itself.

Where there are hundreds of rows for every feature, the first iterations are made on a sixteenth of
the rows: their solution is close to that of all.

Where features are rarer than the rows near the kink, full steps are far too long, and it takes many
short ones: there InteriorPoint is the better choice. Damping the matrix did not mend that.

An iteration is one step, and one epoch: of a sample, a sixteenth of one. It is cut into phases
(``newton_phases``), each of which visits the rows range by range, and can pause after any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never
from pegasos.problem import Problem
from pegasos.sites import Passes, RowMethod
from pegasos.sites.method import About
from pegasos.solvers import newton_phases as phases
from pegasos.solvers import normal
from pegasos.solvers.newton_rows import ROWS
from pegasos.state import COUNTS, Field, State
from pegasos.util.arguments import number


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The rows that make a sample worth its while."""

    fewest_rows: int = 1 << 14
    rows_per_feature: int = 512

    def every(self, problem: Problem) -> int:
        """Of how many rows one is in the first sample; 1 if there is none."""
        rows = max(self.fewest_rows, self.rows_per_feature * problem.rows.d)
        return phases.SAMPLED if problem.site.samples and problem.lane_rows[0] >= rows else 1


@dataclass(frozen=True, kw_only=True)
class Newton(normal.SecondOrder):
    """Newton's method on the smoothed hinge, one lane at a time.

    ``aim`` is the relative gap it makes for; None is the ``tol`` of the run.
    """

    aim: float | None = None
    sampling: Sampling = field(default=Sampling(), repr=False)

    name: ClassVar[str] = "newton"
    method: ClassVar[RowMethod] = ROWS

    def __post_init__(self) -> None:
        """Check the option."""
        if self.aim is not None and not 0 <= number("aim", self.aim) < math.inf:
            raise ValueError(f"aim must be finite and not negative, or None, got {self.aim}")

    def aimed_at(self, tol: float) -> Newton:
        """Shrink the width as far as ``tol`` needs, unless told otherwise."""
        return replace(self, aim=tol) if self.aim is None else self

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """The point, the matrix, and the numbers of the iteration in hand."""
        d = problem.rows.d
        return (
            Field("rows", (_core.Newton.ARRAYS, "rows")),  # slack m = 1 - y f, and its change
            Field("w", (d + 1,)),
            Field("b", (1,)),
            Field("sums", (d + 2 if problem.site.matrices_here else 1, d + 1)),  # last: sum a y x
            Field("direction", (d + 2,)),  # dw, db
            Field("totals", (4,)),
            Field("line", (2,)),
            Field("search", (5,)),
            Field("numbers", (7,), check=phases.check_numbers),
            Field("flags", (3,), np.int64),
            normal.place(problem, phases.PHASES, phases.MATRIX),
            COUNTS,
        )

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from w = 0."""
        normal.check_features("Newton factors a matrix", problem)
        about, width = self.about(problem), phases.FIRST_WIDTH * float(problem.unit[0])
        rows, there = problem.site.begin(ROWS, problem, about, seed)
        numbers = [0.0, width, math.inf, self._goal, about["every"], math.inf, 0.0]
        return State.begin(problem.sizes, self.fields(problem), there, numbers=numbers, **rows)

    def about(self, problem: Problem) -> About:
        """The rows of the first sample."""
        return {"every": self.sampling.every(problem)}

    def begin_again(self, state: State) -> None:
        """Slacks are those of w = 0, and change along w."""
        phases.look_at_all(state, self.width(state))

    def passes(self, problem: Problem, state: State) -> Passes:
        """The passes over the rows that an iteration is made of."""
        return problem.site.passes(ROWS, problem, state, {})

    def iteration(self, problem: Problem, state: State) -> phases.Iteration:
        """The phases."""
        return phases.Iteration(problem, state, self.passes(problem, state))

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W as it stands; b, if free, is found by the certificate."""
        return state["w"].reshape(problem.weights_shape)

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """The derivatives of the smoothed loss."""
        return problem.site.duals(ROWS, problem, state, np.array([self.width(state)]))

    def width(self, state: State) -> float:
        """How far from its kink the hinge is rounded off."""
        return float(state["numbers"][phases.WIDTH])

    def every(self, state: State) -> int:
        """Of how many rows one is looked at; 1 is all of them."""
        return int(state["numbers"][phases.EVERY])

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap at the last point; infinite where it is that of a sample."""
        if self.stalled(problem, state) or self.every(state) > 1:
            return np.full(problem.lanes, np.inf)
        return phases.point_gap(problem, state)

    def worth_certifying(self, problem: Problem, state: State) -> float:  # noqa: ARG002
        """What a certificate costs, the site's passes know."""
        return problem.site.worth_certifying(ROWS)

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether nothing is left to gain, or nothing was gained for long."""
        return bool(state["flags"][phases.STALLED])

    def refused(self, problem: Problem, state: State) -> None:
        """Aim further, if the estimate was good enough and the proof was not."""
        gaps = self.estimate(problem, state)
        if gaps is not None and gaps.max() <= self._goal:
            state["numbers"][phases.AIM] *= phases.AIM_RATIO
        if self.passes(problem, state).look_again():
            phases.look_at_all(state, self.width(state))

    @property
    def _goal(self) -> float:
        return phases.DEFAULT_AIM if self.aim is None else self.aim
