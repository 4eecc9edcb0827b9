"""What the driver runs: a solver, or how its walks over rows combine at a site.

Either advances a state that is made of plain arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, DualsOf, Floats, GiveUp, blocks, certify, never
from pegasos.crammer_singer import certify_joint, feasible
from pegasos.problem import Problem
from pegasos.state import Arrays, Field, Sizes, State, expect, named, under


class Place(Protocol):
    """What a run asks of where a problem's rows are."""

    @property
    def here(self) -> bool:
        """Whether duals are arrays of the run's state."""

    @property
    def speed(self) -> float:
        """How many times as quick as on a core a pass is, roughly."""

    def certified_at_once(self, problem: Any) -> list[tuple[int, int]]:
        """Ranges of rows between two looks at the keyboard while a certificate is made."""

    def policy(self, solver: PolicyOf[Any]) -> PolicyOf[Any]:
        """What is run for a solver: that one, or how its work is combined here."""


class Runnable(Protocol):
    """What a run asks of a problem, whatever its rows and its models are."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def lanes(self) -> int:
        """Number of lanes, K."""

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Shape of the lanes' weights: their number and one more x padded lanes."""

    @property
    def sizes(self) -> Sizes:
        """How long axes of a run's arrays are."""

    @property
    def bias(self) -> float:
        """What the last weight is multiplied with."""

    @property
    def at_zero(self) -> Floats:
        """(K,) P of w = 0."""

    @property
    def visit_values(self) -> float:
        """Values that the visit of a row reads, times lanes."""

    @property
    def row_bytes(self) -> float:
        """Of a row, on average."""

    @property
    def site(self) -> Place:
        """Where the rows are."""

    def take(self, lanes: NDArray[np.intp]) -> Self:
        """The problem of some of the lanes."""

    def largest_row(self) -> tuple[int, float]:
        """The row with the largest norm, and that."""

    def memory(self) -> dict[str, NDArray[Any]]:
        """What it learned while it was solved, and that bits depend on."""

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Learn that at once."""


P = TypeVar("P", bound=Runnable)

_THERE = "there/"


class PolicyOf(ABC, Generic[P]):
    """How to advance a state. Knows nothing of time, files, keyboards or scikit-learn.

    This is the driver's side of any solver; ``P`` is the kind of problem that it solves.
    """

    warm_starts: ClassVar[bool] = False
    lanes_apart: ClassVar[bool] = False  # trains one lane after the other

    def lanes_at_once(self, problem: P) -> int:
        """How many lanes are trained together."""
        return 1 if self.lanes_apart else problem.lanes

    def aimed_at(self, tol: float) -> Self:
        """The same for a run that ends when a gap of ``tol`` is proven."""
        return self

    def stops_itself(self, problem: P) -> bool:
        """Whether ``advance`` stops by itself where tol may be met: estimates are asked rarely."""
        return False

    @abstractmethod
    def fields(self, problem: P) -> tuple[Field, ...]:
        """The arrays that its state consists of."""

    def start(self, problem: P, seed: int, duals: Floats | None = None) -> State:
        """The state before the first step; ``duals`` only where ``warm_starts``."""
        return State.begin(problem.sizes, self.fields(problem), seed=seed)

    @abstractmethod
    def advance(
        self, problem: P, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows until a stop is reached (True) or ``work`` visits are done (False).

        A solver may stop sooner (True) where its estimate of the gap is within what it aims at.

        Where a call pauses must not change what is computed.
        """

    @abstractmethod
    def weights(self, problem: P, state: State, give_up: GiveUp = never) -> Floats:
        """The current w of every lane, shaped ``Problem.weights_shape``; may raise GaveUp."""

    @abstractmethod
    def duals(self, problem: P, state: State) -> DualsOf:
        """Feasible duals at any moment, 0 <= a <= c, as a function of a row range."""

    @abstractmethod
    def certify(
        self, problem: P, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """The certificate of W, b and the duals, and the b it is for; None if given up."""

    def estimate(self, problem: P, state: State) -> Floats | None:
        """A cheap guess of each lane's relative gap at a pause, or None.

        It only decides when a certificate is worth a pass over the data.
        """
        return None

    def untrained(self, problem: P) -> Certificate:
        """What is known of the models before the first step: it needs no pass."""
        return Certificate.untrained(problem.at_zero)

    def wants_certificate(self, problem: P, state: State) -> bool | None:
        """Whether its next step waits for a certificate; None: estimates and a schedule decide."""
        return None

    def exhausted(self, certificate: Certificate, tol: float) -> NDArray[np.bool_]:
        """Per lane: is what is not proven by this certificate not to be had in float64?"""
        return np.asarray(certificate.exhausted(tol))

    def worth_certifying(self, problem: P, state: State) -> float:
        """Times tol: what an estimate has to be within to be worth a certificate."""
        return 1.2

    def stalled(self, problem: P, state: State) -> bool:
        """Whether float64 has no more digits to give: further steps would gain nothing."""
        return False

    def refused(self, problem: P, state: State) -> None:
        """A certificate was taken, and some lane is not within tol."""

    @abstractmethod
    def take(
        self, problem: P, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes; ``problem`` is theirs."""

    def stale(self, problem: P, state: State) -> State:
        """The state to go on from where parts of the rows were lost, with what was kept there.

        Most start anew; visits and steps stay counted.
        """
        fresh = self.start(problem, 0)
        fresh["cursor"][:] = state["cursor"]
        return fresh

    def saved(self, problem: P, state: State) -> Arrays:
        """What a checkpoint keeps of a state; what a site keeps of it is named ``there/...``."""
        return state.arrays | named(_THERE, self.saved_there(problem, state))

    def saved_there(self, problem: P, state: State) -> Arrays:
        """What a checkpoint keeps of ``state.there``."""
        return {}

    def resumed(self, problem: P, arrays: Arrays) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's.

        They become the state's own, but for what its site keeps.
        """
        there = under(_THERE, arrays)
        for name in there:
            del arrays[_THERE + name]
        state = State.resume(problem.sizes, self.fields(problem), arrays)
        state = replace(state, there=self.resumed_there(problem, there))
        if "rows" in problem.sizes:  # elsewhere the site checks what it takes back
            self.check_duals(problem, self.duals(problem, state))
        return state

    def resumed_there(self, problem: P, arrays: Arrays) -> Any:
        """``state.there`` from what was saved of it; ValueError if that can be no run's."""
        for name in arrays:
            raise ValueError(f"no such run has {_THERE}{name}")

    @abstractmethod
    def check_duals(self, problem: P, duals: DualsOf) -> None:
        """Raise ValueError for duals that were read from a file, and are not feasible."""


class Policy(PolicyOf[Problem]):
    """That of linear problems."""

    def untrained(self, problem: Problem) -> Certificate:
        """What is known of the models before the first step: it needs no pass."""
        return Certificate.at_start(problem)

    def certify(
        self, problem: Problem, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """The certificate of W, b and the duals, and the b it is for; None if given up."""
        prove = certify_joint if problem.joint else certify
        return prove(problem, W, b, self.duals(problem, state), give_up=give_up)

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes; ``problem`` is theirs."""
        there = problem.site.keep(state.there, problem, lanes)
        return replace(state.take(lanes, problem.weights_shape[1], give_up), there=there)

    def check_duals(self, problem: Problem, duals: DualsOf) -> None:
        """Raise ValueError unless a certificate may take them for feasible."""
        for lo, hi in blocks(problem):
            a = duals(lo, hi)
            if problem.joint:
                own = problem.sides(lo, hi) > 0
                right = feasible(a, own, problem.costs(lo, hi)[own])
                near = np.abs(a - right) <= 1e-9 * (1 + np.abs(right))
            else:
                near = (a >= 0) & (a <= problem.largest_duals(lo, hi))
            expect(near.all(), "duals are not feasible")
