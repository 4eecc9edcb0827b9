"""The exact solver for kernels: SMO over a cache of rows, until the gap is proven.

The gap comes for free with slack = y - f, in float32's precision; where it says that tol is
reached, f is computed anew in float64, from all support vectors, and that decides.

State, by rows: ``a`` (LIBSVM's alphas), ``slack``, ``level`` (how often a row stayed in hand when
others were left out; those of the highest level are in hand) and ``exact`` (f of the last
certificate). ``cursor`` (visits, steps: they are the same), ``plan`` (when to look, when to leave
rows out, halvings of tol, whether no row in hand violates, work at the last look), ``numbers``
(the dual, as far as float32 can tell, and the tolerance in hand), ``asked`` (for a certificate,
and why). And the order of the cache (``pegasos.kernel.cache``): its rows are made again where a
run is resumed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats, GiveUp, never
from pegasos.kernel import smo_tuning as tuned
from pegasos.kernel.cache import CACHED
from pegasos.kernel.hand import Hand, intercept, marked
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.solver import ASKED, KernelSolver
from pegasos.state import COUNTS, Field, State, expect
from pegasos.util import threads

_STEP_ROWS = 0.2  # of K, which take as long as a step: 0.13 to 0.4, with 5 to 300 features
_FAR = 2.0  # times tol: closer to it a certificate is due anyway

_LOOK_AT, _SHRINK_AT, _HALVINGS, _CONVERGED, _LOOKED = range(5)  # of state["plan"]
_DUAL, _TOLERANCE = range(2)  # of state["numbers"]
_NEAR, _SPENT, _LOOK = 1, 2, 3  # why a certificate is asked for


@dataclass(frozen=True, kw_only=True)
class Looks:
    """When a long run is certified on the way, so that an interrupt costs a part of it at most.

    Work is counted in rows of K: a certificate is one for every support vector.
    """

    values: int = 1 << 29  # of K to work on before the first: 2 to 5 s
    certificates: float = 4.0  # that the work from one to the next would have sufficed for
    growth: float = 1.5  # of all work from one to the next


@dataclass(frozen=True, kw_only=True)
class SMO(KernelSolver):
    """Sequential minimal optimization; ``cache_size`` are megabytes for rows of K."""

    cache_size: float = 1000
    n_jobs: int | None = None
    looks: Looks = Looks()
    # The gap a run makes for, not of the solver's own.
    _goal: float = field(default=0.0, init=False, repr=False, compare=False)

    name: ClassVar[str] = "smo"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    exact: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def aimed_at(self, tol: float) -> SMO:
        """Ask for a certificate where ``tol`` may be reached."""
        aimed = copy(self)
        object.__setattr__(aimed, "_goal", tol)
        return aimed

    def fields(self, problem: KernelProblem) -> tuple[Field, ...]:
        """The duals over s, what steps know of rows, and the order of the cache."""
        every = _every(problem)
        return (
            COUNTS,
            Field("plan", (5,), np.int64, start=(every, every, 0, 0, 0)),
            Field("numbers", (2,), start=(0.0, tuned.FIRST_TOLERANCE)),
            ASKED,
            Field("cache", (2,), np.int64),
            Field("a", ("rows",)),
            Field("slack", ("rows",), start=lambda _: problem.y.copy()),
            Field("exact", ("rows",)),
            Field("level", ("rows",), np.uint8),
            *CACHED,
        )

    def start(self, problem: KernelProblem, seed: int, duals: Floats | None = None) -> State:
        """Begin at a = 0, with all rows in hand."""
        return self._handed(problem, State.begin(problem.sizes, self.fields(problem)))

    def _handed(self, problem: KernelProblem, state: State) -> State:
        used = threads.resolve(self.n_jobs, tuned.VALUES_OF_ROW * problem.n)
        return replace(state, there=Hand(problem, state, self.cache_size, used))

    def some_steps(self, problem: KernelProblem, state: State) -> None:
        """Steps, until some rows of K were missing or it is time for a look."""
        hand, plan = _hand(state), state["plan"]
        steps = min(tuned.STEPS_BETWEEN_PAUSES, max(1, int(plan[_LOOK_AT]) - state.steps))
        plan[_CONVERGED] = hand.step(steps) == "converged"
        if state.steps >= plan[_SHRINK_AT] and not plan[_CONVERGED]:
            plan[_SHRINK_AT] = state.steps + 5 * _every(problem)
            hand.shrink()
        if plan[_CONVERGED] or state.steps >= plan[_LOOK_AT]:
            self._look(problem, state)

    def _look(self, problem: KernelProblem, state: State) -> None:
        """Ask for a certificate where tol may be met, where nothing is left to do, or for long."""
        plan, numbers = state["plan"], state["numbers"]
        plan[_LOOK_AT] = state.steps + _every(problem)
        gap, target = _hand(state).gap(), self._goal / 2.0 ** int(plan[_HALVINGS])
        near = gap <= target * numbers[_DUAL]
        if plan[_CONVERGED] and not near and numbers[_TOLERANCE] > tuned.LAST_TOLERANCE:
            numbers[_TOLERANCE] = max(numbers[_TOLERANCE] / 10, tuned.LAST_TOLERANCE)
            plan[_CONVERGED] = 0
        if near:
            if problem.n <= tuned.MOST_TINY_ROWS:
                self._polish(problem, state)
            state["asked"][0] = _NEAR
        elif self.stalled(problem, state):
            state["asked"][0] = _SPENT
        elif gap > _FAR * target * numbers[_DUAL] and self._long(problem, state):
            state["asked"][0] = _LOOK

    def _long(self, problem: KernelProblem, state: State) -> bool:
        """Whether the last look, or the beginning, is long ago."""
        done, looked = _worked(state), int(state["plan"][_LOOKED])
        support = int(np.count_nonzero(state["a"]))
        enough = max(self.looks.growth * looked, looked + self.looks.certificates * support)
        return done >= enough and done * problem.n >= self.looks.values

    def _polish(self, problem: KernelProblem, state: State) -> None:
        """Solve what is proven to the last digits: slack anew in float64, then steps.

        The best model is kept: where a bound is reached before the end, that is the first.
        """
        proof, _ = self.proven(problem, state)
        if not proof.proves(self._goal).all():
            return
        best, least = state["a"].copy(), float(proof.gap[0])
        state["numbers"][_TOLERANCE] = tuned.POLISHED_TOLERANCE
        for _ in range(tuned.MOST_POLISHING):
            self._refresh(problem, state)
            before, enough = state.steps, False
            while not enough and _hand(state).step(tuned.STEPS_BETWEEN_PAUSES) != "converged":
                enough = state.steps - before > 100 * problem.n
            if state.steps == before:
                break
            proof, _ = self.proven(problem, state)
            if proof.gap[0] < least:
                best, least = state["a"].copy(), float(proof.gap[0])
            if enough:
                break
        _hand(state).put(best)

    def stalled(self, problem: KernelProblem, state: State) -> bool:
        """Whether no row violates optimality any more."""
        return bool(
            state["plan"][_CONVERGED] and state["numbers"][_TOLERANCE] <= tuned.LAST_TOLERANCE
        )

    def coef(self, problem: KernelProblem, state: State) -> Floats:
        """The coefficient of every row."""
        return np.asarray(state["a"] * problem.y)

    def alphas(self, problem: KernelProblem, state: State) -> Floats:
        """They are kept in the box."""
        return state["a"]

    def proven(
        self, problem: KernelProblem, state: State, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats]:
        """The bounds, by f of all rows, which is kept."""
        alphas, coef, b = state["a"].copy(), self.coef(problem, state), 0.0
        exact = state["exact"][:] = problem.gram.times(coef, give_up)
        if problem.free:
            b = intercept(marked(alphas, problem.upper, problem.y), problem.y - exact)
        return problem.proof(coef, exact, b, alphas, exact), problem.shown(coef, b)

    def refused(self, problem: KernelProblem, state: State) -> None:
        """If float32 or rows left out were the reason: go on with exact slacks, and all rows."""
        asked, plan = int(state["asked"][0]), state["plan"]
        state["asked"][0] = 0
        if asked == _NEAR:
            plan[_HALVINGS] += 1
        if asked in (_NEAR, _SPENT):
            plan[_CONVERGED] = 0
            self._refresh(problem, state)
        if asked:
            plan[_LOOKED] = _worked(state)

    def _refresh(self, problem: KernelProblem, state: State) -> None:
        a, exact, hand = state["a"], state["exact"], _hand(state)
        state["numbers"][_DUAL] = float(a.sum()) - float((a * problem.y) @ exact) / 2
        hand.widen()
        hand.slack[:] = problem.y - exact

    def resumed(self, problem: KernelProblem, arrays: dict[str, NDArray[Any]]) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's."""
        state = super().resumed(problem, arrays)
        plan, numbers = state["plan"], state["numbers"]
        seen, steps = state["cursor"].tolist()
        expect(seen == steps >= 0, "its visits are no steps")
        expect((plan >= 0).all() and plan[_HALVINGS] < 1000, "its plan is none")
        expect(np.isfinite(numbers).all() and numbers[_TOLERANCE] > 0, "its numbers are none")
        expect(0 <= state["asked"][0] <= _LOOK, "it asks for nothing")
        level = state["level"]
        depths = np.unique(level)
        expect(np.array_equal(depths, np.arange(depths.size)), "a level is empty")
        expect(np.count_nonzero(level == level.max()) >= 2, "no rows are in hand")
        expect(np.isfinite(state["slack"]).all(), "slack is not finite")
        expect((state["cache"] >= 0).all(), "the cache's clock is none")
        return self._handed(problem, state)


def _hand(state: State) -> Hand:
    assert isinstance(state.there, Hand)
    return state.there


def _every(problem: KernelProblem) -> int:
    """Steps between two looks at the gap."""
    return max(200, problem.n // 20)


def _worked(state: State) -> int:
    """Rows of K that the time would have sufficed for."""
    return int(state["cache"][1] + _STEP_ROWS * state.steps)
