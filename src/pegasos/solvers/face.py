"""Second-order steps on the free duals, for tight tolerances and large C.

Near the optimum the duals at their bounds stay there, and D is a quadratic function of the others,
on the face of the box they span. Coordinate passes crawl along it where C is large; conjugate
gradients do not. A burst solves

    H delta = g,    H = Y X X' Y / s + pull y y' [+ 1 / 2c],   g the gradient of D,   on the face,

with the diagonal of H as preconditioner, until a + delta has left the box in more than a few
coordinates: until then the face was the right one. It then moves to clip(a + t delta) for the first
t of 1, 1/2, 1/4, ... at which D has risen. One lane only.

Bursts come between passes, more often if D rose more per visited row than in the last pass. An
iteration counts as a visit of every row of the face.

State: ``plan`` (integers) and, during a burst, ``face`` (the rows), ``face_rows`` (y, the diagonal
of H, 1/2c), ``burst`` (delta, r, p) and ``burst_sums``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.solvers.base import State

# Of the plan; DONE counts iterations in a burst, -1: none. FLOOR is for free intercepts.
DUE, INTERVAL, DONE, FLOOR = range(4)
_FIRST_DUE, _LONGEST_INTERVAL = 384, 64
_MOST_ITERATIONS, _LOOK_EVERY = 64, 4
_MOST_OF_ALL = 1 / 8  # visits so far
_LARGEST_FACE = 1 << 20
_LEFT = 0.005  # share of the face that may leave the box
_SOLVED = 1e-12  # of r'M r at the start
_TRIALS = 6  # steps of 1, 1/2, 1/4, ...


def fresh_plan() -> NDArray[np.int64]:
    """Nothing done yet."""
    return np.array([_FIRST_DUE, _FIRST_DUE, -1, 0], dtype=np.int64)


def running(state: State) -> bool:
    """Whether a burst has begun."""
    return bool(state["plan"][DONE] >= 0)


class Face:
    """A burst over the arrays of a state."""

    def __init__(self, problem: Problem, state: State, pull: float) -> None:
        """``pull`` is that of a free intercept, else 0."""
        self.problem, self.state, self.pull = problem, state, pull
        self.s = float(problem.s[0])

    def begin(self) -> bool:
        """Start a burst; False if there is no face to speak of."""
        state, plan = self.state, self.state["plan"]
        a = state["duals"][:, 0]
        rows = np.flatnonzero((a > 0) & (a < self.problem.largest_duals()[:, 0])).astype(np.uint32)
        if not 2 <= rows.size <= _LARGEST_FACE:
            self.plan_next(better=False)
            return False
        state.arrays["face"] = rows
        state.arrays["face_rows"] = np.array([self._labels(), self._diagonal(), self._curvatures()])
        gradient = self._gradient()
        preconditioned = gradient / state["face_rows"][1]
        state.arrays["burst"] = np.array([np.zeros(rows.size), gradient, preconditioned])
        rz = float(gradient @ preconditioned)
        if not 0 < rz < np.inf:
            self.forget()
            return False
        state.arrays["burst_sums"] = np.array([rz, rz])
        plan[DONE] = 0
        return True

    @property
    def size(self) -> int:
        """Rows of the face."""
        return int(self.state["face"].size)

    def iterate(self) -> None:
        """One iteration of conjugate gradients; after the last, the step."""
        delta, r, p = self.state["burst"]
        sums, plan = self.state["burst_sums"], self.state["plan"]
        Hp = self._times_hessian(p)
        curvature = float(p @ Hp)
        if curvature > 0 and np.isfinite(curvature):
            length = sums[0] / curvature
            delta += length * p
            r -= length * Hp
            z = r / self.state["face_rows"][1]
            rz = float(r @ z)
            p *= rz / sums[0]
            p += z
            sums[0] = rz
            plan[DONE] += 1
            if self._worth_more() and rz > _SOLVED * sums[1] and not self.left():
                return
        self.finish()

    def _worth_more(self) -> bool:
        """Whether the burst may go on: it gets a small part of the work done so far."""
        done = int(self.state["plan"][DONE])
        return done < _MOST_ITERATIONS and done * self.size < _MOST_OF_ALL * self.state.seen

    def left(self) -> bool:
        """Whether a + delta has left the box in too many coordinates; looked at now and then."""
        if self.state["plan"][DONE] % _LOOK_EVERY:
            return False
        target = self.state["duals"][self.state["face"], 0] + self.state["burst"][0]
        outside = np.count_nonzero((target < 0) | (target > self._largest()))
        return bool(outside > _LEFT * self.size)

    def finish(self) -> None:
        """Move along the direction, and plan the next burst."""
        state, plan = self.state, self.state["plan"]
        rise, trials = self.step(state["burst"][0])
        visits = self.size * (2 + trials + int(plan[DONE]))
        in_pass = state["passes"][0, _core.LANE_PASS.index("rise")]
        active = max(1, int(state["cursor"][0, _core.GROUP_CURSOR.index("active")]))
        self.forget(better=bool(rise / visits > in_pass / active), passes=visits // active)

    def forget(self, *, better: bool = False, passes: int = 0) -> None:
        """End the burst, which took as long as so many ``passes``."""
        for name in ("face", "face_rows", "burst", "burst_sums"):
            self.state.arrays.pop(name, None)
        self.plan_next(better=better, least=passes)

    def plan_next(self, *, better: bool, least: int = 0) -> None:
        """Bursts that pay come sooner, but passes get at least half of the time."""
        plan = self.state["plan"]
        wanted = plan[INTERVAL] // 2 if better else 2 * plan[INTERVAL]
        plan[INTERVAL] = min(_LONGEST_INTERVAL, max(2, wanted))
        if self.pull:
            # Each moves to the best face for the b of the moment, and could go round in circles
            # with it: so they become rare.
            plan[FLOOR] += 1 + plan[FLOOR] // 16
            plan[INTERVAL] = max(plan[INTERVAL], plan[FLOOR])
        passes = int(self.state["cursor"][0, _core.GROUP_CURSOR.index("passes")])
        plan[DUE], plan[DONE] = passes + max(least, int(plan[INTERVAL])), -1

    def step(self, delta: Floats) -> tuple[float, int]:
        """To clip(a + t delta) for the first t at which D rises; by how much, and the trials."""
        state, rows = self.state, self.state["face"]
        y, _, squares = state["face_rows"]
        before, most, gradient = state["duals"][rows, 0], self._largest(), self._gradient()
        for trial in range(_TRIALS):
            after = np.clip(before + delta / 2**trial, 0.0, most)
            change = after - before
            w = np.zeros(self.problem.weights_shape[0])
            _core.add_rows(self.problem.core, rows, change * y / self.s, w)
            balance = float(change @ y)
            curvature = self.s * float(w @ w) + self.pull * balance * balance
            curvature += float(squares @ change**2)
            rise = float(gradient @ change) - curvature / 2
            if rise > 0:
                state["duals"][rows, 0] = after
                state["W"][:] += w
                if self.pull:
                    state["b"][0, 0] += self.pull * balance
                return rise, trial + 1
        return 0.0, _TRIALS

    # The face's part of the problem.
    def _labels(self) -> Floats:
        return np.asarray(self.problem.labels[self.state["face"], 0], dtype=np.float64)

    def _costs(self) -> Floats:
        rows, problem = self.state["face"], self.problem
        costs = np.where(problem.labels[rows, 0] > 0, problem.positive[0], problem.negative[0])
        return np.asarray(costs if problem.weight is None else costs * problem.weight[rows, 0])

    def _largest(self) -> Any:
        return np.inf if self.problem.loss == "squared_hinge" else self._costs()

    def _curvatures(self) -> Floats:
        """The diagonal of H that the loss brings: 1 / 2c for the squared hinge."""
        if self.problem.loss == "hinge":
            return np.zeros(self.size)
        return 1 / (2 * self._costs())

    def _diagonal(self) -> Floats:
        norms = self.problem.rows.squared_norms[self.state["face"]]
        return np.asarray(np.maximum(norms / self.s + self.pull + self._curvatures(), 1e-300))

    def _gradient(self) -> Floats:
        state = self.state
        products = np.empty(self.size)
        _core.products_of(self.problem.core, state["face"], state["W"].copy(), products)
        b = float(state["b"][0, 0]) if self.pull else 0.0
        y, _, squares = state["face_rows"]
        gradient: Floats = 1 - y * (products + b) - squares * state["duals"][state["face"], 0]
        return gradient

    def _times_hessian(self, p: Floats) -> Floats:
        y, _, squares = self.state["face_rows"]
        out = np.empty(self.size)
        w = np.zeros(self.problem.weights_shape[0])
        _core.add_rows(self.problem.core, self.state["face"], p * y / self.s, w)
        _core.products_of(self.problem.core, self.state["face"], w, out)
        out += self.pull * float(p @ y)
        out *= y
        out += squares * p
        return out
