"""Rows that are read, or made, a part at a time, and are never all in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.data.dataset import ALIGNED
from pegasos.rows import Rows, block_rows
from pegasos.sites.base import Ranges, Site
from pegasos.sites.method import About, Bools, Floats, Kept, RowMethod
from pegasos.sites.passes import NONE, Passes, matrix_of, one_lane, vectors_of
from pegasos.util.checksums import of_arrays, of_rows

if TYPE_CHECKING:
    from pegasos.problem import Problem


class Blocks(Site):
    """Parts of the rows, visited in turn.

    A subclass says where parts begin and what is in them. Features may be linear ones of what a
    part holds: x = transform' z. Products and sums are then taken with z, and only vectors of the
    size of w go through ``transform``.
    """

    y: Any = None  # labels and weights of the rows' own, if they have any
    sample_weight: Any = None
    exact_norms: bool = False  # ``norm_bounds`` are |x|^2 itself

    name: ClassVar[str] = "disk"
    where: ClassVar[str] = "with the run"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @abstractmethod
    def parts(self) -> Ranges:
        """The rows of each part."""

    @abstractmethod
    def block(self, lo: int, hi: int, workers: int, only: NDArray[np.bool_] | None = None) -> Any:
        """z of the rows of a part, dense or CSR; ``only`` some need be right."""

    @abstractmethod
    def norm_bounds(self) -> NDArray[np.float64]:
        """(n,): |x|^2 at most."""

    @property
    def transform(self) -> NDArray[np.float64] | None:
        """(d, d); None: x = z."""
        return None

    def condition(self) -> float:
        """At most |transform| |z| / |x|'s bound, of any row: what rounding grows by."""
        return 1.0

    @property
    def size(self) -> int:
        """Stored values."""
        return self.shape[0] * self.shape[1]

    @property
    def aligned(self) -> bool:
        """Whether every part begins at a multiple of ``pegasos.data.dataset.ALIGNED`` rows."""
        return all(lo % ALIGNED == 0 for lo, _ in self.parts())

    def checksum(self) -> int:
        """CRC-32 of all rows, which a checkpoint is compared by."""
        parts = [of_rows(self.block(lo, hi, 1)) for lo, hi in self.parts()]
        return of_arrays(np.array(parts))

    @property
    def stored(self) -> tuple[float, float, int]:
        """Values and bytes of a row, on average, and values of the longest."""
        d = self.shape[1]
        return float(d), 8.0 * d, d

    @property
    def of_arrays(self) -> bool:
        """Whether parts are arrays."""
        return True

    def rows(
        self, lo: int, hi: int, bias: float, workers: int, only: NDArray[np.bool_] | None = None
    ) -> Rows:
        """A part as the core takes it, with a constant feature."""
        return block_rows(self.block(lo, hi, workers, only), bias)

    def expect(self, lo: int) -> None:
        """Hear that the part that begins with this row is next."""

    def summary(self, bias: float) -> Rows:
        """All rows, none of which is here."""
        n, d = self.shape
        nothing = np.zeros(n + 1, dtype=np.int64)
        core = _core.Rows.csr(np.zeros(0), np.zeros(0, dtype=np.int64), nothing, d, bias)
        return Rows(core, self.norm_bounds() + bias**2, *self.stored, None, self.condition())

    # As a site.
    def dense(self, rows: Rows) -> bool:  # noqa: ARG002
        """Whether parts are arrays."""
        return self.of_arrays

    def ranges(self, problem: Problem, *, matrix: bool = False) -> Ranges:  # noqa: ARG002
        """The parts."""
        return self.parts()

    def told(self, problem: Problem) -> str:  # noqa: ARG002
        """Where features are not what parts hold."""
        return "features are made by blocks"

    @property
    def has_rows(self) -> bool:
        """Where features are what parts hold."""
        return self.transform is None

    @property
    def samples(self) -> bool:
        """Samples are of eight consecutive rows: parts have to begin with one."""
        return self.aligned

    def refusal(self, solver: Any) -> str | None:
        """Some keep lists of all rows, or need norms that are exact."""
        name = type(solver).__name__
        if not solver.by_blocks:
            return f"{name} cannot train on rows that come by blocks; use solver='auto'"
        made = not self.has_rows or not self.exact_norms
        if made and not solver.by_passes:
            return (
                f"{name} cannot train on features that are made by blocks; use "
                "solver='auto', 'newton' or 'interior'"
            )
        return None

    def part(
        self,
        problem: Problem,
        lo: int,
        hi: int,
        only: NDArray[np.bool_] | None = None,
        ahead: int | None = None,
    ) -> tuple[_core.Problem, int, int]:
        """One of the parts, made or read now."""
        block = self.rows(lo, hi, problem.bias, problem.threads, only)
        self.expect((hi if ahead is None else ahead) % problem.n)
        return problem.core_over(block, lo, hi), 0, hi - lo

    def inward(self, W: Floats) -> Floats:
        """w.x = (T w).z."""
        if self.transform is None:
            return W
        return np.concatenate([self.transform @ W[:-1], W[-1:]])

    def outward(self, U: Floats) -> None:
        """Sums of z become those of x."""
        if self.transform is not None:
            U[:-1] = self.transform.T @ U[:-1]

    def passes(self, method: RowMethod, problem: Problem, state: Kept, about: About) -> Passes:
        """Each reads the parts anew."""
        return PartPasses(problem, method, state, about)


