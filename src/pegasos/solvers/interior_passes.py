"""What the interior point method asks of rows, and of matrices of features x features.

Vectors of the lanes are columns: w is (d + 1, K), the constant feature last, b and mu are (K,).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.solvers import normal
from pegasos.solvers.base import State
from pegasos.solvers.by_blocks import BlockInterior

Bools = NDArray[np.bool_]


class Passes(Protocol):
    """Passes over rows lo..hi-1, and the matrix that they add up to."""

    correctors: int
    """How many centrality correctors an iteration may try."""

    def point(
        self, lo: int, hi: int, step: Floats, w: Floats, b: Floats, vectors: Floats
    ) -> Floats:
        """Step along the direction in hand, and look at the rows from (w, b).

        Adds to three vectors, (3, d + 1, K): sum a y x, the affine right-hand side sum t x, and
        its derivative by mu. Returns (7, K): sum a r + v xi, the loss, sum a (- a^2 / 4c),
        sum a y, sum D, sum t, and its derivative.
        """

    def begin_gram(self) -> None:
        """The matrix becomes 0."""

    def gram(self, lo: int, hi: int, constant: float, light: Floats, thin: Floats) -> None:
        """Add sum D z z', z = (x, constant), to it; not rows with D |x|^2 <= light, D <= thin."""

    def factor(self, s: Floats, scale: Floats | None) -> Bools:
        """Factor the matrix + s I: which lanes have a factor.

        ``scale``, if the intercept is free, is sum D of all rows: in the last entry, those count,
        too, that are otherwise left out.
        """

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Bools:
        """Write (dw, db), (d + 2, K), for the right-hand sides: which lanes are finite."""

    def affine(
        self, lo: int, hi: int, dw: Floats, db: Floats, second: Floats
    ) -> tuple[Floats, Floats]:
        """Look along the affine direction, and set the targets, but for mu.

        Adds the second-order terms of the right-hand side to ``second``. Returns (2, K) the largest
        steps, and (4, K): complementarity grows by p primal + q dual + p q both; sum t.
        """

    def direction(
        self, lo: int, hi: int, other: bool, mu: Floats, dw: Floats, db: Floats
    ) -> Floats:
        """Add mu, or a share of it, to the targets of a direction, and fill it in.

        Returns (2, K) the largest steps, of the primal and the dual variables.
        """

    def correct(
        self, lo: int, hi: int, mu: Floats, primal: Floats, dual: Floats, rhs: Floats
    ) -> Floats:
        """Set the other targets so that products beyond a tenth to ten times their aims come back.

        Adds the change of the right-hand side to ``rhs``; returns (K,) its sum t.
        """

    def trial(self, lo: int, hi: int, factors: Floats, sums: Floats) -> None:
        """Add the hinge losses at factors of the direction in hand, and how the margins change.

        ``sums`` is (factors + 2, K), the last two are sum c (change of the margin) of either class.
        """

    def slacken(self, lo: int, hi: int, slack: Floats) -> None:
        """Raise the slacks r and xi of all rows to it, in lanes with a slack > 0."""

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand."""

    def sharpen(self) -> bool:
        """Make matrices more exact from now on; False if they are as exact as can be."""


class OneLane:
    """Those of a single lane, by passes as of ``_core.Interior``; matrices are in the state."""

    correctors = 4

    def __init__(self, rows: Any, state: State, threads: int, *, swapped: bool = False) -> None:
        """Go on with these passes over ``rows``; ``swapped``: they begin with the directions so."""
        self.threads = threads
        self.rows, self.matrix, self.factored = rows, state["gram"], state["factor"]
        if swapped:
            rows.swap()

    def point(
        self, lo: int, hi: int, step: Floats, w: Floats, b: Floats, vectors: Floats
    ) -> Floats:
        """As of ``Passes``."""
        sums = self.rows.point(lo, hi, float(step[0]), w[:, 0], float(b[0]), vectors[:, :, 0])
        return np.asarray(sums).reshape(-1, 1)

    def begin_gram(self) -> None:
        """The matrix becomes 0."""
        self.matrix[...] = 0.0

    def gram(self, lo: int, hi: int, constant: float, light: Floats, thin: Floats) -> None:
        """As of ``Passes``."""
        self.rows.gram(lo, hi, constant, float(light[0]), float(thin[0]), self.matrix)

    def factor(self, s: Floats, scale: Floats | None) -> Bools:
        """As of ``Passes``."""
        if isinstance(self.rows, BlockInterior):
            self.rows.end_matrix(self.matrix)
        intercept = None if scale is None else max(0.0, float(scale[0]) - self.matrix[-1, -1])
        found = normal.factor(self.matrix, float(s[0]), intercept, self.threads, self.factored)
        return np.array([found])

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Bools:
        """As of ``Passes``."""
        right = np.ascontiguousarray(rhs[:, 0])
        found = normal.solve(self.factored, right, free, direction[:, 0])
        return np.array([found is not None])

    def affine(
        self, lo: int, hi: int, dw: Floats, db: Floats, second: Floats
    ) -> tuple[Floats, Floats]:
        """As of ``Passes``."""
        out = self.rows.affine(lo, hi, dw[:, 0], float(db[0]), second[:, 0])
        column = np.asarray(out, dtype=np.float64).reshape(-1, 1)
        return column[:2], column[2:]

    def direction(
        self, lo: int, hi: int, other: bool, mu: Floats, dw: Floats, db: Floats
    ) -> Floats:
        """As of ``Passes``."""
        steps = self.rows.direction(lo, hi, other, float(mu[0]), dw[:, 0], float(db[0]))
        return np.asarray(steps).reshape(-1, 1)

    def correct(
        self, lo: int, hi: int, mu: Floats, primal: Floats, dual: Floats, rhs: Floats
    ) -> Floats:
        """As of ``Passes``."""
        steps = float(primal[0]), float(dual[0])
        return np.array([self.rows.correct(lo, hi, float(mu[0]), *steps, rhs[:, 0])])

    def trial(self, lo: int, hi: int, factors: Floats, sums: Floats) -> None:
        """As of ``Passes``."""
        self.rows.trial(lo, hi, factors, sums[:, 0])

    def slacken(self, lo: int, hi: int, slack: Floats) -> None:
        """As of ``Passes``."""
        self.rows.slacken(lo, hi, float(slack[0]))

    def swap(self, lanes: Bools) -> None:  # noqa: ARG002 - there is but one
        """The other direction becomes the one in hand."""
        self.rows.swap()

    def sharpen(self) -> bool:
        """Matrices are exact."""
        return False
