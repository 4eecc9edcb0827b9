"""Rows in this process, all of them at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pegasos.sites.base import Ranges, Site
from pegasos.sites.method import About, Kept, RowMethod
from pegasos.sites.passes import LocalPasses, Passes

if TYPE_CHECKING:
    from pegasos.problem import Problem
    from pegasos.rows import Rows

_ROW_VALUES = 16  # that take as long as a row's own variables
_SPARSE_VALUES = 4  # that take as long as a stored one of sparse rows
_SPARSE_PRODUCTS = 32  # that take as long as one of dense rows


@dataclass(frozen=True)
class Memory(Site):
    """Rows of arrays or matrices that the user has.

    A range takes some hundredths of a second: long for threads that have to be started, short for
    a user who presses Ctrl-C.
    """

    range_values: int = 1 << 26  # of dense rows, in a range
    range_products: int = 1 << 31  # of two values, in a range of the matrix of dense rows
    certified_values: int = 1 << 22  # stored values x lanes between two looks at the keyboard
    certified_duals: int = 1 << 18  # rows x lanes: duals that are computed take memory

    name: ClassVar[str] = "memory"
    where: ClassVar[str] = "in memory"
    in_memory: ClassVar[bool] = True

    def dense(self, rows: Rows) -> bool:
        """Whether rows are an array."""
        return rows.dense is not None

    def ranges(self, problem: Problem, *, matrix: bool = False) -> Ranges:
        """By the values that are read, or multiplied."""
        n, size, sparse = problem.n, problem.rows.row_size, problem.rows.dense is None
        values = size * (_SPARSE_VALUES if sparse else 1) + _ROW_VALUES
        most = self.range_values / values
        if matrix:
            products = size**2 * (_SPARSE_PRODUCTS if sparse else 1)
            most = min(most, self.range_products / max(1.0, products))
        return _ranges(n, max(64, int(most)))

    def certified_at_once(self, problem: Problem) -> Ranges:
        """About 10 ms of work each: a function of the problem's shape alone."""
        n, lanes = problem.n, problem.weights_shape[1]
        values = max(1.0, problem.rows.row_size) * lanes
        # Starting threads takes a while.
        share = 1 if problem.threads == 1 else 4 * problem.threads
        most = min(share * self.certified_values / values, self.certified_duals / lanes)
        return _ranges(n, max(1, int(most)))

    def passes(self, method: RowMethod, problem: Problem, state: Kept, about: About) -> Passes:
        """Calls of the core."""
        return LocalPasses(problem, method, state, about)


def _ranges(n: int, step: int) -> Ranges:
    return [(lo, min(n, lo + step)) for lo in range(0, n, step)]


MEMORY = Memory()