class PartPasses(Passes):
    """Those of one lane over rows that come by parts; the variables of all rows are here."""

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with a run."""
        super().__init__(problem, method, state, about)
        self.site, self.variables = problem.site, state.arrays["rows"]

    def ask(
        self, name: str, lo: int, hi: int, into: Mapping[str, Floats] = NONE, /, **arguments: Any
    ) -> None:
        """Read the part, if the pass reads rows, and add what was found of it."""
        what = self.method.passes[name]
        if self.method.lanes:
            arguments, into = one_lane(arguments), one_lane(into)
        given = {a: arguments[a] for a in what.takes}
        sums = {a: self.sums if a == what.matrix else into[a] for a in what.adds}
        if what.reads:
            found = self._read(name, lo, hi, given, sums)
        else:
            core = self.method.open(self.problem.core, self.variables, self.about)
            found = getattr(core, name)(lo, hi, *given.values(), *sums.values())
        what.collect(found, into)

    def _read(
        self, name: str, lo: int, hi: int, given: dict[str, Any], sums: dict[str, Floats]
    ) -> Any:
        what = self.method.passes[name]
        only = None
        if what.only is not None:
            only = what.only(self.problem, self.variables, lo, hi, given)
        core, first, last = self.site.part(self.problem, lo, hi, only)
        here = np.ascontiguousarray(self.variables[:, lo:hi])
        passes = self.method.open(core, here, self.about)
        for a in what.weights:
            given[a] = np.ascontiguousarray(self.site.inward(given[a]))
        # Vectors are summed up apart from what was there; the matrix is of what parts hold until
        # it is factored.
        vectors = {a: vectors_of(v) if a == what.matrix else v for a, v in sums.items()}
        before = {a: v.copy() for a, v in vectors.items()}
        for v in vectors.values():
            v[...] = 0.0
        found = getattr(passes, name)(first, last, *given.values(), *sums.values())
        self.variables[:, lo:hi] = here
        for a, v in vectors.items():
            columns = np.ascontiguousarray(np.atleast_2d(v).T)
            self.site.outward(columns)
            v[...] = before[a] + columns.T.reshape(v.shape)
        return found

    def factor(
        self, s: Floats, *, whole: Floats | None = None, last: Floats | None = None
    ) -> Bools:
        """The matrix of rows, in its upper triangle, is made from that of what parts hold."""
        if not self.site.has_rows:
            matrix = matrix_of(self.sums)
            square = np.triu(matrix) + np.triu(matrix, 1).T
            self.site.outward(square)
            square = np.ascontiguousarray(square.T)
            self.site.outward(square)
            matrix[...] = square
        return super().factor(s, whole=whole, last=last)

    def swap(self, lanes: Bools) -> None:  # noqa: ARG002 - there is but one
        """The other direction becomes the one in hand."""
        self.about = {**self.about, "swapped": not self.about["swapped"]}

    def restart(self) -> None:
        """The rows' variables become those of the start."""
        self.variables[...] = self.method.begin(self.problem, self.about)
