"""What solvers for kernels share: a state whose arrays have an entry for every row."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, DualsOf, Floats, GiveUp, never
from pegasos.kernel.problem import KernelProblem
from pegasos.solvers.base import SolverOf
from pegasos.state import State, expect


@dataclass(frozen=True, kw_only=True)
class KernelSolver(SolverOf[KernelProblem]):
    """A solver for problems over a Gram matrix."""

    def check_intercept(self, intercept: str) -> None:
        """Raise ValueError for one that it does not train."""
        if intercept not in self.intercepts:
            raise ValueError(
                f"{type(self).__name__} does not train a {intercept} intercept: use "
                "intercept='regularized' or 'none', or solver='dual'"
            )

    @abstractmethod
    def alphas(self, problem: KernelProblem, state: State) -> Floats:
        """Duals over s, in the box 0 .. upper."""

    def duals(self, problem: KernelProblem, state: State) -> DualsOf:
        """Feasible duals, as a function of a row range."""
        duals = problem.s * self.alphas(problem, state)[:, None]
        return lambda lo, hi: duals[lo:hi]

    def wants_certificate(self, problem: KernelProblem, state: State) -> bool:  # noqa: ARG002
        """Whether it waits for one."""
        return bool(state["asked"][0])

    def exhausted(self, certificate: Certificate, tol: float) -> NDArray[np.bool_]:
        """A gap within rounding is not the end: that bound is coarse, and the gap still falls."""
        return np.asarray(certificate.relative_gap <= tol)

    def take(
        self,
        problem: KernelProblem,  # noqa: ARG002
        state: State,
        lanes: NDArray[np.intp],  # noqa: ARG002
        give_up: GiveUp = never,  # noqa: ARG002
    ) -> State:
        """The state of its only lane."""
        return state

    def check_duals(self, problem: KernelProblem, duals: DualsOf) -> None:
        """Raise ValueError for duals that were read from a file, and are not feasible."""
        a = duals(0, problem.n)[:, 0] / problem.s
        # Times s and over s again, a dual at its bound may be an ulp beyond it.
        expect(((a >= 0) & (a <= (1 + 1e-12) * problem.upper)).all(), "duals are not feasible")
