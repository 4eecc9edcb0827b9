"""What a solver declares about its passes over rows: any site can run them from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos import _core

if TYPE_CHECKING:
    from pegasos.problem import Problem

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
Bools = NDArray[np.bool_]
About = Mapping[str, Any]
"""What all parts have to know of a run before its first pass, by name."""

DualsOf = Callable[[int, int], Floats]
"""Duals of rows lo..hi-1 as an (hi - lo, K) array."""

Merge = Literal["sum", "min", "max"]
COMBINE: dict[Merge, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_NOTHING: dict[Merge, float] = {"sum": 0.0, "min": np.inf, "max": -np.inf}


class Reply(NamedTuple):
    """Numbers that a pass returns, and how those of several parts become one."""

    name: str
    how: Merge
    size: int  # how many numbers


@dataclass(frozen=True)
class Pass:
    """A pass over rows: its arguments and results, by name, in the order of the core."""

    takes: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()  # arrays that it adds to: sums over the rows
    replies: tuple[Reply, ...] = ()
    weights: frozenset[str] = frozenset()  # of what it takes: vectors of the size of w
    # Of what it adds to, the array that begins with a symmetric matrix of features x features. Its
    # upper triangle counts; the rows below it are vectors of the size of w, as all others are.
    matrix: str = ""
    reads: bool = True  # the rows themselves, and not their variables alone
    only: Callable[[Problem, Floats, int, int, Mapping[str, Any]], Bools] | None = None
    """Which of the rows lo..hi-1 it needs, from the variables and the arguments; None: all."""

    def how(self, name: str) -> Merge:
        """How what several parts have found under this name becomes one."""
        for reply in self.replies:
            if reply.name == name:
                return reply.how
        return "sum"

    def collect(self, found: Any, into: Mapping[str, Floats], *, lanes: bool) -> None:
        """Merge what the core returned into arrays by the replies' names, in place."""
        if not self.replies:
            return
        numbers = np.array(found, dtype=np.float64, ndmin=1)
        if lanes:
            numbers = numbers[:, None]
        if len(self.replies) == 1:
            name, how, _ = self.replies[0]
            merge_into(how, into[name], numbers)
            return
        at = 0
        for name, how, size in self.replies:
            merge_into(how, into[name], numbers[at : at + size])
            at += size


def merge_into(how: Merge, total: Floats, more: Floats) -> None:
    """Make ``total`` that of one more part."""
    COMBINE[how](total, more, out=total)


def nothing_yet(how: Merge, shape: tuple[int, ...]) -> Floats:
    """What the first part is merged into."""
    return np.full(shape, _NOTHING[how])


class Kept(Protocol):
    """The state of a run, as a site sees it."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All that is here."""

    @property
    def there(self) -> Any:
        """What the site itself keeps of the run; None where the arrays are all."""


class RowMethod(ABC):
    """A second-order solver's part in the rows: their variables, and the passes over them.

    Passes are methods of what ``open`` returns, of the same names, over one lane. Where ``lanes``
    is true, arrays that come and go have the lane as their last axis, and ``about`` is (K,) arrays.
    """

    name: ClassVar[str]
    passes: ClassVar[Mapping[str, Pass]]
    lanes: ClassVar[bool] = False

    @abstractmethod
    def begin(self, problem: Problem, about: About) -> Floats:
        """The variables of the rows of one lane at the start of a run, (variables, n)."""

    @abstractmethod
    def open(
        self, core: _core.Problem, variables: Floats, about: About, *, swapped: bool = False
    ) -> Any:
        """The core's passes over these rows; ``swapped``: directions have changed places."""

    @abstractmethod
    def duals(self, problem: Problem, variables: Floats, at: float, lo: int, hi: int) -> Floats:
        """(hi - lo, 1) feasible duals, read off the variables with the one number ``at``."""

    @abstractmethod
    def matrix(self, arrays: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats | None]:
        """Of a run's state: the matrix of features x features, and room for its factor."""


@dataclass(frozen=True)
class DualsAt:
    """The duals of a run of a ``RowMethod``, wherever the rows' variables are."""

    method: RowMethod
    problem: Problem
    state: Kept
    at: Floats  # (K,) what they are read with

    def __call__(self, lo: int, hi: int) -> Floats:
        """Those of rows lo..hi-1, where their variables are here."""
        rows = self.state.arrays.get("rows")
        if rows is None:
            raise NotImplementedError(f"duals stay {self.problem.site.where}")
        return self.method.duals(self.problem, rows, float(self.at[0]), lo, hi)
