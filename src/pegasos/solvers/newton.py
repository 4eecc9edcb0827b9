"""Newton: exact, for many more rows than features.

The hinge is rounded off within ``width`` of its kink, and the smooth problem

    min s/2 |w|^2 + sum c h(1 - y (w.x + b)),   h' = min(1, max(0, 1/2 + m / 2 width))

is solved by Newton's method with an exact line search, while the width shrinks. The duals are
a = c h'(m): in the box whatever w is, so that D is a bound at every step. What rounding leaves
between P and D is at most c width / 8 for each row within ``width`` of the kink, and there are the
fewer of those the smaller it is. So the width falls with the square root of the gap: a gap of 1e-3
takes one of a few hundredths, where the problem is still smooth and Newton's method quick.

Only rows within ``width`` of the kink are curved, so that the matrix of an iteration is the sum
over a part of the rows, and sum a y x changes by the rows whose duals do. The products of all rows
with the direction are the one pass over X that each iteration makes; the line search is along these
numbers alone. The squared hinge is smooth by itself.

Where there are hundreds of rows for every feature, the first iterations are made on a sixteenth of
the rows: their solution is close to that of all.

Where features are rarer than the rows near the kink, full steps are far too long, and it takes many
short ones: there InteriorPoint is the better choice. Damping the matrix did not mend that.

An iteration is one step, and one epoch: of a sample, a sixteenth of one. It is cut into phases,
each of which visits the rows range by range, and can pause after any.

State: ``rows`` (slack m = 1 - y f, and its change along the direction), ``w``, ``b``, ``sums`` (the
matrix, and sum a y x as its last row), the numbers of the iteration in hand, and ``place`` (phase,
range).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pegasos import _core
from pegasos.arguments import number
from pegasos.certificate import DualsOf, Floats, GiveUp, never
from pegasos.problem import Problem
from pegasos.solvers import normal
from pegasos.solvers.base import Solver, State
from pegasos.solvers.by_blocks import BlockNewton

_DEFAULT_AIM = 1e-3  # outside of a run
_FIRST_WIDTH = 2.0  # at w = 0 every slack is 1
_NARROWER = 0.3  # at most, at once
_SHARE = 0.5  # of the gap aimed at that rounding may take
_SETTLED = 0.3  # what Newton still gains, over what rounding leaves, before the width shrinks
_EXACT = 0.05  # slope left by the line search
_MOST_TRIES = 60
_STEADY = 1e-3
_IDLE_STEPS = 300  # without a smaller gap: there is none to be had
_SAMPLED = 16  # of so many rows, one belongs to the sample
_ROWS_PER_FEATURE = 512  # that make one worth its while
_FEWEST_ROWS = 1 << 14
_SAMPLE_WIDTH = 0.2  # at which the sample has done its part
_NEXT_WIDTH = 0.4  # with which all rows begin: what they differ by from the sample is within
_LAST_DIGITS = 1e-14

_PHASES = ("point", "along", "line")

# Entries of state["totals"], in the order of _core.Newton.point.
_LOSS, _DUAL, _ROUNDED, _BALANCE = range(4)
# Entries of state["search"].
_STEP, _LOW, _HIGH, _SLOPE, _TRIES = range(5)
# Entries of state["numbers"].
_BEFORE, _WIDTH, _GAIN, _AIM, _EVERY, _BEST, _IDLE = range(7)
# Entries of state["flags"].
_STARTED, _STALLED, _MOVING = range(3)


@dataclass(frozen=True, kw_only=True)
class Newton(Solver):
    """Newton's method on the smoothed hinge, one lane at a time.

    ``aim`` is the relative gap it makes for; None is the ``tol`` of the run.
    """

    aim: float | None = None

    name: ClassVar[str] = "newton"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    losses: ClassVar[frozenset[str]] = frozenset({"hinge", "squared_hinge"})
    exact: ClassVar[bool] = True
    by_blocks: ClassVar[bool] = True
    lanes_apart: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        """Check the option."""
        if self.aim is not None and not 0 <= number("aim", self.aim) < math.inf:
            raise ValueError(f"aim must be finite and not negative, or None, got {self.aim}")

    def aimed_at(self, tol: float) -> Newton:
        """Shrink the width as far as ``tol`` needs, unless told otherwise."""
        return replace(self, aim=tol) if self.aim is None else self

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from w = 0."""
        d = problem.rows.d
        normal.check_features("Newton", d)
        rows = np.zeros((_core.Newton.ARRAYS, 0 if problem.elsewhere else problem.n))
        rows[0] = 1.0
        return State(
            {
                "rows": rows,
                "w": np.zeros(d + 1),
                "b": np.zeros(1),
                "sums": np.zeros((d + 2, d + 1)),
                "direction": np.zeros(d + 2),  # dw, db
                "totals": np.zeros(4),
                "line": np.zeros(2),
                "search": np.zeros(5),
                "numbers": np.array(
                    [0.0, _FIRST_WIDTH, math.inf, self._goal, _every(problem), math.inf, 0.0]
                ),
                "flags": np.zeros(3, dtype=np.int64),
                "place": np.zeros(2, dtype=np.int64),
                "cursor": np.zeros(2, dtype=np.int64),
            }
        )

    def passes(self, problem: Problem, state: State) -> Any:
        """The passes over the rows that an iteration is made of."""
        if problem.rows.blocks is not None:
            return BlockNewton(problem, state["rows"])
        return _core.Newton(problem.core, state["rows"])

    def turn(
        self, passes: Any, state: State, s: float, intercept: float | None, rhs: Floats
    ) -> float | None:
        """Write the direction of a right-hand side; what it gains, None if there is none.

        s is added to the matrix of the last point, and ``intercept`` in the place of a free one.
        """
        if isinstance(passes, BlockNewton):
            passes.end_matrix(state["sums"][:-1])
        factor = np.empty((rhs.size, rhs.size), order="F")
        if not normal.factor(state["sums"][:-1], s, intercept, factor):
            return None
        return normal.solve(factor, rhs, intercept is not None, state["direction"])

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Iterate; a step is an iteration, which counts as one visit of each of its rows."""
        iteration = _Iteration(self, problem, state, self.passes(problem, state))
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            if self.stalled(problem, state):
                state["cursor"][:] += (problem.n, 1)
                work -= problem.n
                continue
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                work -= iteration.visit_range()
        return True

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W as it stands; b, if free, is found by the certificate."""
        return state["w"].reshape(problem.weights_shape)

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """The derivatives of the smoothed loss."""
        slack, width = state["rows"][0], self.width(state)
        return lambda lo, hi: smoothed_duals(problem, slack, width, lo, hi)

    def width(self, state: State) -> float:
        """How far from its kink the hinge is rounded off."""
        return float(state["numbers"][_WIDTH])

    def every(self, state: State) -> int:
        """Of how many rows one is looked at; 1 is all of them."""
        return int(state["numbers"][_EVERY])

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap at the last point; infinite where it is that of a sample."""
        if self.stalled(problem, state) or self.every(state) > 1:
            return np.full(problem.lanes, np.inf)
        return _gap(problem, state)

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether nothing is left to gain, or nothing was gained for long."""
        return bool(state["flags"][_STALLED])

    def refused(self, problem: Problem, state: State) -> None:
        """Aim further, if the estimate was good enough and the proof was not."""
        gaps = self.estimate(problem, state)
        if gaps is not None and gaps.max() <= self._goal:
            state["numbers"][_AIM] *= 0.25

    @property
    def _goal(self) -> float:
        return _DEFAULT_AIM if self.aim is None else self.aim


