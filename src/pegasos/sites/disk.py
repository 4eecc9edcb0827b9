"""Rows that are read, or made, a part at a time, and are never all in memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.data.dataset import ALIGNED
from pegasos.rows import Rows, block_rows
from pegasos.sites.base import Part, Ranges, Site
from pegasos.sites.method import About, AnySolver, Bools, Floats, Kept, RowMethod
from pegasos.sites.passes import LocalPasses, Passes, matrix_of, vectors_of
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
    def block(self, lo: int, hi: int, workers: int, only: Bools | None = None) -> Any:
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

    def rows(self, lo: int, hi: int, bias: float, workers: int, only: Bools | None = None) -> Rows:
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
    def dense(self, rows: Rows) -> bool:
        """Whether parts are arrays."""
        return self.of_arrays

    def ranges(self, problem: Problem, *, matrix: bool = False) -> Ranges:
        """The parts."""
        return self.parts()

    def told(self, problem: Problem) -> str:
        """Where features are not what parts hold."""
        return "features are made by blocks"

    @property
    def has_rows(self) -> bool:
        """Where features are what parts hold."""
        return self.transform is None

    @property
    def samples(self) -> bool:
        """Samples are of eight consecutive rows: parts have to begin with one, at ``ALIGNED``."""
        return all(lo % ALIGNED == 0 for lo, _ in self.parts())

    def refusal(self, solver: AnySolver) -> str | None:
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
        only: Bools | None = None,
        ahead: int | None = None,
    ) -> Part:
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


class PartPasses(LocalPasses):
    """Those of one lane over rows that come by parts; the variables of all rows are here."""

    def call(self, name: str, lo: int, hi: int, given: list[Any], sums: list[Floats]) -> Any:
        """Read the part, if the pass reads rows."""
        what, site = self.method.passes[name], self.problem.site
        if not what.reads:
            return super().call(name, lo, hi, given, sums)
        arguments, only = dict(zip(what.takes, given, strict=True)), None
        if what.only is not None:
            only = what.only(self.problem, self.variables, lo, hi, arguments)
        core, first, last = site.part(self.problem, lo, hi, only)
        here = np.ascontiguousarray(self.variables[:, lo:hi])
        passes = self.method.open(core, here, self.about)
        for a in what.weights:
            arguments[a] = np.ascontiguousarray(site.inward(arguments[a]))
        # Vectors are summed up apart from what was there; the matrix is of what parts hold until
        # it is factored.
        adds = zip(what.adds, sums, strict=True)
        vectors = [vectors_of(v) if a == what.matrix else v for a, v in adds]
        before = [v.copy() for v in vectors]
        for v in vectors:
            v[...] = 0.0
        found = getattr(passes, name)(first, last, *arguments.values(), *sums)
        self.variables[:, lo:hi] = here
        for v, old in zip(vectors, before, strict=True):
            columns = np.ascontiguousarray(np.atleast_2d(v).T)
            site.outward(columns)
            v[...] = old + columns.T.reshape(v.shape)
        return found

    def factor(
        self, s: Floats, *, whole: Floats | None = None, last: Floats | None = None
    ) -> Bools:
        """The matrix of rows, in its upper triangle, is made from that of what parts hold."""
        site = self.problem.site
        if not site.has_rows:
            matrix = matrix_of(self.sums)
            square = np.triu(matrix) + np.triu(matrix, 1).T
            site.outward(square)
            square = np.ascontiguousarray(square.T)
            site.outward(square)
            matrix[...] = square
        return super().factor(s, whole=whole, last=last)

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand, of the parts to come, too."""
        super().swap(lanes)
        self.about = {**self.about, "swapped": not self.about["swapped"]}
