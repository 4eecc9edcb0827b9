"""One iteration of the interior point method, cut into phases over blocks of rows.

Each phase visits every block of rows and can pause after any of them: what it has summed up so far
is in the state. ``_core.Interior`` has the passes over rows, and nothing else looks at a row, so
that rows which live elsewhere need its methods only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.solvers import normal
from pegasos.solvers.base import State
from pegasos.solvers.by_blocks import BlockInterior

_STEP_BACK = 0.995  # share of the way to the boundary
# The centre aimed at is mu (mu after the affine step / mu)^ambition. Mehrotra's power is 3; with
# correctors that restore centrality, aiming further saves iterations.
_AMBITION = 6
_LAST_DIGITS = 1e-13
_ENLARGE = 0.5  # Gondzio: how much longer a step the corrector aims at
_WORTH = 1.01  # how much longer the steps must get, one times the other
_LIGHT = 1e-3  # share of the matrix that rows may add together and be left out

_CORRECTORS = 4  # at most; each must be worth the one before it

# What an iteration does, in order; each visits every block of rows.
PHASES = ("gram", "affine", "centred") + ("correct", "corrected") * _CORRECTORS + ("point",)
POINT = PHASES.index("point")

# Entries of state["flags"].
STARTED = 0  # the first point has been looked at
STALLED = 1  # nothing more to gain
SWAPPED = 2  # which of the two directions is in hand
CORRECTING = 3  # correctors are still worth a try

# Entries of state["sums"], in the order of _core.Interior.point.
COMPLEMENTARITY, LOSS, DUAL, BALANCE, SCALE, AFFINE, CENTRE = range(7)


class Iteration:
    """The phases over the arrays of a state."""

    def __init__(self, problem: Problem, state: State, passes: Any) -> None:
        """Go on where the state stands; ``passes`` are over the rows, as of ``_core.Interior``."""
        self.problem, self.state = problem, state
        self.free = problem.intercept == "free"
        self.core = passes
        # What keeps the directions itself, elsewhere, knows which is in hand.
        if state["flags"][SWAPPED] and not problem.elsewhere:
            self.core.swap()
        self.s = float(problem.s[0])
        # Complementarity is a sum of so many products.
        self.products = float(problem.lane_rows[0]) * (2 if problem.loss == "hinge" else 1)
        self.blocks = normal.row_ranges(problem)

    def visit_block(self) -> int:
        """Do one block of the phase in hand; the rows visited."""
        phase, block = (int(v) for v in self.state["place"])
        if block == 0 and not self._begin(PHASES[phase]):
            self._end_phase()
            return 1
        lo, hi = self.blocks[block]
        self._visit(PHASES[phase], lo, hi)
        self.state["place"][1] += 1
        if block + 1 == len(self.blocks):
            self._end(PHASES[phase])
            self._end_phase()
        return hi - lo

    def _end_phase(self) -> None:
        place = self.state["place"]
        place[:] = (place[0] + 1) % len(PHASES), 0

    def _begin(self, phase: str) -> bool:
        """Before the first block; False leaves the phase out."""
        return bool(getattr(self, f"_begin_{phase}")())

    def _visit(self, phase: str, lo: int, hi: int) -> None:
        """One block."""
        getattr(self, f"_visit_{phase}")(lo, hi)

    def _end(self, phase: str) -> None:
        """After the last block."""
        getattr(self, f"_end_{phase}")()

    # The Gram matrix and its factor, and with them the affine direction.
    def _begin_gram(self) -> bool:
        self.state["gram"][...] = 0.0
        return True

    def _visit_gram(self, lo: int, hi: int) -> None:
        # The matrix only steers, the residuals are exact: rows that together add less than a
        # thousandth of s (and to b, of what all add) are left out, which late is most of them.
        rows = self.products
        light = _LIGHT * self.s / rows
        thin = _LIGHT * float(self.state["sums"][SCALE]) / rows if self.free else np.inf
        constant = 1.0 if self.free else self.problem.bias
        self.core.gram(lo, hi, constant, light, thin, self.state["gram"])

    def _end_gram(self) -> None:
        state = self.state
        if isinstance(self.core, BlockInterior):
            self.core.end_matrix(state["gram"])
        self._factor()
        state["rhs"][:] = state["vectors"][0] + state["vectors"][1] - self.s * state["w"]
        if self.free:
            state["rhs"][-1] = state["sums"][AFFINE] + state["sums"][BALANCE]
        self._solve()
        state["lengths"][:] = 1.0
        state["second"][:] = 0.0
        state["parts"][:] = 0.0

    def _factor(self) -> None:
        free = 0.0 if self.free else None
        if not normal.factor(self.state["gram"], self.s, free, self.state["factor"]):
            self.state["flags"][STALLED] = 1

    def _solve(self) -> None:
        """The direction (dw, db) of the right-hand side."""
        state = self.state
        if normal.solve(state["factor"], state["rhs"], self.free, state["direction"]) is None:
            state["flags"][STALLED] = 1

    # The affine step: how far it gets decides how close to aim at the centre.
    def _begin_affine(self) -> bool:
        return not self.state["flags"][STALLED]

    def _visit_affine(self, lo: int, hi: int) -> None:
        state = self.state
        *steps, primal, dual, both, second = self.core.affine(
            lo, hi, *self._along(), state["second"]
        )
        np.minimum(state["lengths"], steps, out=state["lengths"])
        state["parts"][:] += primal, dual, both, second

    def _along(self) -> tuple[Floats, float]:
        direction = self.state["direction"]
        return direction[:-1], float(direction[-1])

    def _end_affine(self) -> None:
        state = self.state
        p, q = state["lengths"].tolist()
        primal, dual, both, second = state["parts"].tolist()
        before = float(state["sums"][COMPLEMENTARITY])
        after = before + p * primal + q * dual + p * q * both
        mu = before / self.products * (after / before) ** _AMBITION
        state["mu"][0] = mu
        state["rhs"][:] += state["second"] + mu * state["vectors"][2]
        if self.free:
            state["rhs"][-1] += second - state["second"][-1]
            state["rhs"][-1] += mu * (float(state["sums"][CENTRE]) - state["vectors"][2, -1])
        self._solve()
        state["lengths"][:] = 1.0
        state["flags"][CORRECTING] = 1

    def _begin_centred(self) -> bool:
        return not self.state["flags"][STALLED]

    def _visit_centred(self, lo: int, hi: int) -> None:
        steps = self.core.direction(lo, hi, False, float(self.state["mu"][0]), *self._along())
        np.minimum(self.state["lengths"], steps, out=self.state["lengths"])

    def _end_centred(self) -> None:
        self.state["taken"][:] = self.state["direction"]

    # Gondzio's correctors: a direction with the same factor that may be followed further.
    def _begin_correct(self) -> bool:
        state = self.state
        if state["flags"][STALLED] or state["lengths"].min() > 0.95:
            state["flags"][CORRECTING] = 0
        if not state["flags"][CORRECTING]:
            return False
        state["second"][:] = 0.0
        state["parts"][0] = 0.0
        return True

    def _visit_correct(self, lo: int, hi: int) -> None:
        state = self.state
        primal, dual = np.minimum(1.0, state["lengths"] + _ENLARGE).tolist()
        state["parts"][0] += self.core.correct(
            lo, hi, float(state["mu"][0]), primal, dual, state["second"]
        )

    def _end_correct(self) -> None:
        state = self.state
        if self.free:
            state["second"][-1] = state["parts"][0]
        state["rhs"][:] += state["second"]
        self._solve()
        state["tried"][:] = 1.0

    def _begin_corrected(self) -> bool:
        return bool(self.state["flags"][CORRECTING])

    def _visit_corrected(self, lo: int, hi: int) -> None:
        steps = self.core.direction(lo, hi, True, 0.0, *self._along())
        np.minimum(self.state["tried"], steps, out=self.state["tried"])

    def _end_corrected(self) -> None:
        """Take the corrected direction if it goes further, else the one before it."""
        state = self.state
        if state["tried"].prod() < _WORTH * state["lengths"].prod():
            state["flags"][CORRECTING] = 0
            return
        state["lengths"][:] = state["tried"]
        state["taken"][:] = state["direction"]
        state["flags"][SWAPPED] ^= 1
        self.core.swap()

    # The step, and the point it leads to.
    def _begin_point(self) -> bool:
        state = self.state
        if state["flags"][STALLED]:
            self._count()
            return False
        # One length for both: s w = sum a y x ties primal and dual together, and steps of two
        # lengths would undo what they mend of it.
        step = _STEP_BACK * float(state["lengths"].min()) if state["flags"][STARTED] else 0.0
        state["step"][0] = step
        state["w"][:] += step * state["taken"][:-1]
        state["b"][:] += step * state["taken"][-1]
        if state["flags"][STARTED] and step < 1e-10:
            state["flags"][STALLED] = 1
        state["vectors"][...] = 0.0
        state["sums"][:] = 0.0
        return True

    def _visit_point(self, lo: int, hi: int) -> None:
        state = self.state
        state["sums"][:] += self.core.point(
            lo, hi, float(state["step"][0]), state["w"], float(state["b"][0]), state["vectors"]
        )

    def _end_point(self) -> None:
        """Complementarity is the gap: below the last digits of P there is nothing more to gain."""
        state = self.state
        if not state["sums"][COMPLEMENTARITY] > _LAST_DIGITS * self._primal():
            state["flags"][STALLED] = 1
        if state["flags"][STARTED]:
            self._count()
        state["flags"][STARTED] = 1

    def _count(self) -> None:
        """An iteration is done."""
        self.state["cursor"][:] += (self.problem.n, 1)

    def _primal(self) -> float:
        """The objective times N."""
        w = self.state["w"]
        return self.s / 2 * float(w @ w) + float(self.state["sums"][LOSS])
