"""One iteration of Newton's method, cut into phases over ranges of rows.

Each phase visits every range and can pause after any: what it has summed up so far is in the state.
The site's passes look at rows, and nothing else does.
"""

from __future__ import annotations

import math

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites import Passes
from pegasos.solvers import normal
from pegasos.state import State, expect

# The tuned numbers of Newton. With them, data of many rows for every feature take 6 to 12
# iterations to 1e-3 (benchmarks/auto.py times Newton as a whole). None was measured apart.

# The width of the rounding, in units, and when it shrinks.
FIRST_WIDTH = 2.0  # at w = 0 every slack is of that size
_LEAST_WIDTH_RATIO = 0.2  # of a width to the one before
_ROUNDING_SHARE_OF_AIM = 0.5  # of the gap aimed at, that rounding may take
_GAIN_OVER_ROUNDING = 1.0  # what Newton still gains to what rounding leaves: below it, shrink
DEFAULT_AIM = 1e-3  # the gap aimed at outside of a run
AIM_RATIO = 0.25  # of an aim to the one before, where that was met and proved too little

# The line search, and the system of an iteration.
_SLOPE_LEFT = 0.05  # of the first slope, by a line search that counts as exact
MOST_TRIES = 60  # steps in a line search: more halvings than float64 has digits
_INTERCEPT_RIDGE = 1e-3  # of s, or of c / unit if that is less: keeps b finite, see _turn

# The sample: where rows are many, only the first iterations look at it.
SAMPLED = 16  # of so many rows, one belongs to the sample
_WIDTH_TO_LEAVE_SAMPLE = 0.2  # in units, at which the sample has done its part
_ROUNDING_TO_LEAVE_SAMPLE = 1.2  # times what it may take: widths come ever closer, from above
# In units, with which all rows begin: what they differ by from the sample is within. That is so
# many times root(features / rows of the sample), between the two widths.
_NEXT_WIDTHS = 0.05, 0.4
_SAMPLE_ERRORS = 6.0

# The end.
_LEAST_GAIN = 1e-14  # of P: what is less is rounding, about fifty times float64's
_GAP_RATIO_OF_PROGRESS = 0.9  # to the best gap so far: a step to more is idle
IDLE_STEPS = 300  # with no such gap: there is none to be had

PHASES = ("point", "along", "line")
MATRIX = "point"  # the phase that adds up a matrix

# Entries of state["totals"], in the order of _core.Newton.point.
_LOSS, _DUAL, _ROUNDED, _BALANCE = range(4)
# Entries of state["search"].
_STEP, _LOW, _HIGH, _SLOPE, TRIES = range(5)
# Entries of state["numbers"].
BEFORE, WIDTH, _GAIN, AIM, EVERY, _BEST, IDLE = range(7)
# Entries of state["flags"].
_STARTED, STALLED, _MOVING = range(3)


def check_numbers(state: State, name: str) -> None:
    """The counters, what rows are looked at, and how far from the kink."""
    numbers, tries = state[name], state["search"][TRIES]
    expect(0 <= tries <= MOST_TRIES, "a line search does not go on for so long")
    expect(0 <= numbers[IDLE] <= IDLE_STEPS, "there are no so many idle steps")
    expect(numbers[EVERY] in (1, SAMPLED), "a sample is none")
    expect(0 < numbers[WIDTH] < math.inf and 0 <= numbers[BEFORE] < math.inf, "a width is none")


def point_gap(problem: Problem, state: State) -> Floats:
    """The relative gap; what duals out of balance cost a free intercept is a guess."""
    totals = state["totals"]
    dual = totals[_DUAL]
    if problem.intercept == "free":
        dual = dual - abs(totals[_BALANCE])
    return normal.gap(problem, state["w"], state["sums"][-1], totals[_LOSS], dual)


def look_at_all(state: State, width: float) -> None:
    """The next range is the first of the products of all rows with w, as if w were 0 before."""
    state["direction"][:-1], state["direction"][-1] = state["w"], state["b"][0]
    state["sums"][-1] = 0.0
    state["search"][_STEP] = 1.0
    state["numbers"][[BEFORE, WIDTH, EVERY, _BEST]] = 0.0, width, 1.0, math.inf
    state["flags"][_MOVING] = 1
    state["place"][:] = PHASES.index("along"), 0


