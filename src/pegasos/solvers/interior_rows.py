"""InteriorPoint's part in the rows: their variables, and the passes that an iteration asks for.

Vectors of the lanes are columns: w is (d + 1, K), the constant feature last, b and mu are (K,).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites import Pass, Reply, RowMethod
from pegasos.sites.method import About

_W, _DW = frozenset({"w"}), frozenset({"dw"})
_STEPS = Reply("steps", "min", 2)  # the largest, of the primal and the dual variables

PASSES: Mapping[str, Pass] = MappingProxyType(
    {
        # Step along the direction in hand, and look at the rows from (w, b). ``vectors``: sum
        # a y x, the affine right-hand side sum t x, and its derivative by mu. ``sums``: sum
        # a r + v xi, the loss, sum g(a), sum a y, sum D, sum t, and its derivative.
        "point": Pass(
            ("step", "w", "b"), adds=("vectors",), replies=(Reply("sums", "sum", 7),), weights=_W
        ),
        # Add sum D z z', z = (x, constant); not of rows with D |x|^2 <= light and D <= thin.
        "gram": Pass(("constant", "light", "thin"), adds=("matrix",), matrix="matrix"),
        # Look along the affine direction, and set the targets, but for mu. ``second``: the terms
        # of second order of the right-hand side. Complementarity grows by p primal + q dual
        # + p q both, the first three of ``parts``; the last is sum t.
        "affine": Pass(
            ("dw", "db"),
            adds=("second",),
            replies=(_STEPS, Reply("parts", "sum", 4)),
            weights=_DW,
        ),
        # Add mu, or a share of it, to the targets of a direction, and fill it in.
        "direction": Pass(("other", "mu", "dw", "db"), replies=(_STEPS,), weights=_DW),
        # Set the other targets so that products beyond a tenth to ten times their aims come back.
        "correct": Pass(
            ("mu", "primal", "dual"), adds=("rhs",), replies=(Reply("parts", "sum", 1),)
        ),
        # The losses at factors of the direction in hand; the last two are sum c (change of the
        # margin) of either class.
        "trial": Pass(("factors",), adds=("losses",), reads=False),
        # Raise the slacks r and xi of all rows to it, in lanes with a slack > 0.
        "slacken": Pass(("slack",), reads=False),
    }
)


class InteriorRows(RowMethod):
    """Rows of a, v, r, xi, the margins, D, and of two directions."""

    name: ClassVar[str] = "interior"
    passes: ClassVar[Mapping[str, Pass]] = PASSES
    point: ClassVar[int] = 4  # a, v, r and xi
    lanes: ClassVar[bool] = True

    def begin(self, problem: Problem, about: About) -> Floats:
        """In the middle of the box, but nearer to sum a y = 0."""
        rows = np.zeros((_core.Interior.ARRAYS, problem.n))
        costs, labels = problem.costs()[:, 0], problem.sides()[:, 0]
        rows[0] = problem.loss.inner_duals(costs, problem.unit[0])
        rows[0] *= np.where(labels > 0, about["positive"], about["negative"])
        rows[1] = costs - rows[0]
        slack = np.clip(about["typical"] / np.maximum(costs, 1e-300), 1.0, about["most_slack"])
        rows[2] = rows[3] = slack * problem.unit[0]
        return rows

    def open(self, core: _core.Problem, variables: Floats, about: About) -> Any:
        """Products a r are aimed at a share of mu."""
        passes = _core.Interior(core, variables, float(about["share"][0]))
        if about.get("swapped"):
            passes.swap()
        return passes

    def duals(self, problem: Problem, variables: Floats, at: float, lo: int, hi: int) -> Floats:
        """a - at D y: a step of b alone, so small that it would be lost in b."""
        a = variables[0, lo:hi, None]
        if at != 0:
            a = a - at * variables[5, lo:hi, None] * problem.sides(lo, hi)
        return np.asarray(np.clip(a, 0.0, problem.largest_duals(lo, hi)))

    def matrix(self, arrays: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats | None]:
        """Arrays of their own; several lanes have theirs elsewhere."""
        return arrays["gram"], arrays["factor"]


ROWS = InteriorRows()
