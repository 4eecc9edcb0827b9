"""Pegasos on a device: batches of rows, and all lanes in the same products.

The steps are those of ``pegasos.solvers.pegasos``, as are the duals: violations over draws, times
c. ``Pegasos(project=False)`` is plain SGD with steps 1 / lam t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Certificate, GiveUp, certify, never
from pegasos.sites.device.arrays import sent
from pegasos.sites.device.fused import Stays
from pegasos.sites.device.lanes import Duals, costs_of, lanes_of, rows_of
from pegasos.sites.device.products import products, sums
from pegasos.sites.method import Floats, Kept

if TYPE_CHECKING:
    from pegasos.problem import Problem

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
        self.order: Tensor | None = None  # of this epoch
        self.set_lanes(problem)

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
class BatchState:
    """The state of a run, as the driver sees it."""

    arrays: Mapping[str, NDArray[np.int64]]
    there: BatchRun

    @property
    def seen(self) -> int:
        """Rows visited so far."""
        return int(self.arrays["cursor"][0])

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.arrays["cursor"][1])


class Batches:
    """What is run for Pegasos; a batch of 1 row, no work for a device, is one of a sensible size.

    All that is not said here the solver says.
    """

    def __init__(self, solver: Any) -> None:
        """The steps of ``solver``, a ``Pegasos``."""
        self.solver = solver

    def __getattr__(self, name: str) -> Any:
        """The options, and what the driver asks of any solver."""
        return getattr(self.solver, name)

    def aimed_at(self, tol: float) -> Batches:
        """Steps for a run that ends when a gap of ``tol`` is proven."""
        return Batches(self.solver.aimed_at(tol))

    @staticmethod
    def refusal(solver: Any) -> str | None:
        """Why not these options; None: they will do."""
        if solver.init != "zero" or solver.count != "always":
            return "on a device Pegasos starts from zero, and counts all steps"
        return None

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> BatchState:
        """Start from w = 0."""
        arrays = {name: np.zeros(size, dtype=np.int64) for name, size in (("cursor", 2), ("t", 1))}
        return BatchState(arrays, BatchRun(problem, self.solver, seed))

    def advance(
        self, problem: Problem, state: BatchState, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """A step is one batch."""
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            rows = self._step(problem, state)
            state.arrays["cursor"][:] += (rows, 1)
            work -= rows
        return True

    def _step(self, problem: Problem, state: BatchState) -> int:
        """One batch; the rows in it."""
        run = state.there
        X, y, c, chosen = self._batch(problem, run, state.seen)
        state.arrays["t"][0] += 1
        t = float(state.arrays["t"][0])
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
                if first == 0 or run.order is None:
                    run.order = torch.randperm(n, **options)
                chosen = run.order[first:last]
        return cast(Any, X)[chosen], y[:, chosen], run.costs[:, chosen], chosen

    def _rows_per_step(self, n: int) -> int:
        size = self.solver.batch_size
        if size == 1:
            return max(1, min(_LARGEST, n // _SHARE))
        return n if size == "all" else int(size)

    def weights(self, problem: Problem, state: BatchState, give_up: GiveUp = never) -> Floats:
        """W, or the mean of it over the steps."""
        run = state.there
        W = np.zeros(problem.weights_shape)
        found = run.W if run.total is None else run.total / max(1, int(state.arrays["t"][0]))
        W[:, : problem.lanes] = found.T.cpu().numpy()
        return W

    def duals(self, problem: Problem, state: BatchState) -> Duals:
        """They stay on the device."""
        return state.there.duals(problem, state, problem.s)

    def certify(
        self, problem: Problem, state: BatchState, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """That of the batches' duals."""
        return certify(problem, W, b, self.duals(problem, state), give_up=give_up)

    def take(
        self, problem: Problem, state: BatchState, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> BatchState:
        """The state of some of the lanes, those of ``problem``."""
        run = state.there
        run.take(sent(lanes, run.W.device))
        run.set_lanes(problem)
        return state
