"""The second-order solvers' passes over rows that come by blocks.

The same methods as ``_core.Interior`` and ``_core.Newton``; each call makes or reads its block
anew, so that memory holds one block of rows, whatever their number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem


class _Passes:
    """Calls of the core's passes with one block of rows and of the variables (arrays, n)."""

    core: Any

    def __init__(self, problem: Problem, variables: Floats) -> None:
        """Look at nothing yet."""
        self.problem, self.variables, self.swapped = problem, variables, False

    def end_matrix(self, matrix: Floats) -> None:
        """The matrix of rows, in its upper triangle, from that of what blocks hold."""
        blocks = self.problem.rows.blocks
        assert blocks is not None
        if blocks.transform is None:
            return
        whole = np.triu(matrix) + np.triu(matrix, 1).T
        self.problem.from_blocks(whole)
        whole = np.ascontiguousarray(whole.T)
        self.problem.from_blocks(whole)
        matrix[...] = whole

    def _inner(self, w: Floats) -> Floats:
        return np.ascontiguousarray(self.problem.to_blocks(w))

    def _add(self, sums: Floats, to: Floats) -> None:
        columns = np.ascontiguousarray(np.atleast_2d(sums).T)
        self.problem.from_blocks(columns)
        to += columns.T.reshape(to.shape)

    def _call(
        self, name: str, lo: int, hi: int, *arguments: Any, only: NDArray[np.bool_] | None = None
    ) -> Any:
        core, first, last = self.problem.part(lo, hi, only)
        here = np.ascontiguousarray(self.variables[:, lo:hi])
        passes = self.core(core, here)
        if self.swapped:
            passes.swap()
        out = getattr(passes, name)(first, last, *arguments)
        self.variables[:, lo:hi] = here
        return out


class BlockInterior(_Passes):
    """Those of the interior point method."""

    def __init__(self, problem: Problem, variables: Floats, share: float) -> None:
        """Look at nothing yet; ``share`` as of ``_core.Interior``."""
        super().__init__(problem, variables)
        self.core = partial(_core.Interior, share=share)

    def swap(self) -> None:
        """The other direction becomes the one in hand."""
        self.swapped = not self.swapped

    def point(self, lo: int, hi: int, step: float, w: Floats, b: float, vectors: Floats) -> Any:
        """As ``_core.Interior.point``."""
        sums = np.zeros_like(vectors)
        out = self._call("point", lo, hi, step, self._inner(w), b, sums)
        self._add(sums, vectors)
        return out

    def affine(self, lo: int, hi: int, dw: Floats, db: float, second: Floats) -> Any:
        """As ``_core.Interior.affine``."""
        sums = np.zeros_like(second)
        out = self._call("affine", lo, hi, self._inner(dw), db, sums)
        self._add(sums, second)
        return out

    def direction(self, lo: int, hi: int, other: bool, mu: float, dw: Floats, db: float) -> Any:
        """As ``_core.Interior.direction``."""
        return self._call("direction", lo, hi, other, mu, self._inner(dw), db)

    def correct(
        self, lo: int, hi: int, mu: float, primal: float, dual: float, rhs: Floats
    ) -> float:
        """As ``_core.Interior.correct``."""
        sums = np.zeros_like(rhs)
        out = float(self._call("correct", lo, hi, mu, primal, dual, sums))
        self._add(sums, rhs)
        return out

    def trial(self, lo: int, hi: int, factors: Floats, sums: Floats) -> None:
        """As ``_core.Interior.trial``, which reads no row."""
        passes = self.core(self.problem.core, self.variables)
        if self.swapped:
            passes.swap()
        passes.trial(lo, hi, factors, sums)

    def slacken(self, lo: int, hi: int, slack: float) -> None:
        """As ``_core.Interior.slacken``, which reads no row."""
        self.core(self.problem.core, self.variables).slacken(lo, hi, slack)

    def gram(
        self, lo: int, hi: int, constant: float, light: float, thin: float, matrix: Floats
    ) -> None:
        """As ``_core.Interior.gram``, of what blocks hold: ``end_matrix`` makes it that of rows."""
        self._call("gram", lo, hi, constant, light, thin, matrix)


class BlockNewton(_Passes):
    """Those of Newton's method."""

    core = _core.Newton

    def along(self, lo: int, hi: int, every: int, dw: Floats, db: float) -> None:
        """As ``_core.Newton.along``."""
        only = _sampled(hi - lo, every) if every > 1 else None
        self._call("along", lo, hi, every, self._inner(dw), db, only=only)

    def point(
        self, lo: int, hi: int, every: int, step: float, before: float, width: float,
        constant: float, sums: Floats,
    ) -> Any:  # fmt: skip
        """As ``_core.Newton.point``; the matrix is of what blocks hold: see ``end_matrix``."""
        total = sums[-1].copy()
        sums[-1] = 0.0
        only = self._needed(lo, hi, step, before, width)
        if every > 1:
            only &= _sampled(hi - lo, every)
        out = self._call("point", lo, hi, every, step, before, width, constant, sums, only=only)
        change = sums[-1].copy()
        sums[-1] = total
        self._add(change, sums[-1])
        return out

    def line(self, lo: int, hi: int, every: int, step: float, width: float) -> Any:
        """As ``_core.Newton.line``, which reads no row."""
        return _core.Newton(self.problem.core, self.variables).line(lo, hi, every, step, width)

    def _needed(
        self, lo: int, hi: int, step: float, before: float, width: float
    ) -> NDArray[np.bool_]:
        """Rows that are curved or whose duals change, and a few more.

        Those far on the right side of the kink have no dual, neither before nor after; those far on
        the wrong side keep theirs, c, if they had one: before the first step, all are 0.
        """
        slack = self.variables[0, lo:hi]
        after = slack + step * self.variables[1, lo:hi]
        far = 1 + 1e-6
        right = (slack < -far * before - 1e-9) & (after < -far * width - 1e-9)
        if before == 0:
            right = after < -far * width - 1e-9
        wrong = (slack > far * before + 1e-9) & (after > far * width + 1e-9)
        if before == 0 or self.problem.loss == "squared_hinge":
            return np.asarray(~right)
        return np.asarray(~(right | wrong))


def _sampled(count: int, every: int) -> NDArray[np.bool_]:
    """The core's sample: eight consecutive rows of every so many times eight."""
    return np.asarray((np.arange(count) >> 3) % every == 0)
