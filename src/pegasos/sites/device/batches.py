"""Pegasos on a device: batches of rows, and all lanes in the same products.

The steps are those of ``pegasos.solvers.pegasos``, as are the duals: violations over draws, times
c. ``Pegasos(project=False)`` is plain SGD with steps 1 / lam t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import GiveUp, never
from pegasos.problem import Problem
from pegasos.sites.device.fused import Stays
from pegasos.sites.device.lanes import Duals, costs_of, lanes_of, rows_of
from pegasos.sites.device.products import products, sums
from pegasos.sites.method import Floats, Kept
from pegasos.sites.policy import Policy
from pegasos.state import COUNTS, Arrays, Field, State, expect

_SHARE, _LARGEST = 256, 65_536  # a batch is a 256th of the rows, and at most so many


class BatchRun(Stays):
    """What a run keeps on the device."""

    def __init__(self, problem: Problem, solver: Any, seed: int) -> None:
        """Start from w = 0."""
        K, d = problem.lanes, problem.rows.d
        lanes = lanes_of(problem)
        self.solver = solver
        self.W = torch.zeros((K, d + 1), dtype=torch.float64, device=lanes.device)
        self.total = torch.zeros_like(self.W) if solver.average else None
        self.errors = torch.zeros(lanes.y.shape, dtype=torch.int32, device=lanes.device)
        self.draws = torch.zeros(problem.n, dtype=torch.int32, device=lanes.device)
        self.random = torch.Generator(lanes.device).manual_seed(seed)
        shuffled = solver.sampling == "permute"
        self.order = torch.arange(problem.n if shuffled else 0, device=lanes.device)  # of an epoch
        self.set_lanes(problem)

    def tensors(self) -> dict[str, Tensor]:
        """Weights, what the duals are made of, and the order."""
        tensors = {"W": self.W, "errors": self.errors, "draws": self.draws, "order": self.order}
        return tensors if self.total is None else tensors | {"total": self.total}

    def check(self) -> None:
        """Rows err when they are drawn, and are drawn in an order."""
        within = (self.errors >= 0) & (self.errors <= self.draws)
        expect(bool(within.all()), "rows erred that were not drawn")
        every = torch.arange(len(self.order), device=self.order.device)
        expect(torch.equal(self.order.sort().values, every), "its order is none of the rows")

    def set_lanes(self, problem: Problem) -> None:
        """Numbers of the lanes, brought to the device once."""
        device = lanes_of(problem).device
        self.costs = costs_of(problem)
        self.lam = torch.from_numpy(problem.lam).to(device)
        radius = np.sqrt(self.solver.radius_squared(problem))
        self.radius = torch.from_numpy(radius).to(device)

    def take(self, lanes: Tensor) -> None:
        """Keep some of the lanes; ``set_lanes`` comes next."""
        self.W, self.errors = self.W[lanes], self.errors[lanes]
        self.total = None if self.total is None else self.total[lanes]

    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """Violations over draws, times c."""
        share = self.errors.double() / self.draws.clamp(min=1)
        y = lanes_of(problem).y
        return Duals(torch.where(y != 0, self.costs * share, 0.0))


@dataclass(frozen=True)
class Batches(Policy):
    """What is run for Pegasos. A batch of one row, no work for a device, gets a sensible size."""

    solver: Any  # a ``Pegasos``, whose steps they are

    @staticmethod
    def refusal(solver: Any) -> str | None:
        """Why not these options; None: they will do."""
        if solver.init != "zero" or solver.count != "always":
            return "on a device Pegasos starts from zero, and counts all steps"
        return None

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """Counts; the rest stays on the device."""
        return COUNTS, Field("t", (1,), np.int64)

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """Start from w = 0."""
        there = BatchRun(problem, self.solver, seed)
        return State.begin(problem.sizes, self.fields(problem), there)

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """A step is one batch."""
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            rows = self._step(problem, state)
            state["cursor"][:] += (rows, 1)
            work -= rows
        return True

    def _step(self, problem: Problem, state: State) -> int:
        """One batch; the rows in it."""
        run: BatchRun = state.there
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
        if self.solver.project:
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
        self, problem: Problem, run: BatchRun, seen: int
    ) -> tuple[Any, Tensor, Tensor, slice | Tensor]:
        """Rows, labels, costs, and which rows they are."""
        n, X, y = problem.n, rows_of(problem).source, lanes_of(problem).y
        first = seen % n  # batches end with the epoch
        last = min(n, first + self._rows_per_step(n))
        chosen: slice | Tensor = slice(first, last)
        if self.solver.batch_size != "all" and self.solver.sampling != "cycle":
            options: dict[str, Any] = {"generator": run.random, "device": y.device}
            if self.solver.sampling == "iid":
                chosen = torch.randint(0, n, (last - first,), **options)
            else:
                if first == 0:
                    run.order = torch.randperm(n, **options)
                chosen = run.order[first:last]
        return cast(Any, X)[chosen], y[:, chosen], run.costs[:, chosen], chosen

    def _rows_per_step(self, n: int) -> int:
        size = self.solver.batch_size
        if size == 1:
            return max(1, min(_LARGEST, n // _SHARE))
        return n if size == "all" else int(size)

    def saved_there(self, problem: Problem, state: State) -> Arrays:
        """All that stays."""
        run: BatchRun = state.there
        return run.saved()

    def resumed_there(self, problem: Problem, arrays: Arrays) -> BatchRun:
        """A run that goes on."""
        run = BatchRun(problem, self.solver, 0)
        run.resume(arrays)
        return run

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """W, or the mean of it over the steps."""
        run: BatchRun = state.there
        W = np.zeros(problem.weights_shape)
        found = run.W if run.total is None else run.total / max(1, int(state["t"][0]))
        W[:, : problem.lanes] = found.T.cpu().numpy()
        return W

    def duals(self, problem: Problem, state: State) -> Duals:
        """They stay on the device."""
        found: Duals = state.there.duals(problem, state, problem.s)
        return found

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes, those of ``problem``."""
        taken = super().take(problem, state, lanes, give_up)
        taken.there.set_lanes(problem)
        return taken
