"""The solvers, under the names their papers gave them."""

from __future__ import annotations

from pegasos.problem import Problem
from pegasos.solvers.auto import Choice, choose, fixed
from pegasos.solvers.base import Solver
from pegasos.solvers.crammer_singer import CrammerSinger
from pegasos.solvers.dual import DualCoordinate
from pegasos.solvers.interior import InteriorPoint
from pegasos.solvers.newton import Newton
from pegasos.solvers.pegasos import Pegasos
from pegasos.solvers.sgd import SGDM, SGDR, SGDS
from pegasos.state import State

__all__ = [
    "SGDM",
    "SGDR",
    "SGDS",
    "Choice",
    "CrammerSinger",
    "DualCoordinate",
    "InteriorPoint",
    "Newton",
    "Pegasos",
    "Solver",
    "State",
    "by_name",
    "choice_of",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (DualCoordinate, InteriorPoint, Newton, Pegasos, SGDM, SGDR, SGDS)
}
"""What ``solver="..."`` may say."""


def by_name(solver: str | Solver) -> Solver | None:
    """The solver of that name with its default options; a solver is returned as it is.

    None stands for ``"auto"``, which needs the problem.
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        return None
    if solver not in SOLVERS:
        names = ", ".join(["auto", *sorted(SOLVERS)])
        raise ValueError(f"solver must be one of {names}, or a Solver, got {solver!r}")
    return SOLVERS[solver]()


def choice_of(solver: Solver | None, problem: Problem, tol: float) -> Choice:
    """What is to solve the problem: ``solver``, or what ``auto`` chooses."""
    if solver is None:
        return choose(problem, tol)
    refusal = problem.site.refusal(solver)
    if refusal is not None:
        raise ValueError(refusal)
    refusal = solver.refusal(problem)
    if refusal is not None:
        raise ValueError(f"{refusal}; use solver='dual'")
    return fixed(solver)
