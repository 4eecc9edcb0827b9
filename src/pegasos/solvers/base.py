"""What a solver is: a frozen configuration that advances a state made of plain arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, DualsOf, Floats, GiveUp, blocks, certify, never
from pegasos.joint import certify_joint, feasible
from pegasos.problem import Problem
from pegasos.state import Field, State, expect


class AnyLimits(Protocol):
    """What a solver may ask of a run's limits."""

    @property
    def none(self) -> bool:
        """Whether there is no limit at all."""


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """How to advance a state. Knows nothing of time, files, keyboards or scikit-learn."""

    name: ClassVar[str]
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized"})
    losses: ClassVar[frozenset[str]] = frozenset({"hinge"})
    exact: ClassVar[bool] = False  # converges linearly, so that tight tolerances are cheap
    warm_starts: ClassVar[bool] = False
    by_blocks: ClassVar[bool] = False  # trains on rows that come a part at a time
    by_passes: ClassVar[bool] = False  # asks for nothing but passes over rows
    lanes_apart: ClassVar[bool] = False  # trains one lane after the other
    default_epochs: ClassVar[float | None] = 1000  # limit where the user sets none
    worth_certifying: ClassVar[float] = 1.2  # times tol: what an estimate has to be within

    def lanes_at_once(self, problem: Problem) -> int:
        """How many lanes are trained together."""
        return 1 if self.lanes_apart else problem.lanes

    def aimed_at(self, tol: float) -> Solver:  # noqa: ARG002 - most are the same for any
        """The solver for a run that ends when a gap of ``tol`` is proven."""
        return self

    def stops_itself(self, problem: Problem) -> bool:  # noqa: ARG002
        """Whether ``advance`` stops by itself where tol may be met: estimates are asked rarely."""
        return False

    def check_limits(self, limits: AnyLimits) -> None:  # noqa: B027 - most accept any
        """Raise ValueError if the run could not end with these limits."""

    @abstractmethod
    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """The arrays that its state consists of."""

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """The state before the first step; ``duals`` only where ``warm_starts``."""
        return State.begin(problem.sizes, self.fields(problem), seed=seed)

    @abstractmethod
    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows until a stop is reached (True) or ``work`` visits are done (False).

        A solver may stop sooner (True) where its estimate of the gap is within what it aims at.

        Where a call pauses must not change what is computed.
        """

    @abstractmethod
    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """The current w of every lane, shaped ``Problem.weights_shape``; may raise GaveUp."""

    @abstractmethod
    def duals(self, problem: Problem, state: State) -> DualsOf:
        """Feasible duals at any moment, 0 <= a <= c, as a function of a row range."""

    def certify(
        self, problem: Problem, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """The certificate of W, b and the duals, and the b it is for; None if given up."""
        prove = certify_joint if problem.joint else certify
        return prove(problem, W, b, self.duals(problem, state), give_up=give_up)

    def estimate(self, problem: Problem, state: State) -> Floats | None:  # noqa: ARG002
        """A cheap guess of each lane's relative gap at a pause, or None.

        It only decides when a certificate is worth a pass over the data.
        """
        return None

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether float64 has no more digits to give: further steps would gain nothing."""
        return False

    def refused(self, problem: Problem, state: State) -> None:  # noqa: B027 - most need not know
        """A certificate was taken, and some lane is not within tol."""

    def resumed(self, problem: Problem, arrays: dict[str, NDArray[Any]]) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's."""
        state = State.resume(problem.sizes, self.fields(problem), arrays)
        self.check_duals(problem, self.duals(problem, state))
        return state

    def check_duals(self, problem: Problem, duals: DualsOf) -> None:
        """Raise ValueError unless a certificate may take them for feasible."""
        for lo, hi in blocks(problem):
            a = duals(lo, hi)
            if problem.joint:
                own = problem.labels[lo:hi] > 0
                right = feasible(a, own, problem.costs(lo, hi)[own])
                near = np.abs(a - right) <= 1e-9 * (1 + np.abs(right))
            else:
                near = (a >= 0) & (a <= problem.largest_duals(lo, hi))
            expect(near.all(), "duals are not feasible")

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes; ``problem`` is theirs."""
        there = problem.site.keep(state.there, problem, lanes)
        return replace(state.take(lanes, problem.weights_shape[1], give_up), there=there)


def shares(problem: Problem, errors: NDArray[np.uint32], presentations: NDArray[Any]) -> DualsOf:
    """Duals a = c errors / presentations: in the box, since a row errs at most when presented."""

    def duals(lo: int, hi: int) -> Floats:
        share = errors[lo:hi] / np.maximum(presentations[lo:hi], 1)[:, None]
        costs: Floats = problem.costs(lo, hi) * share
        return costs

    return duals
