"""A device of torch as a site: rows, duals and matrices are tensors, and stay there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from pegasos.certificate import GapSums
from pegasos.sites.base import Begun, Site
from pegasos.sites.costs import PassCosts
from pegasos.sites.device.arrays import host, refill, sent
from pegasos.sites.device.batches import Batches
from pegasos.sites.device.certify import gap_sums
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.fused import FusedPasses, Stays
from pegasos.sites.device.interior import InteriorPasses
from pegasos.sites.device.lanes import Duals, Lanes, fixed_of
from pegasos.sites.device.newton import NewtonPasses
from pegasos.sites.device.rows import DeviceRows
from pegasos.sites.method import About, Arrays, Floats, Kept, RowMethod
from pegasos.sites.passes import Passes
from pegasos.sites.policy import Policy
from pegasos.state import expect

if TYPE_CHECKING:
    from pegasos.problem import Problem
    from pegasos.rows import Rows

FUSED: Mapping[str, type[FusedPasses]] = MappingProxyType(
    {"interior": InteriorPasses, "newton": NewtonPasses}
)
"""The passes of a ``RowMethod``, by its name: those that read rows once for all they are for."""

WALKS = MappingProxyType({"pegasos": Batches})
"""How walks over rows combine here, by the solver's name."""

_LARGEST = torch.finfo(torch.float64).max

# On fewer rows Newton's steps are short; lanes beyond a few InteriorPoint takes all at once.
COSTS = PassCosts(newton_rows=64, newton_lanes=4, interior_epochs=60.0)


@dataclass(frozen=True, eq=False)
class DeviceSite(Site):
    """A GPU, or the CPU as torch has it; the labels of a problem's lanes are there, too."""

    lanes: Lanes
    resident: bool  # all rows are there; else they come a block at a time

    name: ClassVar[str] = "device"
    where: ClassVar[str] = "on the device"
    here: ClassVar[bool] = False
    matrices_here: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False  # not one at a time
    instead: ClassVar[str] = "solver=pegasos.Pegasos(batch_size=...), or the CPU"

    @property
    def speed(self) -> float:
        """A GPU's, against a core."""
        return 1000.0 if self.lanes.y.is_cuda else 1.0

    def dense(self, rows: Rows) -> bool:
        """Whether rows are a tensor."""
        return isinstance(rows, DeviceRows) and not isinstance(rows.source, CsrRows)

    def pass_costs(self, rows: Rows) -> PassCosts:
        """The same for all kinds of rows."""
        return COSTS

    def told(self, problem: Problem) -> str:
        """Sizes, and the device."""
        n, d, K = problem.n, problem.rows.d, problem.lanes
        return f"{n} rows of {d} features, {K} problems on {self.lanes.device}"

    def refusal(self, solver: Any) -> str | None:
        """Steps from row to row are no work for a device."""
        if solver.name in WALKS:
            if not self.resident:
                return f"{type(solver).__name__} needs rows that fit the device: use solver='auto'"
            return WALKS[solver.name].refusal(solver)
        if solver.name in FUSED:
            return None
        return (
            f"solver {solver.name!r} does not run on a device; use 'auto', 'newton', 'interior' "
            "or 'pegasos', or leave device out"
        )

    def policy(self, solver: Any) -> Policy:
        """Batches, where the solver walks."""
        found: Policy = solver
        return WALKS[solver.name](solver) if solver.name in WALKS else found

    def of_lanes(self, lanes: NDArray[np.intp]) -> DeviceSite:
        """With the labels of some of the lanes."""
        return replace(self, lanes=self.lanes.take(lanes))

    def class_costs(self) -> tuple[Floats, Floats]:
        """Counted where the labels are."""
        return self.lanes.sides

    def worth_certifying(self, method: RowMethod) -> float:
        """As its passes say."""
        return FUSED[method.name].worth_certifying

    def lanes_at_once(self, method: RowMethod, problem: Problem) -> int:
        """As many as its passes take."""
        return FUSED[method.name].lanes_at_once(problem)

    def begin(self, method: RowMethod, problem: Problem, about: About, seed: int) -> Begun:
        """Everything stays."""
        return {}, FUSED[method.name].stays(problem, about, seed)

    def saved(self, method: RowMethod, problem: Problem, state: Kept) -> Arrays:
        """All that stays."""
        found: Arrays = state.there.saved()
        return found

    def resumed(self, method: RowMethod, problem: Problem, about: About, arrays: Arrays) -> Stays:
        """A run that goes on."""
        run = FUSED[method.name].stays(problem, about, 0)
        run.resume(arrays)
        return run

    def memory(self) -> Arrays:
        """The duals of the last certificates, if they are wanted."""
        return {} if self.lanes.kept is None else {"duals": host(self.lanes.kept)}

    def remember(self, problem: Problem, arrays: Arrays) -> None:
        """They have to be feasible."""
        if self.lanes.kept is not None:
            refill({"duals": self.lanes.kept}, arrays)
            y, c, loss = fixed_of(problem)
            duals = self.lanes.kept
            right = torch.where(y != 0, loss.boxed(duals.clamp(0.0, _LARGEST), c), 0.0)
            expect(torch.equal(duals, right), "duals are not feasible")

    def passes(
        self, method: RowMethod, problem: Problem, state: Kept, about: About, *,
        swapped: bool = False,
    ) -> Passes:  # fmt: skip
        """Those of the method, fused; they know which direction is in hand."""
        return FUSED[method.name](problem, method, state, about)

    def duals(self, method: RowMethod, problem: Problem, state: Kept, at: Floats) -> Duals:
        """A tensor, and what was read on the way to it."""
        found: Duals = state.there.duals(problem, state, at)
        return found

    def gap_sums(self, problem: Problem, W: Floats, duals: Any) -> tuple[GapSums, Floats]:
        """From one read of the rows, or none; the duals are kept, if they are wanted."""
        if self.lanes.kept is not None:
            self.lanes.kept[sent(self.lanes.ids, self.lanes.device)] = duals.values
        return gap_sums(problem, W, duals.values, duals.read)

    def keep(self, there: Any, problem: Problem, lanes: NDArray[np.intp]) -> Any:
        """Tensors of those lanes."""
        there.take(sent(lanes, self.lanes.device))
        return there
