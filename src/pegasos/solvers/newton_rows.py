"""Newton's part in the rows: their slacks, and the passes that an iteration asks for."""

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
from pegasos.sites.method import About, Bools


def _sampled(lo: int, hi: int, every: int) -> Bools:
    """The core's sample: eight consecutive rows of every so many times eight."""
    return np.asarray((np.arange(hi - lo) >> 3) % every == 0)


def _along(
    problem: Problem,  # noqa: ARG001
    variables: Floats,  # noqa: ARG001
    lo: int,
    hi: int,
    given: Mapping[str, Any],
) -> Bools:
    return _sampled(lo, hi, given["every"])


def _changing(
    problem: Problem, variables: Floats, lo: int, hi: int, given: Mapping[str, Any]
) -> Bools:
    """Rows that are curved or whose duals change, and a few more.

    Those far on the right side of the kink have no dual, neither before nor after; those far on
    the wrong side keep theirs, unless the loss is curved: before the first step, all are 0.
    """
    before, width = given["before"], given["width"]
    least = 1e-9 * problem.unit[0]
    slack = variables[0, lo:hi]
    after = slack + given["step"] * variables[1, lo:hi]
    far = 1 + 1e-6
    right = (slack < -far * before - least) & (after < -far * width - least)
    if before == 0:
        right = after < -far * width - least
    wrong = (slack > far * before + least) & (after > far * width + least)
    needed = ~right if before == 0 or problem.loss.curved else ~(right | wrong)
    return np.asarray(needed & _sampled(lo, hi, given["every"]))


PASSES: Mapping[str, Pass] = MappingProxyType(
    {
        # Step along the direction, and look at the rows: their matrix where they are curved, and as
        # the last row the change of sum a y x. ``totals``: the loss, sum g(a), what
        # rounding the kink off leaves of the gap, sum a y.
        "point": Pass(
            ("every", "step", "before", "width", "constant"),
            adds=("sums",),
            replies=(Reply("totals", "sum", 4),),
            matrix="sums",
            only=_changing,
        ),
        # The change of the slacks along a direction.
        "along": Pass(("every", "dw", "db"), weights=frozenset({"dw"}), only=_along),
        # Slope and curvature of the loss, so far along the direction.
        "line": Pass(("every", "step", "width"), replies=(Reply("line", "sum", 2),), reads=False),
    }
)


class NewtonRows(RowMethod):
    """Rows of slacks m = o - y f, and of their changes along a direction."""

    name: ClassVar[str] = "newton"
    passes: ClassVar[Mapping[str, Pass]] = PASSES
    point: ClassVar[int] = 0  # slacks are those of w and b

    def begin(self, problem: Problem, about: About) -> Floats:
        """The slacks of w = 0."""
        rows = np.zeros((_core.Newton.ARRAYS, problem.n))
        self.restart(problem, about, rows)
        return rows

    def restart(self, problem: Problem, about: About, variables: Floats) -> None:  # noqa: ARG002
        """Those again; changes are of the next direction."""
        variables[0] = problem.offsets()[:, 0]

    def open(self, core: _core.Problem, variables: Floats, about: About) -> Any:  # noqa: ARG002
        """The core's passes."""
        return _core.Newton(core, variables)

    def duals(self, problem: Problem, variables: Floats, at: float, lo: int, hi: int) -> Floats:
        """The derivatives of the loss, rounded off within ``at`` of its kink."""
        slack, costs = variables[0, lo:hi, None], problem.costs(lo, hi)
        return problem.loss.rounded_duals(slack, costs, at)

    def matrix(self, arrays: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats | None]:
        """With the vector below it; a factor is used once."""
        return arrays["sums"], None


ROWS = NewtonRows()
