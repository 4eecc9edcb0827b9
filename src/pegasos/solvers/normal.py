"""What the second-order solvers share."""

from __future__ import annotations

import numpy as np

from pegasos.certificate import Floats, relative_gap
from pegasos.problem import Problem
from pegasos.state import Field, State, expect

LARGEST_D = 10_000


def check_features(what: str, problem: Problem) -> None:
    """Raise ValueError for more features than a matrix can be factored for; ``what`` does."""
    d = problem.rows.d
    if d > LARGEST_D:
        raise ValueError(
            f"{what} of features x features: {d} are too many (at most {LARGEST_D}); use "
            f"{problem.site.instead}"
        )


def place(problem: Problem, phases: tuple[str, ...], matrix_phase: str, first: int = 0) -> Field:
    """The phase of an iteration, and the range, that comes next."""

    def check(state: State, name: str) -> None:
        phase, number = state[name].tolist()
        expect(phase < len(phases), f"{name} is that of no phase")
        ranges = problem.site.ranges(problem, matrix=phases[phase] == matrix_phase)
        expect(number < len(ranges), f"{name} is that of no block")

    return Field("place", (2,), np.int64, check, start=(first, 0))


def gap(problem: Problem, w: Floats, u: Floats, loss: Floats, dual: Floats) -> Floats:
    """The relative gaps of w and duals with sum a y x = u, which are vectors, or columns of lanes.

    ``loss`` and ``dual`` are sums over the rows.
    """
    primal = problem.s / 2 * (w * w).sum(axis=0) + loss
    return relative_gap(primal, dual - (u * u).sum(axis=0) / (2 * problem.s))
