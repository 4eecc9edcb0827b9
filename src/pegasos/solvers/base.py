"""What a solver is: a frozen configuration that advances a state made of plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import DualsOf, Floats
from pegasos.losses import Hinge
from pegasos.problem import Problem
from pegasos.sites.policy import P, Policy, PolicyOf


class AnyLimits(Protocol):
    """What a solver may ask of a run's limits."""

    @property
    def none(self) -> bool:
        """Whether there is no limit at all."""


@dataclass(frozen=True, kw_only=True)
class SolverOf(PolicyOf[P]):
    """A method, and what it is for; ``PolicyOf`` has how it advances a state."""

    name: ClassVar[str]
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized"})
    losses: ClassVar[frozenset[str]] = frozenset({Hinge.name})  # that it trains
    exact: ClassVar[bool] = False  # converges linearly, so that tight tolerances are cheap
    by_blocks: ClassVar[bool] = False  # trains on rows that come a part at a time
    by_passes: ClassVar[bool] = False  # asks for nothing but passes over rows
    offsets: ClassVar[bool] = False  # trains targets: margins with other offsets than 1
    balances: ClassVar[bool] = False  # trains problems with a balance, of the kind of one class
    default_epochs: ClassVar[float | None] = 1000  # limit where the user sets none

    def check_limits(self, limits: AnyLimits) -> None:
        """Raise ValueError if the run could not end with these limits."""


@dataclass(frozen=True, kw_only=True)
class Solver(SolverOf[Problem], Policy):
    """A solver for linear problems."""

    def refusal(self, problem: Problem) -> str | None:
        """What a problem has that it does not train, in words to users; None: it trains it."""
        if problem.targets is not None and not self.offsets:
            return f"solver {self.name!r} counts errors at margins of 1: it trains no targets"
        if problem.balance is not None and not self.balances:
            return f"solver {self.name!r} keeps sum a y at 0: it trains no balance"
        return None


def shares(problem: Problem, errors: NDArray[np.uint32], presentations: NDArray[Any]) -> DualsOf:
    """Duals a = c errors / presentations: in the box, since a row errs at most when presented."""

    def duals(lo: int, hi: int) -> Floats:
        share = errors[lo:hi] / np.maximum(presentations[lo:hi], 1)[:, None]
        costs: Floats = problem.costs(lo, hi) * share
        return costs

    return duals