def smoothed_duals(problem: Problem, slack: Floats, width: float, lo: int, hi: int) -> Floats:
    """The derivatives of the smoothed loss of rows lo..hi-1, as (hi - lo, 1)."""
    m, costs = slack[lo:hi, None], problem.costs(lo, hi)
    if problem.loss == "squared_hinge":
        return np.asarray(2 * costs * np.maximum(m, 0.0))
    return np.asarray(costs * np.clip(0.5 + m * (0.5 / width), 0.0, 1.0))


def _gap(problem: Problem, state: State) -> Floats:
    """The relative gap; what duals out of balance cost a free intercept is a guess."""
    totals = state["totals"]
    dual = totals[_DUAL]
    if problem.intercept == "free":
        dual = dual - abs(totals[_BALANCE])
    return normal.gap(problem, state["w"], state["sums"][-1], totals[_LOSS], dual)


def _every(problem: Problem) -> int:
    """Of how many rows one is in the first sample; 1 if there is none."""
    n, d = int(problem.lane_rows[0]), problem.rows.d
    if problem.rows.blocks is not None and not problem.rows.blocks.aligned:
        return 1
    return _SAMPLED if n >= max(_FEWEST_ROWS, _ROWS_PER_FEATURE * d) else 1


class _Iteration:
    """The phases over the arrays of a state."""

    def __init__(self, solver: Newton, problem: Problem, state: State, passes: Any) -> None:
        self.solver, self.problem, self.state = solver, problem, state
        self.free = problem.intercept == "free"
        self.core = passes
        self.ranges = normal.row_ranges(problem)

    def visit_range(self) -> int:
        """Do one range of the phase in hand; the rows visited."""
        state = self.state
        self.every = self.solver.every(state)
        # Of a sample, the loss and so the penalty are a part.
        self.s = float(self.problem.s[0]) / self.every
        phase, index = (int(v) for v in state["place"])
        name = _PHASES[phase]
        if index == 0 and name != "along":
            getattr(self, f"_begin_{name}")()
        lo, hi = self.ranges[index]
        getattr(self, f"_visit_{name}")(lo, hi)
        state["place"][1] += 1
        if index + 1 == len(self.ranges):
            following = getattr(self, f"_end_{name}")()
            state["place"][:] = _PHASES.index(following), 0
        return max(1, (hi - lo) // self.every)

    # Where the step leads: the duals there, the matrix, and the next direction.
    def _begin_point(self) -> None:
        state = self.state
        if not state["flags"][_MOVING]:
            self._step_by(float(state["search"][_STEP]))
        state["flags"][_MOVING] = 0
        state["sums"][:-1] = 0.0
        state["totals"][:] = 0.0

    def _step_by(self, step: float) -> None:
        state = self.state
        state["w"][:] += step * state["direction"][:-1]
        state["b"][:] += step * state["direction"][-1]

    def _visit_point(self, lo: int, hi: int) -> None:
        state, numbers = self.state, self.state["numbers"]
        state["totals"][:] += self.core.point(
            lo,
            hi,
            self.every,
            float(state["search"][_STEP]),
            float(numbers[_BEFORE]),
            float(numbers[_WIDTH]),
            1.0 if self.free else self.problem.bias,
            state["sums"],
        )

    def _end_point(self) -> str:
        state, numbers = self.state, self.state["numbers"]
        numbers[_BEFORE] = numbers[_WIDTH]
        if state["flags"][_STARTED]:
            state["cursor"][:] += (max(1, self.problem.n // self.every), 1)
        state["flags"][_STARTED] = 1
        done = not self._turn() or self._exhausted()
        if self.every > 1 and (done or state.steps >= _SAMPLED):
            return self._move(0.0)
        state["flags"][_STALLED] = done
        return "along"

    def _exhausted(self) -> bool:
        """Whether nothing is left to gain, or nothing was gained for long."""
        numbers, rounded = self.state["numbers"], self.state["totals"]
        left = _LAST_DIGITS * self._primal()
        if max(numbers[_GAIN], self._missed()) <= left:
            if rounded[_ROUNDED] <= left:
                return True
            numbers[_AIM] *= 0.25  # this width is done with
        gap = math.inf if self.every > 1 else max(0.0, float(_gap(self.problem, self.state)[0]))
        better = self.every > 1 or gap < 0.9 * numbers[_BEST]
        numbers[_BEST] = min(gap, numbers[_BEST])
        numbers[_IDLE] = 0 if better else numbers[_IDLE] + 1
        return bool(numbers[_IDLE] >= _IDLE_STEPS)

    def _missed(self) -> float:
        """What w, and a free b, not being those of the duals leaves between P and D."""
        missing = self._missing()
        balance = abs(float(self.state["totals"][_BALANCE])) if self.free else 0.0
        return float(missing @ missing) / (2 * self.s) + balance

    def _missing(self) -> Floats:
        """What sum a y x has more than s w: zero at the optimum."""
        missing: Floats = self.state["sums"][-1] - self.s * self.state["w"]
        return missing

    def _turn(self) -> bool:
        """The direction from here, and what a full step would gain if the matrix stayed."""
        state = self.state
        rhs, intercept = self._missing(), None
        if self.free:
            # b is not penalised; a little keeps it finite where no row is near the kink.
            intercept = _STEADY * min(self.s, float(self.problem.cost[0]) / self.every)
            rhs[-1] = state["totals"][_BALANCE]
        gain = self.solver.turn(self.core, state, self.s, intercept, rhs)
        if gain is None:
            return False
        state["numbers"][_GAIN] = gain
        state["search"][:] = 1.0, 0.0, math.inf, -gain, 0.0
        return True

    # The slacks along the direction.
    def _visit_along(self, lo: int, hi: int) -> None:
        direction = self.state["direction"]
        self.core.along(lo, hi, self.every, direction[:-1], float(direction[-1]))

    def _end_along(self) -> str:
        return "point" if self.state["flags"][_MOVING] else "line"

    # The exact line search: Newton's method on the slope, kept between two steps that enclose it.
    def _begin_line(self) -> None:
        self.state["line"][:] = 0.0

    def _visit_line(self, lo: int, hi: int) -> None:
        state = self.state
        state["line"][:] += self.core.line(
            lo, hi, self.every, float(state["search"][_STEP]), float(state["numbers"][_WIDTH])
        )

    def _end_line(self) -> str:
        """Look at another step, or take this one."""
        state, search = self.state, self.state["search"]
        step, w, dw = float(search[_STEP]), state["w"], state["direction"][:-1]
        slope = self.s * float(w @ dw + step * (dw @ dw)) + float(state["line"][0])
        curvature = self.s * float(dw @ dw) + float(state["line"][1])
        search[_TRIES] += 1
        exact = abs(slope) <= _EXACT * abs(search[_SLOPE])
        # Beyond the minimum a slope can be small at any distance: it has to be just behind.
        if exact and (slope <= 0 or 2 * slope <= curvature * step):
            return self._plan(step)
        if search[_TRIES] >= _MOST_TRIES:
            search[_STEP] = search[_LOW]
            return self._plan(float(search[_LOW]))
        search[_HIGH if slope > 0 else _LOW] = step
        low, high = float(search[_LOW]), float(search[_HIGH])
        wanted = step - slope / curvature if curvature > 0 else math.inf
        if math.isinf(high):
            wanted = min(wanted, 4 * step)
        elif not low < wanted < high:
            wanted = (low + high) / 2 if low > 0 else high / 16
        search[_STEP] = wanted
        return "line"

    def _plan(self, step: float) -> str:
        """The width of the next iteration, by how this one went."""
        numbers, rounded = self.state["numbers"], float(self.state["totals"][_ROUNDED])
        gain = numbers[_GAIN] * (1.0 if step < 0.5 else 0.1)
        allowed = _SHARE * numbers[_AIM] * self._primal()
        if gain < _SETTLED * rounded:
            if self.every > 1 and (numbers[_WIDTH] <= _SAMPLE_WIDTH or rounded <= allowed):
                return self._move(step)
            if rounded > allowed:
                numbers[_WIDTH] *= max(_NARROWER, math.sqrt(allowed / rounded))
        return "point"

    def _move(self, step: float) -> str:
        """From the sample to all rows: their slacks are 1, and change along w as it is now."""
        state = self.state
        self._step_by(step)
        state["direction"][:-1], state["direction"][-1] = state["w"], state["b"][0]
        if self.problem.elsewhere:
            self.core.fresh()
        else:
            state["rows"][0] = 1.0
        state["sums"][-1] = 0.0
        state["search"][_STEP] = 1.0
        state["numbers"][[_BEFORE, _WIDTH, _EVERY]] = 0.0, _NEXT_WIDTH, 1.0
        state["flags"][_MOVING] = 1
        return "along"

    def _primal(self) -> float:
        """The objective times N."""
        w = self.state["w"]
        return self.s / 2 * float(w @ w) + float(self.state["totals"][_LOSS])
