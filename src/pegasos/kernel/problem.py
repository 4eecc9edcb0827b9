"""One binary problem over a Gram matrix, and its certificate.

    P = 1/N [ s/2 |w|^2 + sum c max(0, 1 - y (f + b)) ],   f = K (a y) / s,   D as in problem.py

Inside, a is divided by s: LIBSVM's alphas, bounded by u = c / s, and f = K coef. To a run the
features are the columns of K, and coef is their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.kernel.gram import NOT_SEMIDEFINITE, Gram
from pegasos.losses import Hinge
from pegasos.problem import Intercept

LOSS = Hinge()  # the only one that kernels are trained with


class GramSite:
    """Where rows are met through their Gram matrix. Duals are not kept: they are the weights."""

    here = False
    speed = 1.0

    def certified_at_once(self, problem: KernelProblem) -> list[tuple[int, int]]:
        """All rows: their sums look at the keyboard by themselves."""
        return [(0, problem.n)]

    def policy(self, solver: Any) -> Any:
        """The solver itself."""
        return solver


GRAM = GramSite()


@dataclass(eq=False)
class KernelProblem:
    """``y`` is -1 or 1, ``upper`` are c / s; a regularized intercept is in ``gram`` already."""

    gram: Gram
    y: Floats
    upper: Floats
    s: float
    total_weight: float
    intercept: Intercept

    lanes: ClassVar[int] = 1
    bias: ClassVar[float] = 0.0  # certificates find the intercept
    site: ClassVar[GramSite] = GRAM

    def __post_init__(self) -> None:
        """Add what follows, and what else a run asks."""
        n = self.n = self.gram.n
        self.free = self.intercept == "free"  # an intercept is trained that is not penalised
        self.scale = self.s / self.total_weight  # of LIBSVM's objective in ours
        self.sizes = {"lanes": 1, "rows": n, "weights": n + 1, "padded": 1}
        self.weights_shape = n + 1, 1  # a weight for each row, and one that stays 0
        self.at_zero = np.array([self.scale * LOSS.value(1.0, self.upper).sum()])
        self.visit_values = float(n)  # a step changes the slack of every row
        self.row_bytes = 4.0 * n  # of K

    def take(self, lanes: NDArray[np.intp]) -> Self:
        """The problem of its only lane."""
        return self

    def largest_row(self) -> tuple[int, float]:
        """The row with the largest norm, and that."""
        diagonal = self.gram.diagonal
        return int(diagonal.argmax()), float(np.sqrt(diagonal.max()))

    def memory(self) -> dict[str, NDArray[Any]]:
        """In what order rows of K were made that problems share."""
        return self.gram.memory()

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Make them in this order."""
        self.gram.remember(memory)

    def proof(self, coef: Floats, f: Floats, b: float, alphas: Floats, g: Floats) -> Certificate:
        """Bounds from a model (f = K coef) and from alphas in the box (g = K (alphas y)).

        All alphas are scaled by what raises D most. Raises ValueError where they prove that K is
        not positive semidefinite: then they bound nothing.
        """
        size, square = float(alphas.sum()), float((alphas * self.y) @ g)
        reach = max(size, float(np.abs(coef).sum()))
        error = self.gram.rounding * reach * (reach + float(self.upper.sum()))
        if min(square, float(coef @ f)) < -error:
            raise ValueError(NOT_SEMIDEFINITE.format(f"a'Ka = {square:.3g} for some a"))
        theta = 1.0
        if square > 0 and size > 0:
            used = alphas > 0
            theta = min(size / square, float(np.min(self.upper[used] / alphas[used])))
        dual = theta * size - theta**2 * square / 2
        if self.free:  # a point that misses sum a y = 0 by rounding bounds nothing by that much
            dual -= theta * abs(float(alphas @ self.y)) * (1.0 + abs(b))
        loss = float(self.upper @ LOSS.value(1.0 - self.y * (f + b), 1.0))
        bounds = float(coef @ f) / 2 + loss, max(dual, 0.0), error
        proof = Certificate(*(np.array([self.scale * bound]) for bound in bounds))
        if not proof.holds:
            raise ValueError(NOT_SEMIDEFINITE.format("its bounds contradict each other"))
        return proof

    def shown(self, coef: Floats, b: float) -> Floats:
        """(1,) the intercept as users see it; a penalised one is the constant feature's weight."""
        return np.array([float(coef.sum()) if self.intercept == "regularized" else b])
