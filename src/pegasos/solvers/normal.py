"""What the second-order solvers share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from pegasos.certificate import Floats, relative_gap
from pegasos.losses import LOSSES
from pegasos.problem import Problem
from pegasos.sites import RowMethod
from pegasos.sites.method import About
from pegasos.solvers.base import Solver
from pegasos.state import Arrays, Field, State, expect

LARGEST_D = 10_000


class Phases(Protocol):
    """An iteration, cut into phases over ranges of rows."""

    def visit(self) -> int:
        """Do the range in hand; the rows visited."""


@dataclass(frozen=True, kw_only=True)
class SecondOrder(Solver):
    """A solver that asks a site for passes over rows, and may leave their variables there."""

    method: ClassVar[RowMethod]

    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    losses: ClassVar[frozenset[str]] = frozenset(LOSSES)
    exact: ClassVar[bool] = True
    offsets: ClassVar[bool] = True
    by_blocks: ClassVar[bool] = True
    by_passes: ClassVar[bool] = True
    lanes_apart: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    @abstractmethod
    def about(self, problem: Problem) -> About:
        """What a site has to know before its first pass."""

    @abstractmethod
    def begin_again(self, state: State) -> None:
        """The iteration in hand begins again, at a point that nothing else is known of."""

    @abstractmethod
    def iteration(self, problem: Problem, state: State) -> Phases:
        """What goes on where the state stands."""

    def idle(self, problem: Problem, state: State) -> bool:
        """Whether iterations are only counted."""
        return self.stalled(problem, state)

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Iterate; a step is an iteration, which counts as one visit of each of its rows."""
        iteration = self.iteration(problem, state)
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            if self.idle(problem, state):
                state["cursor"][:] += (problem.n, 1)
                work -= problem.n
                continue
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                work -= iteration.visit()
        return True

    def saved_there(self, problem: Problem, state: State) -> Arrays:
        """As the site says."""
        return problem.site.saved(self.method, problem, state)

    def resumed(self, problem: Problem, arrays: Arrays) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's."""
        state = super().resumed(problem, arrays)
        if problem.site.keeps_points:
            self.begin_again(state)
        return state

    def resumed_there(self, problem: Problem, arrays: Arrays) -> Any:
        """As the site takes it back."""
        return problem.site.resumed(self.method, problem, self.about(problem), arrays)


def check_features(what: str, problem: Problem) -> None:
    """Raise ValueError for more features than a matrix can be factored for; ``what`` does."""
    d = problem.rows.d
    if d > LARGEST_D:
        raise ValueError(
            f"{what} of features x features: {d} are too many (at most {LARGEST_D}); use "
            f"{problem.site.instead}"
        )


def place(problem: Problem, phases: tuple[str, ...], matrix_phase: str, first: int = 0) -> Field:
    """The phase of an iteration, and the range, that comes next."""

    def check(state: State, name: str) -> None:
        phase, number = state[name].tolist()
        expect(phase < len(phases), f"{name} is that of no phase")
        ranges = problem.site.ranges(problem, matrix=phases[phase] == matrix_phase)
        expect(number < len(ranges), f"{name} is that of no block")

    return Field("place", (2,), np.int64, check, start=(first, 0))


def gap(problem: Problem, w: Floats, u: Floats, loss: Floats, dual: Floats) -> Floats:
    """The relative gaps of w and duals with sum a y x = u, which are vectors, or columns of lanes.

    ``loss`` and ``dual`` are sums over the rows.
    """
    primal = problem.s / 2 * (w * w).sum(axis=0) + loss
    return relative_gap(primal, dual - (u * u).sum(axis=0) / (2 * problem.s))
