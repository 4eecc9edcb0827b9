"""Which solver runs on a device."""

from __future__ import annotations

from pegasos.gpu.interior import DeviceInterior
from pegasos.gpu.minibatch import on_device
from pegasos.gpu.newton import DeviceNewton
from pegasos.gpu.problem import DeviceProblem
from pegasos.solvers import Choice, InteriorPoint, Newton, Pegasos, Solver
from pegasos.solvers.normal import LARGEST_D

_NEWTON_ROWS = 64  # for every feature; on fewer, its steps are short
_NEWTON_LANES = 4  # which it trains one after the other, while InteriorPoint takes all at once
_INTERIOR_EPOCHS = 60.0  # what InteriorPoint costs, in iterations of Newton
_TRIED = 0.5  # share of that after which Newton's gaps are looked at


def device_choice(solver: Solver | None, problem: DeviceProblem) -> Choice:
    """What is to solve the problem."""
    if isinstance(solver, InteriorPoint):
        return Choice(DeviceInterior(), "as asked for")
    if isinstance(solver, Newton):
        return Choice(DeviceNewton(aim=solver.aim), "as asked for")
    if isinstance(solver, Pegasos):
        return Choice(on_device(solver, problem), "as asked for")
    if solver is not None:
        raise ValueError(
            f"solver {solver.name!r} does not run on a device; use 'auto', 'newton', 'interior' "
            "or 'pegasos', or leave device out"
        )
    d = problem.rows.d
    if d > LARGEST_D:
        raise ValueError(
            f"exact solvers on a device factor matrices of features x features: {d} are too many "
            f"(at most {LARGEST_D}); use solver=pegasos.Pegasos(batch_size=...), or the CPU"
        )
    where = f"{problem.n} rows of {d} features, {problem.lanes} problems on {problem.y.device}"
    interior = Choice(DeviceInterior(), f"InteriorPoint: {where}")
    if problem.lanes > _NEWTON_LANES or problem.n < _NEWTON_ROWS * d:
        return interior
    return Choice(DeviceNewton(), f"Newton: {where}", interior, _INTERIOR_EPOCHS, _TRIED)
