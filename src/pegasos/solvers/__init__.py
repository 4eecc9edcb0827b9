"""The solvers, under the names their papers gave them."""

from __future__ import annotations

from pegasos.solvers.base import Solver, State
from pegasos.solvers.dual import DualCoordinate
from pegasos.solvers.interior import InteriorPoint
from pegasos.solvers.pegasos import Pegasos
from pegasos.solvers.sgd import SGDM, SGDR, SGDS

__all__ = [
    "SGDM",
    "SGDR",
    "SGDS",
    "DualCoordinate",
    "InteriorPoint",
    "Pegasos",
    "Solver",
    "State",
    "by_name",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (DualCoordinate, InteriorPoint, Pegasos, SGDM, SGDR, SGDS)
}
"""What ``solver="..."`` may say."""


def by_name(solver: str | Solver) -> Solver:
    """The solver of that name with its default options; a solver is returned as it is."""
    if isinstance(solver, Solver):
        return solver
    if solver not in SOLVERS:
        names = ", ".join(sorted(SOLVERS))
        raise ValueError(f"solver must be one of {names}, or a Solver, got {solver!r}")
    return SOLVERS[solver]()
