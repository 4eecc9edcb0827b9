"""InteriorPoint with its rows on a device: all lanes go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Floats, GiveUp, never
from pegasos.gpu.arrays import sent
from pegasos.gpu.passes import MATRIX_BYTES, ROW_BYTES, DevicePasses, DeviceState
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.solver import DeviceSolver, OnDevice
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.interior import PER_LANE, InteriorPoint, balancing, lightened
from pegasos.solvers.normal import check_features

_SHARE = 0.6  # of the memory that is free


@dataclass(frozen=True, kw_only=True)
class DeviceInterior(DeviceSolver, InteriorPoint):
    """InteriorPoint, its rows on a device."""

    lanes_apart: ClassVar[bool] = False

    def lanes_at_once(self, problem: Problem) -> int:
        """As many as there is memory for."""
        device = cast(DeviceProblem, problem).y.device
        if device.type != "cuda":
            return problem.lanes
        free, _ = torch.cuda.mem_get_info(device)
        d = problem.rows.d + 1
        lane = ROW_BYTES * problem.n + MATRIX_BYTES * d * d
        return max(1, min(problem.lanes, int(_SHARE * free / lane)))

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """As on the host; the variables of the rows start on the device."""
        check_features("InteriorPoint", problem.rows.d)
        here = DeviceState(cast(DeviceProblem, problem), lightened(problem), seed)
        return OnDevice(self.start_vectors(problem), per_lane=PER_LANE, device=here)

    def passes(self, problem: Problem, state: State) -> Any:
        """Those over the device's rows."""
        return DevicePasses(
            cast(DeviceProblem, problem), cast(OnDevice, state).device, state["share"]
        )

    def device_duals(self, problem: DeviceProblem, state: State) -> Tensor:
        """As on the host."""
        rows = cast(OnDevice, state).device.variables.rows(0, problem.n)
        shift = torch.from_numpy(balancing(problem, state)).to(problem.y.device)[:, None]
        moved = torch.where(shift != 0, shift * rows.scale * problem.y, 0.0)
        duals = (rows.a - moved).clamp(min=0.0)
        if problem.loss == "hinge":
            duals = torch.minimum(duals, problem.device_costs())
        return torch.where(problem.y != 0, duals, 0.0)

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes."""
        device = cast(OnDevice, state).device
        device.take(sent(lanes, device.matrix.device))
        some = super().take(problem, state, lanes, give_up)
        return OnDevice(some.arrays, per_lane=some.per_lane, device=device)
