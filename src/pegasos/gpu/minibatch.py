"""Pegasos with its rows on a device: batches of rows, and all lanes in the same products.

The steps are those of ``pegasos.solvers.pegasos``, as are the duals: violations over draws, times
c. ``Pegasos(project=False)`` is plain SGD with steps 1 / lam t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Floats, GiveUp, never
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import products, sums
from pegasos.gpu.solver import DeviceSolver, OnDevice
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.pegasos import Pegasos, radius_squared

_SHARE, _LARGEST = 256, 65_536  # a batch is a 256th of the rows, and at most so many


class BatchState:
    """What a run keeps on the device."""

    def __init__(self, problem: DeviceProblem, seed: int, average: bool) -> None:
        """Start from w = 0."""
        K, d = problem.lanes, problem.rows.d
        device = problem.y.device
        self.W = torch.zeros((K, d + 1), dtype=torch.float64, device=device)
        self.total = torch.zeros_like(self.W) if average else None
        self.errors = torch.zeros(problem.y.shape, dtype=torch.int32, device=device)
        self.draws = torch.zeros(problem.n, dtype=torch.int32, device=device)
        self.random = torch.Generator(device).manual_seed(seed)
        self.order: Tensor | None = None  # of this epoch
        self.set_lanes(problem)

    def set_lanes(self, problem: DeviceProblem) -> None:
        """Numbers of the lanes, brought to the device once."""
        device = problem.y.device
        self.costs = problem.device_costs()
        self.lam = torch.from_numpy(problem.lam).to(device)
        self.radius = torch.from_numpy(np.sqrt(radius_squared(problem))).to(device)

    def take(self, problem: DeviceProblem, lanes: Tensor) -> None:
        """Keep some of the lanes, those of ``problem``."""
        self.set_lanes(problem)
        self.W, self.errors = self.W[lanes], self.errors[lanes]
        self.total = None if self.total is None else self.total[lanes]


@dataclass(frozen=True, kw_only=True)
class DevicePegasos(DeviceSolver, Pegasos):
    """Pegasos, its rows on a device; a batch of 1 row is taken for one of a sensible size."""

    by_blocks: ClassVar[bool] = False

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from w = 0."""
        here = cast(DeviceProblem, problem)
        if not here.here.resident:
            raise ValueError("Pegasos needs rows that fit the device: use solver='auto'")
        if self.init != "zero" or self.count != "always":
            raise ValueError("on a device Pegasos starts from zero, and counts all steps")
        arrays: dict[str, NDArray[Any]] = {
            "cursor": np.zeros(2, dtype=np.int64),
            "t": np.zeros(1, dtype=np.int64),
        }
        return OnDevice(arrays, device=BatchState(here, seed, self.average))

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """A step is one batch."""
        here = cast(DeviceProblem, problem)
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            rows = self._step(here, state)
            state["cursor"][:] += (rows, 1)
            work -= rows
        return True

    def _step(self, problem: DeviceProblem, state: State) -> int:
        """One batch; the rows in it."""
        run: BatchState = cast(OnDevice, state).device
        X, y, c, chosen = self._batch(problem, run, state.seen)
        state["t"][0] += 1
        t = float(state["t"][0])
        margins = products(X, run.W[:, :-1].contiguous(), exact=False)
        margins += problem.bias * run.W[:, -1:]
        wrong = (y != 0) & (y * margins < 1)
        size = torch.count_nonzero(y, dim=1).clamp(min=1)
        factors = torch.where(wrong, c * y, 0.0) / (run.lam * t * size)[:, None]
        run.W *= 1 - 1 / t
        run.W[:, :-1] += sums(X, factors, exact=False)
        run.W[:, -1] += problem.bias * factors.sum(1)
        if self.project:
            norms = torch.linalg.vector_norm(run.W, dim=1)
            run.W *= (run.radius / norms.clamp(min=1e-300)).clamp(max=1.0)[:, None]
        if run.total is not None:
            run.total += run.W
        if isinstance(chosen, slice):
            run.errors[:, chosen] += wrong
            run.draws[chosen] += 1
        else:
            run.errors.index_add_(1, chosen, wrong.int())
            run.draws.index_add_(0, chosen, torch.ones_like(chosen, dtype=torch.int32))
        return int(y.shape[1])

    def _batch(
        self, problem: DeviceProblem, run: BatchState, seen: int
    ) -> tuple[Any, Tensor, Tensor, Any]:
        """Rows, labels, costs, and which rows they are."""
        n, X = problem.n, problem.here.source
        size = self.rows_per_step(problem)
        first = seen % n  # batches end with the epoch
        last = min(n, first + size)
        costs = run.costs
        chosen: Any = slice(first, last)
        if self.batch_size != "all" and self.sampling != "cycle":
            if self.sampling == "iid":
                options = {"generator": run.random, "device": problem.y.device}
                chosen = torch.randint(0, n, (last - first,), **options)
            else:
                if first == 0 or run.order is None:
                    options = {"generator": run.random, "device": problem.y.device}
                    run.order = torch.randperm(n, **options)
                chosen = run.order[first:last]
        return cast(Any, X)[chosen], problem.y[:, chosen], costs[:, chosen], chosen

    def rows_per_step(self, problem: Problem) -> int:
        """The batch size."""
        if self.batch_size == "all":
            return problem.n
        return int(self.batch_size)

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W, or the mean of it over the steps."""
        run: BatchState = cast(OnDevice, state).device
        W = np.zeros(problem.weights_shape)
        found = run.W if run.total is None else run.total / max(1, int(state["t"][0]))
        W[:, : problem.lanes] = found.T.cpu().numpy()
        return W

    def device_duals(self, problem: DeviceProblem, state: State) -> Tensor:
        """Violations over draws, times c."""
        run: BatchState = cast(OnDevice, state).device
        share = run.errors.double() / run.draws.clamp(min=1)
        return torch.where(problem.y != 0, problem.device_costs() * share, 0.0)

    def take(
        self,
        problem: Problem,
        state: State,
        lanes: NDArray[np.intp],
        give_up: GiveUp = never,  # noqa: ARG002
    ) -> State:
        """The state of some of the lanes."""
        run: BatchState = cast(OnDevice, state).device
        run.take(cast(DeviceProblem, problem), torch.from_numpy(lanes).to(run.W.device))
        return state


def on_device(solver: Pegasos, problem: Problem) -> DevicePegasos:
    """The same on a device: batches of one row, which is no work for it, become larger."""
    size = solver.batch_size
    if size == 1:
        size = max(1, min(_LARGEST, problem.n // _SHARE))
    options = {
        name: getattr(solver, name) for name in ("project", "sampling", "init", "count", "average")
    }
    return replace(DevicePegasos(**options), batch_size=size)
