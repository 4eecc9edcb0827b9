"""What solvers on a device share: duals stay there, and certificates are made there."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor

from pegasos.certificate import Certificate, DualsOf, Floats, GiveUp, never
from pegasos.gpu.arrays import sent
from pegasos.gpu.certify import Read, certify_on_device
from pegasos.gpu.problem import DeviceProblem
from pegasos.problem import Problem
from pegasos.solvers.base import Solver, State


@dataclass(frozen=True)
class OnDevice(State):
    """The state of a run, some of it on the device."""

    device: Any = None


@dataclass(frozen=True, kw_only=True)
class DeviceSolver(Solver):
    """A solver whose rows and duals are on a device; mixed in before the solver itself."""

    @abstractmethod
    def device_duals(self, problem: DeviceProblem, state: State) -> Tensor:
        """(K, n) feasible duals, 0 for rows that are not in a lane."""

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """They stay on the device until the run is over."""
        raise NotImplementedError("duals stay on the device")

    def certify(
        self,
        problem: Problem,
        state: State,
        W: Floats,
        b: Floats,  # noqa: ARG002 - found, or in W
        give_up: GiveUp = never,  # noqa: ARG002 - it takes as long as two passes
    ) -> tuple[Certificate, Floats] | None:
        """The certificate, from sums on the device; its duals are kept, if they are wanted."""
        here = cast(DeviceProblem, problem)
        return self.certified(here, W, self.device_duals(here, state))

    def certified(
        self, problem: DeviceProblem, W: Floats, duals: Tensor, read: Read | None = None
    ) -> tuple[Certificate, Floats]:
        """The certificate of W and (K, n) duals, with what was ``read`` of the rows already."""
        if problem.kept is not None:
            problem.kept[sent(problem.ids, duals.device)] = duals
        return certify_on_device(problem, W, duals, read)
