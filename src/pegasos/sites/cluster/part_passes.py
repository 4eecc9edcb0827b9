"""The passes of a run over the rows of a part, on the worker that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites.merge import Reply
from pegasos.sites.method import About, RowMethod, nothing_yet
from pegasos.sites.passes import LocalPasses, matrix_of, vectors_of

Shapes = Mapping[str, tuple[int, ...]]


class PartPasses(LocalPasses):
    """Those of one lane; what they add up leaves with the reply."""

    def __init__(self, problem: Problem, method: RowMethod, about: About) -> None:
        """Make the rows' variables; there is no matrix but that of a pass."""
        self.problem, self.method, self.about = problem, method, about
        self.variables = method.begin(problem, about)
        self.core = method.open(problem.core, self.variables, about)

    def reply(self, name: str, shapes: Shapes, arguments: Mapping[str, Any]) -> Reply:
        """Make a pass over all rows of the part, into arrays of these shapes."""
        what = self.method.passes[name]
        into = {a: nothing_yet(what.how(a), shape) for a, shape in shapes.items()}
        if what.matrix:
            self.sums = into.pop(what.matrix)
        self.ask(name, 0, self.problem.n, into, **arguments)
        found: Reply = {a: (what.how(a), array) for a, array in into.items()}
        if what.matrix:
            found["triangle"] = ("sum", triangle(matrix_of(self.sums)))
            found["vectors below"] = ("sum", vectors_of(self.sums))
            del self.sums
        return found

    def duals(self, at: float) -> Floats:
        """Feasible duals (n, 1), read off the variables with ``at``."""
        return self.method.duals(self.problem, self.variables, at, 0, self.problem.n)


def triangle(matrix: Floats) -> Floats:
    """The upper triangle, row after row."""
    return matrix[np.triu_indices(len(matrix))]


def add_triangle(values: Floats, matrix: Floats) -> None:
    """Add it to a matrix's upper triangle."""
    matrix[np.triu_indices(len(matrix))] += values
