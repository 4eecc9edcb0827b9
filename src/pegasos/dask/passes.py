"""The passes of the second-order solvers over a part of the rows, on the worker that holds it.

The same methods as ``_core.Interior`` and ``_core.Newton``, without ranges: a pass goes over all
rows of the part. What the core adds to an array comes back as a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.dask.reply import Reply
from pegasos.problem import Problem
from pegasos.solvers.interior import InteriorPoint, Lightened, balanced
from pegasos.solvers.newton import smoothed_duals


class LanePasses:
    """One lane's variables on a part, and the passes over them."""

    def __init__(self, problem: Problem, kind: str, start: Lightened) -> None:
        """Start as the solver does."""
        self.problem, self.kind, self.n = problem, kind, problem.n
        self.core: Any
        if kind == "interior":
            self.rows = InteriorPoint.start_rows(problem, start)
            self.core = _core.Interior(problem.core, self.rows, float(start.share[0]))
        else:
            self.rows = np.zeros((_core.Newton.ARRAYS, problem.n))
            self.core = _core.Newton(problem.core, self.rows)
            self.fresh()

    def duals(self, at: float) -> Floats:
        """Feasible duals (n, 1): Newton's at a width, the interior point method's after a shift."""
        if self.kind == "interior":
            return balanced(self.problem, self.rows, at, 0, self.n)
        return smoothed_duals(self.problem, self.rows[0], at, 0, self.n)

    # Newton.
    def fresh(self) -> Reply:
        """The slacks of w = 0."""
        self.rows[0] = 1.0
        return {}

    def along(self, every: int, dw: Floats, db: float) -> Reply:
        """As ``_core.Newton.along``."""
        self.core.along(0, self.n, every, dw, db)
        return {}

    def line(self, every: int, step: float, width: float) -> Reply:
        """As ``_core.Newton.line``."""
        return {"out": ("sum", np.array(self.core.line(0, self.n, every, step, width)))}

    def newton_point(
        self, every: int, step: float, before: float, width: float, constant: float
    ) -> Reply:
        """As ``_core.Newton.point``."""
        d = self.problem.rows.d
        sums = np.zeros((d + 2, d + 1))
        out = self.core.point(0, self.n, every, step, before, width, constant, sums)
        return {
            "out": ("sum", np.array(out)),
            "matrix": ("sum", packed(sums[:-1])),
            "vector": ("sum", sums[-1]),
        }

    # The interior point method.
    def swap(self) -> Reply:
        """The other direction becomes the one in hand."""
        self.core.swap()
        return {}

    def point(self, step: float, w: Floats, b: float) -> Reply:
        """As ``_core.Interior.point``."""
        vectors = np.zeros((3, w.size))
        out = self.core.point(0, self.n, step, w, b, vectors)
        return {"out": ("sum", np.array(out)), "vectors": ("sum", vectors)}

    def affine(self, dw: Floats, db: float) -> Reply:
        """As ``_core.Interior.affine``."""
        second = np.zeros(dw.size)
        *steps, primal, dual, both, of_b = self.core.affine(0, self.n, dw, db, second)
        return {
            "steps": ("min", np.array(steps)),
            "out": ("sum", np.array([primal, dual, both, of_b])),
            "vectors": ("sum", second),
        }

    def direction(self, other: bool, mu: float, dw: Floats, db: float) -> Reply:
        """As ``_core.Interior.direction``."""
        return {"steps": ("min", np.array(self.core.direction(0, self.n, other, mu, dw, db)))}

    def correct(self, mu: float, primal: float, dual: float) -> Reply:
        """As ``_core.Interior.correct``."""
        rhs = np.zeros(self.problem.weights_shape[0])
        out = self.core.correct(0, self.n, mu, primal, dual, rhs)
        return {"out": ("sum", float(out)), "vectors": ("sum", rhs)}

    def trial(self, factors: Floats) -> Reply:
        """As ``_core.Interior.trial``."""
        sums = np.zeros(factors.size + 2)
        self.core.trial(0, self.n, factors, sums)
        return {"out": ("sum", sums)}

    def slacken(self, slack: float) -> Reply:
        """As ``_core.Interior.slacken``."""
        self.core.slacken(0, self.n, slack)
        return {}

    def gram(self, constant: float, light: float, thin: float) -> Reply:
        """As ``_core.Interior.gram``."""
        size = self.problem.weights_shape[0]
        matrix = np.zeros((size, size))
        self.core.gram(0, self.n, constant, light, thin, matrix)
        return {"matrix": ("sum", packed(matrix))}


def packed(matrix: Floats) -> Floats:
    """The upper triangle, row after row."""
    return matrix[np.triu_indices(len(matrix))]


def unpack(triangle: Floats, into: Floats) -> None:
    """Add it to a matrix's upper triangle."""
    into[np.triu_indices(len(into))] += triangle
