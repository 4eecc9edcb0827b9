"""From classes to binary problems with a kernel: pairs, or each class against the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import threads
from pegasos.certificate import Certificate, Floats
from pegasos.fleet import side_by_side
from pegasos.history import History, Record, asked_to_stop
from pegasos.interrupt import Interruption
from pegasos.kernel.gram import Gram, KernelGram, MatrixGram, ShiftedGram, check_semidefinite
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.pairs import ClassBlocks, PairGram
from pegasos.kernel.points import Points
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.run import KernelOutcome, KernelSolver, Model, run
from pegasos.kernel.smo import SMO
from pegasos.limits import Limits


@dataclass(frozen=True)
class Lane:
    """A binary problem: some rows, and their signs."""

    rows: NDArray[np.intp]
    signs: Floats
    pair: tuple[int, int] | None = None


def lanes_of(
    codes: NDArray[np.intp], count: int, scheme: str, used: NDArray[np.bool_]
) -> list[Lane]:
    """Pairs i < j with +1 for j, or classes with +1 for the class; two classes are one pair."""
    if scheme == "ovo" or count == 2:
        of_class = [np.flatnonzero((codes == k) & used) for k in range(count)]
        return [
            Lane(
                np.concatenate([of_class[i], of_class[j]]),
                np.repeat([-1.0, 1.0], [of_class[i].size, of_class[j].size]),
                (i, j),
            )
            for i, j in combinations(range(count), 2)
        ]
    rows = np.flatnonzero(used)
    return [Lane(rows, np.where(codes[rows] == k, 1.0, -1.0)) for k in range(count)]


@dataclass(frozen=True)
class KernelTask:
    """What is to be trained, and how; ``kernel`` None: X is the matrix."""

    X: Any
    kernel: Kernel | None
    codes: NDArray[np.intp]  # the class of every row
    classes: int
    scheme: str  # ovo or ovr
    C: float
    cost: Floats  # c of every row
    weight: Floats  # sample weights
    intercept: str
    solver: KernelSolver
    tol: float
    limits: Limits
    seed: int
    n_jobs: int | None
    interruption: Interruption
    began: float
    callbacks: Sequence[Callable[[Record], Any]] = field(default=())

    def lanes(self, rows: NDArray[np.intp] | None = None) -> list[Lane]:
        """The binary problems, over all rows that cost something, or over some of them."""
        used = self.cost > 0
        if rows is not None:
            some = np.zeros_like(used)
            some[rows] = used[rows]
            used = some
        return lanes_of(self.codes, self.classes, self.scheme, used)

    def held_out(self, rows: NDArray[np.intp], test: NDArray[np.intp]) -> Floats | None:
        """Scores (test, lanes) by models of other rows; None if that was stopped."""
        lanes = self.lanes(rows)
        outcomes, _ = replace(self, callbacks=()).train(lanes)
        if any(outcome.stop_reason in ("interrupted", "max_time") for outcome in outcomes):
            return None
        coef = np.zeros((self.codes.size, len(lanes)))
        for k, (lane, outcome) in enumerate(zip(lanes, outcomes, strict=True)):
            coef[lane.rows, k] = outcome.model.coef
        b = np.array([outcome.model.b for outcome in outcomes])
        if self.kernel is None:
            return np.asarray(self.X[test] @ coef + b)
        points = Points(self.kernel, self.X[test], self.n_jobs)
        return np.asarray(points.scores(self.X, coef) + b)

    def train(self, lanes: Sequence[Lane]) -> tuple[list[KernelOutcome], History]:
        """Train the lanes, side by side where there are several."""
        workers = 1
        if len(lanes) > 1:
            work = float(sum(lane.rows.size for lane in lanes)) * self.X.shape[1]
            workers = min(threads.resolve(self.n_jobs, work), len(lanes))
        solver = self.solver
        inner = self.n_jobs if workers == 1 else 1
        if isinstance(solver, SMO):
            solver = replace(solver, cache_size=solver.cache_size / workers, n_jobs=inner)
        together = _Together(
            self.callbacks, [self._untrained(lane) for lane in lanes], self.interruption
        )
        blocks = self._blocks(lanes, solver)

        def body(k: int) -> None:
            lane = lanes[k]
            late = self.limits.max_time is not None and self._seconds() >= self.limits.max_time
            if k > 0 and (late or self.interruption.requested):
                untrained = Model(np.zeros(lane.rows.size), 0.0, together.proof[k])
                together.ends[k] = KernelOutcome(
                    untrained, "max_time" if late else "interrupted", 0
                )
                return
            outcome = run(
                self._problem(lane, blocks, inner),
                solver,
                tol=self.tol,
                limits=self.limits,
                seed=self.seed,
                callbacks=[lambda record: together.tell(k, record)],
                began=self.began,
                interruption=self.interruption,
            )
            if self.intercept == "regularized":  # the weight of the constant feature
                model = replace(outcome.model, b=float(outcome.model.coef.sum()))
                outcome = replace(outcome, model=model)
            together.ends[k] = outcome

        side_by_side(len(lanes), body, workers, self.interruption)
        return together.outcomes(), History(together.records)

    def _problem(self, lane: Lane, blocks: ClassBlocks | None, n_jobs: int | None) -> KernelProblem:
        gram: Gram
        if blocks is not None and lane.pair is not None:
            gram = PairGram(blocks, *lane.pair, self.X[lane.rows])
        else:
            gram = self._gram(lane.rows, n_jobs)
        if self.kernel is None or not self.kernel.certain:
            check_semidefinite(gram)
        if self.intercept == "regularized":
            gram = ShiftedGram(gram)
        return KernelProblem(
            gram,
            lane.signs,
            self.C * self.cost[lane.rows],
            s=1.0 / self.C,
            total_weight=float(self.weight[lane.rows].sum()),
            free=self.intercept == "free",
        )

    def _gram(self, rows: NDArray[np.intp], n_jobs: int | None) -> Gram:
        if self.kernel is None:
            return MatrixGram(self.X, rows)
        return KernelGram(self.kernel, self.X[rows], n_jobs)

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

    def _untrained(self, lane: Lane) -> Certificate:
        """Of w = 0, which needs no kernel."""
        return Certificate.untrained(self.cost[lane.rows].sum() / self.weight[lane.rows].sum())

    def _seconds(self) -> float:
        return time.perf_counter() - self.began


class _Together:
    """What lanes tell, one at a time, as records of all of them."""

    def __init__(
        self,
        callbacks: Sequence[Callable[[Record], Any]],
        proof: list[Certificate],
        interruption: Interruption,
    ) -> None:
        self.callbacks, self.interruption, self.lock = callbacks, interruption, threading.Lock()
        self.proof, lanes = proof, len(proof)
        self.seen = np.zeros(lanes)
        self.examples = np.zeros(lanes, dtype=np.int64)
        self.ends: list[KernelOutcome | None] = [None] * lanes
        self.records: list[Record] = []
        self.asked = False

    def tell(self, k: int, record: Record) -> bool:
        with self.lock:
            self.proof[k], self.seen[k] = record.certificate, record.epoch
            self.examples[k] = record.examples
            self.records.append(
                Record(
                    float(self.seen.max()),
                    record.seconds,
                    int(self.examples.sum()),
                    stacked(self.proof),
                )
            )
            if not self.asked and asked_to_stop(self.callbacks, self.records[-1]):
                self.asked = True
                self.interruption.requested |= len(self.proof) > 1  # the others end as well
            return self.asked

    def outcomes(self) -> list[KernelOutcome]:
        ends = [end for end in self.ends if end is not None]
        assert len(ends) == len(self.ends)
        if self.asked:
            ends = [
                replace(end, stop_reason="callback") if end.stop_reason == "interrupted" else end
                for end in ends
            ]
        return ends


def stacked(proofs: Sequence[Certificate]) -> Certificate:
    """One certificate of all lanes; floats for one lane."""
    columns = ([getattr(p, name) for p in proofs] for name in ("primal", "dual", "rounding"))
    whole = Certificate(*(np.array(column) for column in columns))
    return whole.lane(0) if len(proofs) == 1 else whole