class Iteration:
    """The phases over the arrays of a state."""

    def __init__(self, problem: Problem, state: State, passes: Passes) -> None:
        """Go on where the state stands."""
        self.problem, self.state, self.passes = problem, state, passes
        self.free = problem.intercept == "free"
        self.unit = float(problem.unit[0])
        self.ranges = {
            phase: problem.site.ranges(problem, matrix=phase == MATRIX) for phase in PHASES
        }

    def visit(self) -> int:
        """Do one range of the phase in hand; the rows visited."""
        state = self.state
        self.every = int(state["numbers"][EVERY])
        # Of a sample, the loss and so the penalty are a part.
        self.s = float(self.problem.s[0]) / self.every
        phase, index = (int(v) for v in state["place"])
        name = PHASES[phase]
        if index == 0 and name != "along":
            getattr(self, f"_begin_{name}")()
        lo, hi = self.ranges[name][index]
        getattr(self, f"_visit_{name}")(lo, hi)
        state["place"][1] += 1
        if index + 1 == len(self.ranges[name]):
            following = getattr(self, f"_end_{name}")()
            state["place"][:] = PHASES.index(following), 0
        return max(1, (hi - lo) // self.every)

    # Where the step leads: the duals there, the matrix, and the next direction.
    def _begin_point(self) -> None:
        state = self.state
        if not state["flags"][_MOVING]:
            self._step_by(float(state["search"][_STEP]))
        state["flags"][_MOVING] = 0
        self.passes.begin_matrix()
        state["totals"][:] = 0.0

    def _step_by(self, step: float) -> None:
        state = self.state
        state["w"][:] += step * state["direction"][:-1]
        state["b"][:] += step * state["direction"][-1]

    def _visit_point(self, lo: int, hi: int) -> None:
        state, numbers = self.state, self.state["numbers"]
        self.passes.ask(
            "point", lo, hi, {"totals": state["totals"]},
            every=self.every,
            step=float(state["search"][_STEP]),
            before=float(numbers[BEFORE]),
            width=float(numbers[WIDTH]),
            constant=1.0 if self.free else self.problem.bias,
        )  # fmt: skip

    def _end_point(self) -> str:
        state, numbers = self.state, self.state["numbers"]
        numbers[BEFORE] = numbers[WIDTH]
        if state["flags"][_STARTED]:
            state["cursor"][:] += (max(1, self.problem.n // self.every), 1)
        state["flags"][_STARTED] = 1
        done = not self._turn() or self._exhausted()
        if self.every > 1 and (done or state.steps >= SAMPLED):
            return self._move(0.0)
        if self.passes.astray(done):
            return self._look(float(numbers[WIDTH]))
        state["flags"][STALLED] = done
        return "along"

    def _exhausted(self) -> bool:
        """Whether nothing is left to gain, or nothing was gained for long."""
        numbers, rounded = self.state["numbers"], self.state["totals"]
        left = _LEAST_GAIN * self._primal()
        if max(numbers[_GAIN], self._missed()) <= left:
            if rounded[_ROUNDED] <= left:
                return True
            numbers[AIM] *= AIM_RATIO  # this width is done with
        gap = (
            math.inf if self.every > 1 else max(0.0, float(point_gap(self.problem, self.state)[0]))
        )
        better = self.every > 1 or gap < _GAP_RATIO_OF_PROGRESS * numbers[_BEST]
        numbers[_BEST] = min(gap, numbers[_BEST])
        numbers[IDLE] = 0 if better else numbers[IDLE] + 1
        return bool(numbers[IDLE] >= IDLE_STEPS)

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
            curved = float(self.problem.cost[0]) / self.unit / self.every
            intercept = _INTERCEPT_RIDGE * min(self.s, curved)
            rhs[-1] = state["totals"][_BALANCE]
        last = None if intercept is None else np.array([intercept])
        if not self.passes.factor(np.array([self.s]), last=last).all():
            return False
        gain = float(self.passes.solve(rhs, self.free, state["direction"])[0])
        if math.isnan(gain):
            return False
        state["numbers"][_GAIN] = gain
        state["search"][:] = 1.0, 0.0, math.inf, -gain, 0.0
        return True

    # The slacks along the direction.
    def _visit_along(self, lo: int, hi: int) -> None:
        direction = self.state["direction"]
        dw, db = direction[:-1], float(direction[-1])
        self.passes.ask("along", lo, hi, every=self.every, dw=dw, db=db)

    def _end_along(self) -> str:
        return "point" if self.state["flags"][_MOVING] else "line"

    # The exact line search: Newton's method on the slope, kept between two steps that enclose it.
    def _begin_line(self) -> None:
        self.state["line"][:] = 0.0

    def _visit_line(self, lo: int, hi: int) -> None:
        state = self.state
        step, width = float(state["search"][_STEP]), float(state["numbers"][WIDTH])
        into = {"line": state["line"]}
        self.passes.ask("line", lo, hi, into, every=self.every, step=step, width=width)

    def _end_line(self) -> str:
        """Look at another step, or take this one."""
        state, search = self.state, self.state["search"]
        step, w, dw = float(search[_STEP]), state["w"], state["direction"][:-1]
        slope = self.s * float(w @ dw + step * (dw @ dw)) + float(state["line"][0])
        curvature = self.s * float(dw @ dw) + float(state["line"][1])
        search[TRIES] += 1
        exact = abs(slope) <= _SLOPE_LEFT * abs(search[_SLOPE])
        # Beyond the minimum a slope can be small at any distance: it has to be just behind.
        if exact and (slope <= 0 or 2 * slope <= curvature * step):
            return self._plan(step)
        if search[TRIES] >= MOST_TRIES:
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
        allowed = _ROUNDING_SHARE_OF_AIM * numbers[AIM] * self._primal()
        if gain < _GAIN_OVER_ROUNDING * rounded:
            narrow = numbers[WIDTH] <= _WIDTH_TO_LEAVE_SAMPLE * self.unit
            if self.every > 1 and (narrow or rounded <= _ROUNDING_TO_LEAVE_SAMPLE * allowed):
                return self._move(step)
            if rounded > allowed:
                numbers[WIDTH] *= max(_LEAST_WIDTH_RATIO, math.sqrt(allowed / rounded))
        return "point"

    def _move(self, step: float) -> str:
        """From the sample to all rows."""
        self._step_by(step)
        apart = _SAMPLE_ERRORS * math.sqrt(self.every * self.problem.rows.d / self.problem.n)
        return self._look(min(max(apart, _NEXT_WIDTHS[0]), _NEXT_WIDTHS[1]) * self.unit)

    def _look(self, width: float) -> str:
        """At all rows as they are at w: their slacks are those of w = 0, and change along w."""
        look_at_all(self.state, width)
        self.passes.restart()
        return "along"

    def _primal(self) -> float:
        """The objective times N."""
        w = self.state["w"]
        return self.s / 2 * float(w @ w) + float(self.state["totals"][_LOSS])
