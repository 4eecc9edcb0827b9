"""The exact solver for kernels: SMO over a cache of rows, until the gap is proven.

    P = 1/N [ s/2 |w|^2 + sum c max(0, 1 - y (f + b)) ],   f = K (a y) / s,   D as in problem.py

Inside, a is divided by s: LIBSVM's alphas, bounded by u = c / s. The gap comes for free with every
step's slack = y - f, in float32's precision; where it says that tol is reached, f is computed anew
in float64, from all support vectors, and that decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos import _core
from pegasos.certificate import UNIT_ROUNDOFF, Certificate, Floats, relative_gap
from pegasos.driver import StopReason
from pegasos.history import History, Record, asked_to_stop
from pegasos.interrupt import Interruption
from pegasos.kernel.gram import Cache, Gram
from pegasos.limits import Limits

_TOGETHER = 48  # rows of K computed at once
_IN_FULL = 3  # where the cache is full
_SLICE = 2000  # steps between two looks at the keyboard
_FIRST_TOLERANCE = 1e-2
_LAST_TOLERANCE = 1e-10
# Tiny problems are solved to nearly all digits whatever tol says: it costs milliseconds, and a
# weight is then a repeated row.
_TINY, _POLISHED, _MOST_POLISHING = 500, 1e-12, 20


@dataclass(frozen=True)
class KernelOutcome:
    """a y / s of every row, b, and the run that found them."""

    coef: Floats  # (n,): LIBSVM's dual_coef_, zeros included
    b: float
    certificate: Certificate
    history: History
    stop_reason: StopReason
    seconds: float
    steps: int


class Smo:
    """One binary problem over a Gram matrix."""

    def __init__(
        self,
        gram: Gram,
        y: Floats,
        upper: Floats,
        *,
        total_weight: float,
        s: float,
        free: bool,
        cache_size: float,
    ) -> None:
        """``y`` is -1 or 1, ``upper`` bounds a / s; ``free`` trains an intercept."""
        self.gram, self.y, self.upper, self.free = gram, y, upper, free
        self.scale = s / total_weight  # of LIBSVM's objective in ours
        self.cache = Cache(gram, cache_size)
        self.diagonal = gram.diagonal()
        self.a, self.slack = np.zeros(gram.n), y.copy()
        self.steps = 0
        self.mark()

    def mark(self) -> None:
        """Which a y may rise, and which may fall."""
        can_grow, can_shrink = self.a < self.upper, self.a > 0
        rises = np.where(self.y > 0, can_grow, can_shrink)
        falls = np.where(self.y > 0, can_shrink, can_grow)
        self.up = np.where(rises, 0.0, -np.inf)
        self.low = np.where(falls, 0.0, np.inf)

    def advance(self, tolerance: float, work: int) -> str:
        """Steps; "missing" where a row of K was, which is there afterwards."""
        end, row, steps, _, self.cache.clock = _core.smo_advance(
            y=self.y, upper=self.upper, diagonal=self.diagonal, a=self.a, slack=self.slack,
            up=self.up, low=self.low, rows=self.cache.rows, place=self.cache.place,
            used=self.cache.used, clock=self.cache.clock, balanced=self.free,
            tolerance=tolerance, work=work,
        )  # fmt: skip
        self.steps += steps
        if end == "missing":
            self.cache.fetch(self.wanted(row))
        return str(end)

    def wanted(self, row: int) -> Any:
        """A row of K that a step needs, and others that steps will soon need."""
        absent = self.cache.place < 0
        absent[row] = False
        highest, lowest = self.slack + self.up, self.slack + self.low
        worst = np.maximum(
            np.where(absent, highest - lowest.min(), -np.inf),
            np.where(absent, highest.max() - lowest, -np.inf),
        )
        # Once the cache is full, a row that is not needed drives one out that is.
        together = _TOGETHER if self.cache.filled + _TOGETHER <= self.cache.places else _IN_FULL
        count = min(together, worst.size - 1)
        near = np.argpartition(-worst, count)[:count]
        return np.concatenate([[row], near[worst[near] > 0]])

    def intercept(self, f: Floats) -> float:
        """The middle of what the optimum leaves open."""
        if not self.free:
            return 0.0
        slack = self.y - f
        highest, lowest = np.max(slack + self.up), np.min(slack + self.low)
        ends = [value for value in (highest, lowest) if np.isfinite(value)]
        return float(np.mean(ends)) if ends else 0.0

    def bounds(self, f: Floats) -> tuple[float, float, float]:
        """P, D and b, for f = K (a y)."""
        b = self.intercept(f)
        square = float((self.a * self.y) @ f)
        loss = float(self.upper @ np.maximum(0.0, 1.0 - self.y * (f + b)))
        return self.scale * (square / 2 + loss), self.scale * (float(self.a.sum()) - square / 2), b

    def estimate(self) -> float:
        """The relative gap, as far as float32 rows of K can tell."""
        primal, dual, _ = self.bounds(self.y - self.slack)
        return float(relative_gap(np.array(primal), np.array(dual)))

    def polish(self) -> None:
        """Go on to the last digits: slack anew in float64, then steps, while there are any."""
        for _ in range(_MOST_POLISHING):
            self.slack = self.y - self.gram.times(self.a * self.y)
            before = self.steps
            while self.advance(_POLISHED, _SLICE) != "converged":
                if self.steps - before > 100 * self.gram.n:
                    return
            if self.steps == before:
                return

    def certify(self) -> tuple[Certificate, float]:
        """The bounds, recomputed; slack begins again from what was found."""
        f = self.gram.times(self.a * self.y)
        self.slack = self.y - f
        primal, dual, b = self.bounds(f)
        if self.free:  # a point that misses sum a y = 0 by rounding bounds nothing by that much
            drift = abs(float(self.a @ self.y)) * (1.0 + abs(b))
            dual -= self.scale * drift
        size = float(self.a.sum())
        largest = float(np.abs(self.diagonal).max())
        error = 1e3 * UNIT_ROUNDOFF * largest * size * (size + float(self.upper.sum()))
        return Certificate(primal, max(dual, 0.0), self.scale * error), b


def run_smo(
    problem: Smo,
    *,
    tol: float,
    limits: Limits,
    callbacks: Sequence[Callable[[Record], Any]] = (),
    began: float | None = None,
    interruption: Interruption,
) -> KernelOutcome:
    """Steps until tol is proven, or a limit is reached."""
    began = time.perf_counter() if began is None else began
    records: list[Record] = []
    tolerance, target, every = _FIRST_TOLERANCE, tol, max(200, problem.gram.n // 20)
    check_at = every
    reason: StopReason | None = None
    proof, b = Certificate(problem.scale * float(problem.upper.sum()), 0.0, 0.0), 0.0
    while reason is None:
        end = problem.advance(tolerance, min(_SLICE, max(1, check_at - problem.steps)))
        seconds = time.perf_counter() - began
        if interruption.requested:
            reason = "interrupted"
        elif limits.max_time is not None and seconds >= limits.max_time:
            reason = "max_time"
        elif limits.max_steps is not None and problem.steps >= limits.max_steps:
            reason = "max_steps"
        near = False
        if end == "converged" or problem.steps >= check_at:
            near = problem.estimate() <= target
            check_at = problem.steps + every
        spent = end == "converged" and not near and tolerance <= _LAST_TOLERANCE
        if near or reason is not None or spent:
            proof, b = problem.certify()
            epochs = problem.steps / problem.gram.n
            records.append(Record(epochs, time.perf_counter() - began, problem.steps, proof))
            asked = asked_to_stop(callbacks, records[-1])
            if proof.relative_gap <= tol:
                if problem.gram.n <= _TINY:
                    problem.polish()
                    proof, b = problem.certify()
                reason = "converged"
            elif asked:
                reason = "callback"
            elif spent:
                reason = "precision"
            target = min(target, tol) / 2 if near else target
        elif end == "converged":
            tolerance = max(tolerance / 10, _LAST_TOLERANCE)
    return KernelOutcome(
        problem.a * problem.y, b, proof, History(records), reason,
        time.perf_counter() - began, problem.steps,
    )  # fmt: skip
