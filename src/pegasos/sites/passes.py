"""The passes of a run over rows, and the matrices of features x features that they add up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pegasos import _core
from pegasos.sites.method import About, Bools, Floats, Kept, RowMethod

if TYPE_CHECKING:
    from pegasos.problem import Problem

NONE: Mapping[str, Any] = {}
"""Nothing to merge into: what a pass that replies with nothing is asked with."""

_SHARED = 2048  # rows of a matrix that threads factor together: they wait for each other often


class Passes(ABC):
    """What a second-order solver asks of a site: passes over rows, and systems of equations.

    Matrices stay where the site has them. Those on this machine are arrays of the run's state.
    """

    correctors: ClassVar[int] = 4
    """How many centrality correctors an iteration may try."""

    worth_certifying: ClassVar[float] = 1.2
    """Times tol: what an exact estimate has to be within."""

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with a run."""
        self.problem, self.method, self.about = problem, method, about
        if problem.site.matrices_here:
            self.sums, self.factored = method.matrix(state.arrays)

    @abstractmethod
    def ask(
        self, name: str, lo: int, hi: int, into: Mapping[str, Floats] = NONE, /, **arguments: Any
    ) -> None:
        """Make the pass of that name over rows lo..hi-1, one of the site's ranges.

        What it adds up and replies is merged into the arrays of ``into``, in place; the matrix, and
        the vectors below it, into those of the run's state.
        """

    @abstractmethod
    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand."""

    @abstractmethod
    def restart(self) -> None:
        """The rows' variables become those of the start."""

    def begin_matrix(self) -> None:
        """The matrix becomes 0."""
        matrix_of(self.sums)[...] = 0.0

    def factor(
        self, s: Floats, *, whole: Floats | None = None, last: Floats | None = None
    ) -> Bools:
        """Factor the matrix + s I: which lanes have a factor.

        For a free intercept s is not added to the last entry, but ``last``; or as much as makes
        that entry ``whole``, where some rows were left out of the matrix.
        """
        matrix, entry = matrix_of(self.sums), None
        if whole is not None:
            entry = max(0.0, float(whole[0]) - float(matrix[-1, -1]))
        elif last is not None:
            entry = float(last[0])
        if self.factored is None:
            self.factored = np.zeros(_core.factor_size(len(matrix)))
        found = factor(matrix, float(s[0]), entry, self.problem.threads, self.factored)
        return np.array([found])

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Floats:
        """Write (dw, db) for the right-hand sides; (K,) rhs . solution, NaN where not finite."""
        assert self.factored is not None
        if self.method.lanes:
            rhs, direction = np.ascontiguousarray(rhs[:, 0]), direction[:, 0]
        return np.array([solve(self.factored, rhs, free, direction)])

    def sharpen(self) -> bool:
        """Make matrices more exact from now on; False if they are as exact as can be."""
        return False

    def astray(self, done: bool) -> bool:
        """Whether all rows have to be looked at anew; ``done``: nothing more comes of the others.

        A site may look at some rows only, where that steers as well.
        """
        return False

    def look_again(self) -> bool:
        """Hear that a certificate was not good enough; whether all rows are looked at anew."""
        return False


class LocalPasses(Passes):
    """Those of one lane over rows in this process."""

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with the variables of the run's state."""
        super().__init__(problem, method, state, about)
        self.variables = state.arrays["rows"]
        self.core = method.open(problem.core, self.variables, about)

    def ask(
        self, name: str, lo: int, hi: int, into: Mapping[str, Floats] = NONE, /, **arguments: Any
    ) -> None:
        """One call of the core, which adds to the arrays themselves."""
        what = self.method.passes[name]
        if self.method.lanes:
            arguments, into = one_lane(arguments), one_lane(into)
        given = [arguments[a] for a in what.takes]
        sums = [self.sums if a == what.matrix else into[a] for a in what.adds]
        what.collect(self.call(name, lo, hi, given, sums), into)

    def call(self, name: str, lo: int, hi: int, given: list[Any], sums: list[Floats]) -> Any:
        """What the core finds."""
        return getattr(self.core, name)(lo, hi, *given, *sums)

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand."""
        self.core.swap()

    def restart(self) -> None:
        """The rows' variables become those of the start."""
        self.method.restart(self.problem, self.about, self.variables)


def one_lane(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments or results as the core has them, which trains one lane: without the last axis."""
    return {a: v[..., 0] if isinstance(v, np.ndarray) else v for a, v in arrays.items()}


def matrix_of(sums: Floats) -> Floats:
    """The symmetric matrix that an array of sums begins with."""
    return sums[: sums.shape[1]]


def vectors_of(sums: Floats) -> Floats:
    """The vectors below it."""
    return sums[sums.shape[1] :]


def factor(gram: Floats, s: float, intercept: float | None, threads: int, out: Floats) -> bool:
    """Cholesky factor of gram (its upper triangle) + s I; False if there is none.

    ``intercept`` is added instead of s to the last entry, if that is a free intercept's. A matrix
    that is not positive definite is lifted a little.
    """
    last = s if intercept is None else intercept
    threads = threads if len(gram) >= _SHARED else 1
    lift = 0.0
    while lift < 1:
        if _core.cholesky(gram, s, last, lift, threads, out):
            return True
        lift = max(1e-14, 100 * lift)
    return False


def solve(factored: Floats, rhs: Floats, free: bool, direction: Floats) -> float:
    """Write the solution as (dw, db), with d + 1 weights; rhs . solution, NaN if it is not finite.

    A free intercept is the last of the unknowns, and no weight then.
    """
    solution = np.empty_like(rhs)
    _core.cholesky_solve(factored, rhs, solution)
    if not np.isfinite(solution).all():
        return float("nan")
    direction[:-1], direction[-1] = solution, 0.0
    if free:
        direction[-2:] = 0.0, solution[-1]
    return float(rhs @ solution)
