"""From classes to binary problems with a kernel: pairs, or each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.kernel.gram import Gram, MatrixGram, ShiftedGram, check_semidefinite
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.pairs import ClassBlocks, PairGram
from pegasos.kernel.points import Points
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.smo import SMO
from pegasos.kernel.solver import KernelSolver
from pegasos.problem import Intercept
from pegasos.run.driver import run
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome
from pegasos.run.side_by_side import Members, run_members
from pegasos.solvers import Choice
from pegasos.solvers.auto import fixed
from pegasos.util import threads
from pegasos.util.classes import Codes


@dataclass(frozen=True)
class Lane:
    """A binary problem: some rows, and their signs."""

    rows: NDArray[np.intp]
    signs: Floats
    pair: tuple[int, int] | None = None


@dataclass(frozen=True)
class Trained:
    """The models of lanes, and the run that found them."""

    coefs: list[Floats]  # of the rows of each lane, zeros included
    b: Floats
    steps: list[int]
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class KernelTask:
    """What is to be trained, and how; ``kernel`` None: X is the matrix."""

    X: Any
    kernel: Kernel | None
    codes: Codes  # the class of every row
    classes: int
    scheme: str  # ovo or ovr
    C: float
    cost: Floats  # c of every row
    weight: Floats  # sample weights
    intercept: Intercept
    solver: KernelSolver
    n_jobs: int | None
    options: RunOptions

    def lanes(self, rows: NDArray[np.intp] | None = None) -> list[Lane]:
        """The binary problems, over all rows that cost something, or over some of them.

        Pairs i < j with +1 for j, or classes with +1 for the class; two classes are one pair.
        """
        used = np.flatnonzero(self.cost > 0)
        if rows is not None:
            used = np.intersect1d(used, rows)
        codes = self.codes[used]
        if self.scheme != "ovo" and self.classes > 2:
            return [Lane(used, np.where(codes == k, 1.0, -1.0)) for k in range(self.classes)]
        of_class = [used[codes == k] for k in range(self.classes)]
        return [
            Lane(
                np.concatenate([of_class[i], of_class[j]]),
                np.repeat([-1.0, 1.0], [of_class[i].size, of_class[j].size]),
                (i, j),
            )
            for i, j in combinations(range(self.classes), 2)
        ]

    def held_out(self, name: str, rows: NDArray[np.intp], test: NDArray[np.intp]) -> Floats | None:
        """Scores (test, lanes) by models of other rows; None if that was stopped.

        ``name`` tells these models from others in a checkpoint.
        """
        lanes = self.lanes(rows)
        own = replace(self.options.of(name), callbacks=(), eager=False)
        found = replace(self, options=own).train(lanes)
        if found.outcome.stop_reason in ("interrupted", "max_time"):
            return None
        coef = np.zeros((self.codes.size, len(lanes)))
        for k, lane in enumerate(lanes):
            coef[lane.rows, k] = found.coefs[k]
        if self.kernel is None:
            return np.asarray(self.X[test] @ coef + found.b)
        points = Points(self.kernel, self.X[test], self.n_jobs)
        return np.asarray(points.scores(self.X, coef) + found.b)

    def train(self, lanes: Sequence[Lane]) -> Trained:
        """Train the lanes, side by side where there are several."""
        workers = 1
        if len(lanes) > 1:
            work = float(sum(lane.rows.size for lane in lanes)) * self.X.shape[1]
            workers = min(threads.resolve(self.n_jobs, work), len(lanes))
        solver = self.solver
        inner = self.n_jobs if workers == 1 else 1
        if isinstance(solver, SMO):
            solver = replace(solver, cache_size=solver.cache_size / workers, n_jobs=inner)
        blocks = self._blocks(lanes, solver)

        def make(lane: Lane) -> tuple[KernelProblem, Choice, float]:
            return self._problem(lane, blocks, inner), fixed(solver), self.options.tol

        coefs = [np.zeros(lane.rows.size) for lane in lanes]
        b, steps = np.zeros(len(lanes)), [0] * len(lanes)

        def keep(k: int, end: Outcome) -> None:
            coefs[k], b[k], steps[k] = end.W[:-1, 0].copy(), end.b[0], end.steps

        if len(lanes) == 1:
            options = replace(self.options, scalar=True)
            outcome = run(self._problem(lanes[0], blocks, inner), solver, options)
            keep(0, outcome)
            return Trained(coefs, b, steps, outcome)
        members = Members(
            make=[partial(make, lane) for lane in lanes],
            rows=self.codes.size,
            # P of w = 0, which needs no kernel.
            untrained=np.array(
                [self.cost[one.rows].sum() / self.weight[one.rows].sum() for one in lanes]
            ),
            threads=workers,
        )
        return Trained(coefs, b, steps, run_members(members, self.options, keep))

    def _problem(self, lane: Lane, blocks: ClassBlocks | None, n_jobs: int | None) -> KernelProblem:
        gram: Gram
        if blocks is not None and lane.pair is not None:
            gram = PairGram(blocks, *lane.pair, self.X[lane.rows])
        elif self.kernel is None:
            gram = MatrixGram(self.X, lane.rows)
        else:
            gram = Points(self.kernel, self.X[lane.rows], n_jobs)
        if self.kernel is None or not self.kernel.certain:
            check_semidefinite(gram)
        if self.intercept == "regularized":
            gram = ShiftedGram(gram)
        cost, total = self.C * self.cost[lane.rows], float(self.weight[lane.rows].sum())
        return KernelProblem(
            gram, lane.signs, cost, s=1.0 / self.C, total_weight=total, intercept=self.intercept
        )

    def _blocks(self, lanes: Sequence[Lane], solver: KernelSolver) -> ClassBlocks | None:
        """What pairs share, where it fits into half of the cache beside them."""
        named = self.kernel is not None and self.kernel.function is None
        if len(lanes) < 2 or lanes[0].pair is None or not named or not isinstance(solver, SMO):
            return None
        assert self.kernel is not None
        rows = [lanes[0].rows[lanes[0].signs < 0]]
        for lane in lanes:
            assert lane.pair is not None
            if lane.pair[0] == 0:
                rows.append(lane.rows[lane.signs > 0])
        if ClassBlocks.megabytes(rows) > solver.cache_size / 2:
            return None
        return ClassBlocks(self.kernel, self.X, rows)
