"""What a site is: where the rows of a problem are, and how work over them is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.sites.costs import DENSE, SPARSE, PassCosts
from pegasos.sites.method import About, Arrays, DualsAt, DualsOf, Floats, Kept, RowMethod
from pegasos.sites.passes import Passes

if TYPE_CHECKING:
    from pegasos.certificate import GapSums
    from pegasos.problem import Problem
    from pegasos.rows import Rows
    from pegasos.sites.policy import Policy

Ranges = list[tuple[int, int]]
Begun = tuple[Arrays, Any]


class Site(ABC):
    """Where rows are. What it says of itself is data; what it runs, it merges itself."""

    name: ClassVar[str]
    where: ClassVar[str]  # "stay ..." of what does not leave it
    in_memory: ClassVar[bool] = False  # rows of this process: any row can be visited at any time
    here: ClassVar[bool] = True  # the rows' variables and duals are arrays of the run's state
    matrices_here: ClassVar[bool] = True  # they are arrays of the run's state
    side_by_side: ClassVar[int] = 0  # lanes that run apart at a time; 0: the driver takes groups
    instead: ClassVar[str] = "solver='dual'"  # what to use for features that no matrix is made of

    # What it says of its rows.
    @abstractmethod
    def dense(self, rows: Rows) -> bool:
        """Whether rows are arrays, with every value stored."""

    @property
    def speed(self) -> float:
        """How many times as quick as on a core a pass is, roughly."""
        return 1.0

    def ranges(self, problem: Problem, *, matrix: bool = False) -> Ranges:  # noqa: ARG002
        """Ranges of rows that a second-order solver visits at once; shorter for a ``matrix``."""
        return [(0, problem.n)]

    def certified_at_once(self, problem: Problem) -> Ranges:
        """Ranges of rows between two looks at the keyboard while a certificate is made."""
        return self.ranges(problem)

    def refusal(self, solver: Any) -> str | None:  # noqa: ARG002 - most run all
        """Why it does not run a solver, in words to users; None: it does."""
        return None

    def policy(self, solver: Policy) -> Policy:
        """What the driver runs for a solver: itself, or how its walks over rows combine here."""
        return solver

    def discourages(self, solver: Any, problem: Problem, tol: float, epochs: float) -> str | None:  # noqa: ARG002
        """Why ``auto`` should not begin with a solver; None: it should.

        What would take over costs ``epochs`` of its passes.
        """
        return None

    def pass_costs(self, rows: Rows) -> PassCosts:
        """What ``auto`` chooses by."""
        return DENSE if self.dense(rows) else SPARSE

    def of_lanes(self, lanes: NDArray[np.intp]) -> Site:  # noqa: ARG002 - most keep nothing of them
        """The site of some of the lanes."""
        return self

    def class_costs(self) -> tuple[Floats, Floats] | None:
        """(K,) sums of c over y = +1 and over y = -1, where labels are not here; else None."""
        return None

    def told(self, problem: Problem) -> str:  # noqa: ARG002
        """Of rows that cannot be visited: why ``auto`` chooses among second-order solvers."""
        return f"rows {self.where}"

    @property
    def has_rows(self) -> bool:
        """Whether the rows are what parts hold, not made from that: one row may be visited."""
        return True

    @property
    def samples(self) -> bool:
        """Whether passes over a sample of the rows are offered."""
        return True

    # Rows, a part at a time.
    def part(
        self,
        problem: Problem,
        lo: int,
        hi: int,
        only: NDArray[np.bool_] | None = None,
        ahead: int | None = None,
    ) -> tuple[_core.Problem, int, int]:
        """The core's problem that has rows lo..hi-1, and where they are in it.

        ``only`` some of the rows need be right; the part that begins with row ``ahead`` (hi, if
        None) is asked for next.
        """
        raise NotImplementedError(f"rows stay {self.where}")

    def inward(self, W: Floats) -> Floats:
        """Weights (d + 1, ...) as they meet what parts hold."""
        return W

    def outward(self, U: Floats) -> None:  # noqa: B027 - most hold rows as they are
        """Sums over what parts hold (d + 1, ...) become those over rows, in place."""

    # Second-order solvers.
    def worth_certifying(self, method: RowMethod) -> float:  # noqa: ARG002
        """Times tol: what an estimate of a method has to be within to be worth a certificate."""
        return Passes.worth_certifying

    def lanes_at_once(self, method: RowMethod, problem: Problem) -> int:  # noqa: ARG002
        """How many lanes the passes of a method take together."""
        return 1

    def begin(self, method: RowMethod, problem: Problem, about: About, seed: int) -> Begun:  # noqa: ARG002
        """Make the rows' variables at the start of a run: arrays of its state, and what stays."""
        return {"rows": method.begin(problem, about)}, None

    @abstractmethod
    def passes(
        self,
        method: RowMethod,
        problem: Problem,
        state: Kept,
        about: About,
        *,
        swapped: bool = False,
    ) -> Passes:
        """Go on with a run."""

    def duals(self, method: RowMethod, problem: Problem, state: Kept, at: Floats) -> DualsOf:
        """The duals of a run, read off the rows' variables with ``at``."""
        return DualsAt(method, problem, state, at)

    def saved(self, method: RowMethod, problem: Problem, state: Kept) -> Arrays:  # noqa: ARG002
        """What a checkpoint keeps of ``state.there``."""
        return {}

    def resumed(self, method: RowMethod, problem: Problem, about: About, arrays: Arrays) -> Any:  # noqa: ARG002
        """What stays of a run that goes on, from what ``saved`` gave; ``about`` as in ``begin``.

        ValueError if the arrays can be no run's.
        """
        if arrays:
            raise ValueError(f"no run with rows {self.where} has {', '.join(arrays)} there")

    # Where rows are not here.
    def gap_sums(self, problem: Problem, W: Floats, duals: Any) -> tuple[GapSums, Floats]:
        """The sums of a certificate, and its b; only where rows are not here."""
        raise NotImplementedError(f"rows that are {self.where} are summed up part by part")

    def memory(self) -> Arrays:
        """What it keeps of all lanes, whichever are live: a checkpoint has it."""
        return {}

    def remember(self, problem: Problem, arrays: Arrays) -> None:  # noqa: B027
        """Take that back; ValueError if the arrays can be no run's."""

    def keep(self, there: Any, problem: Problem, lanes: NDArray[np.intp]) -> Any:  # noqa: ARG002
        """Of what it keeps of a run, that of some lanes, those of ``problem``."""
        return there
