"""One binary problem over a Gram matrix, and its certificate.

    P = 1/N [ s/2 |w|^2 + sum c max(0, 1 - y (f + b)) ],   f = K (a y) / s,   D as in problem.py

Inside, a is divided by s: LIBSVM's alphas, bounded by u = c / s, and f = K coef.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pegasos.certificate import Certificate, Floats, GiveUp, never
from pegasos.kernel.gram import NOT_SEMIDEFINITE, Gram
from pegasos.losses import Hinge

LOSS = Hinge()  # the only one that kernels are trained with


@dataclass(frozen=True)
class KernelProblem:
    """``y`` is -1 or 1, ``upper`` are c / s; ``free`` trains an intercept that is not penalised."""

    gram: Gram
    y: Floats
    upper: Floats
    s: float
    total_weight: float
    free: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.gram.n

    @property
    def scale(self) -> float:
        """Of LIBSVM's objective in ours."""
        return self.s / self.total_weight

    def untrained(self) -> Certificate:
        """Of no model at all: f = 0."""
        return Certificate.untrained(np.asarray(self.scale * LOSS.value(1.0, self.upper).sum()))

    def scores(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef, which is (n,) or (n, k), from scratch in float64."""
        return self.gram.times(coef, give_up)

    def primal(self, coef: Floats, f: Floats, b: float) -> float:
        """P."""
        loss = float(self.upper @ LOSS.value(1.0 - self.y * (f + b), 1.0))
        return self.scale * (float(coef @ f) / 2 + loss)

    def proof(self, coef: Floats, f: Floats, b: float, alphas: Floats, g: Floats) -> Certificate:
        """Bounds from a model (f = K coef) and from alphas in the box (g = K (alphas y)).

        All alphas are scaled by what raises D most. Raises ValueError where they prove that K is
        not positive semidefinite: then they bound nothing.
        """
        size, square = float(alphas.sum()), float((alphas * self.y) @ g)
        reach = max(size, float(np.abs(coef).sum()))
        error = self.gram.rounding() * reach * (reach + float(self.upper.sum()))
        if min(square, float(coef @ f)) < -error:
            raise ValueError(NOT_SEMIDEFINITE.format(f"a'Ka = {square:.3g} for some a"))
        theta = 1.0
        if square > 0 and size > 0:
            used = alphas > 0
            theta = min(size / square, float(np.min(self.upper[used] / alphas[used])))
        dual = theta * size - theta**2 * square / 2
        if self.free:  # a point that misses sum a y = 0 by rounding bounds nothing by that much
            dual -= theta * abs(float(alphas @ self.y)) * (1.0 + abs(b))
        proof = Certificate(
            self.primal(coef, f, b), self.scale * max(dual, 0.0), self.scale * error
        )
        if not proof.holds:
            raise ValueError(NOT_SEMIDEFINITE.format("its bounds contradict each other"))
        return proof
