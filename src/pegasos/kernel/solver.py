"""What solvers for kernels share: a state whose arrays have an entry for every row."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, DualsOf, Floats, GaveUp, GiveUp, never
from pegasos.kernel.kernels import Index
from pegasos.kernel.problem import KernelProblem
from pegasos.solvers.base import SolverOf
from pegasos.state import Arrays, Field, State, expect

ASKED = Field("asked", (1,), np.int64)
"""Whether, and why, no step is taken until there is a certificate."""


@dataclass(frozen=True, kw_only=True)
class KernelSolver(SolverOf[KernelProblem]):
    """A solver for problems over a Gram matrix; ``ASKED`` is a field of its states."""

    def check_intercept(self, intercept: str) -> None:
        """Raise ValueError for one that it does not train."""
        if intercept not in self.intercepts:
            raise ValueError(
                f"{type(self).__name__} does not train a {intercept} intercept: use "
                "intercept='regularized' or 'none', or solver='dual'"
            )

    @abstractmethod
    def some_steps(self, problem: KernelProblem, state: State) -> None:
        """As many as are worth a call; it asks for a certificate where one is due."""

    @abstractmethod
    def coef(self, problem: KernelProblem, state: State) -> Floats:
        """The coefficient of every row."""

    @abstractmethod
    def alphas(self, problem: KernelProblem, state: State) -> Floats:
        """Duals over s, in the box 0 .. upper."""

    @abstractmethod
    def proven(
        self, problem: KernelProblem, state: State, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats]:
        """The bounds, recomputed from all rows, and the intercept; may raise GaveUp."""

    def advance(
        self, problem: KernelProblem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Some steps, which may go a little beyond the stop."""

        def ended() -> bool:
            asked = bool(state["asked"][0])
            return asked or state.seen >= stop_seen or state.steps >= stop_steps

        if not ended():
            self.some_steps(problem, state)
        return ended()

    def weights(self, problem: KernelProblem, state: State, give_up: GiveUp = never) -> Floats:
        """The coefficients, and the weight that stays 0."""
        return np.append(self.coef(problem, state), 0.0)[:, None]

    def duals(self, problem: KernelProblem, state: State) -> DualsOf:
        """Feasible duals, as a function of a row range."""
        duals = problem.s * self.alphas(problem, state)[:, None]
        return lambda lo, hi: duals[lo:hi]

    def certify(
        self, problem: KernelProblem, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """That of the state, whose weights ``W`` are; the steps to come do not depend on it."""
        try:
            return self.proven(problem, state, give_up)
        except GaveUp:
            return None

    def wants_certificate(self, problem: KernelProblem, state: State) -> bool:
        """Whether it waits for one."""
        return bool(state["asked"][0])

    def exhausted(self, certificate: Certificate, tol: float) -> NDArray[np.bool_]:
        """A gap within rounding is not the end: that bound is coarse, and the gap still falls."""
        return np.asarray(certificate.relative_gap <= tol)

    def take(
        self, problem: KernelProblem, state: State, lanes: Index, give_up: GiveUp = never
    ) -> State:
        """The state of its only lane."""
        return state

    def resumed(self, problem: KernelProblem, arrays: Arrays) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's."""
        state = super().resumed(problem, arrays)
        self.check_duals(problem, self.duals(problem, state))
        return state

    def check_duals(self, problem: KernelProblem, duals: DualsOf) -> None:
        """Raise ValueError for duals that were read from a file, and are not feasible."""
        a = duals(0, problem.n)[:, 0] / problem.s
        # Times s and over s again, a dual at its bound may be an ulp beyond it.
        expect(((a >= 0) & (a <= (1 + 1e-12) * problem.upper)).all(), "duals are not feasible")
