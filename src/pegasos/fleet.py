"""Many problems with rows of their own, side by side: the pairs of classes of one-vs-one.

Each is one lane, run by the driver on a thread of its own, so that threads share nothing but the
limits, the interrupt and the callbacks. Results do not depend on the order in which they end.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.driver import Callback, Outcome, StopReason, run
from pegasos.history import History, Record
from pegasos.interrupt import Interruption
from pegasos.limits import Limits
from pegasos.problem import Problem
from pegasos.solvers import Choice

_KEPT_RECORDS = 64  # of the history: each has an entry for every problem

Member = Callable[[], tuple[Problem, Choice, float]]
"""Makes a problem of one lane when its turn comes, what is to solve it, and its tol."""


def run_fleet(
    members: Sequence[Member],
    *,
    features: int,
    rows: int,
    untrained: Floats,
    threads: int,
    limits: Limits,
    seed: int,
    callbacks: Sequence[Callback] = (),
    start_duals: Sequence[Floats] | None = None,
    began: float | None = None,
) -> Outcome:
    """Train every member until it is certified, as ``driver.run`` does.

    The outcome has a lane for each; its ``duals`` are a list with those of each, and an epoch is
    ``rows`` visits. ``untrained`` is the objective of each at w = 0, which is what is known of
    those that a limit leaves out.
    """
    began = time.perf_counter() if began is None else began
    with Interruption() as interruption:
        fleet = _Fleet(members, features, rows, limits, seed, callbacks, interruption, began)
        fleet.start_duals = start_duals
        fleet.proof = Certificate(untrained, np.zeros(len(members)), 1e-15 * untrained)
        side_by_side(len(members), fleet.train, threads, interruption)
    return fleet.outcome()


def side_by_side(
    count: int, body: Callable[[int], None], workers: int, interruption: Interruption
) -> None:
    """Call body(0) .. body(count - 1), begun in this order, on so many threads."""
    if min(workers, count) <= 1:
        for k in range(count):
            body(k)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="pegasos") as pool:
        futures = [pool.submit(body, k) for k in range(count)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            # On a second Ctrl-C, or an error: the others end at their next pause.
            unfinished = any(not future.done() for future in futures)
            interruption.requested |= unfinished
            pool.shutdown(cancel_futures=unfinished)
    for future in futures:
        if not future.cancelled():
            future.result()


class _Fleet:
    def __init__(
        self,
        members: Sequence[Member],
        features: int,
        rows: int,
        limits: Limits,
        seed: int,
        callbacks: Sequence[Callback],
        interruption: Interruption,
        began: float,
    ) -> None:
        self.members, self.size, self.rows = members, len(members), rows
        self.limits, self.seed, self.callbacks = limits, seed, callbacks
        self.interruption, self.began = interruption, began
        self.start_duals: Sequence[Floats] | None = None
        self.lock = threading.Lock()
        self.W = np.zeros((features + 1, self.size))
        self.b = np.zeros(self.size)
        self.duals: list[Floats] = [np.zeros((0, 1))] * self.size
        self.ends: list[Outcome | None] = [None] * self.size
        self.proof = Certificate(*np.zeros((3, self.size)))
        self.seen = np.zeros(self.size, dtype=np.int64)
        self.records: list[Record] = []
        self.visits = 0.0
        self.asked = False

    def train(self, k: int) -> None:
        """Train member ``k`` and keep its model."""
        late = self.limits.max_time is not None and self.seconds() >= self.limits.max_time
        if k > 0 and (late or self.interruption.requested):
            return
        problem, choice, tol = self.members[k]()
        end = run(
            problem,
            choice,
            tol=tol,
            limits=self.limits,
            seed=(self.seed + k * 0x9E3779B97F4A7C15) % 2**64,
            callbacks=[lambda record: self.tell(k, record)] if self.callbacks else (),
            scalar=True,
            start_duals=None if self.start_duals is None else self.start_duals[k],
            began=self.began,
            interruption=self.interruption,
        )
        with self.lock:
            self.W[:, k], self.b[k], self.duals[k] = end.W[:, 0], end.b[0], end.duals
            self.ends[k] = replace(end, W=end.W[:0], duals=end.duals[:0])
            self.visits += end.epochs * problem.n
            if not self.callbacks:
                for record in end.history.records[-1:]:
                    self.note(k, record)

    def tell(self, k: int, record: Record) -> bool:
        """Call the callbacks, one at a time, with the state of all members."""
        with self.lock:
            if self.asked:
                return True
            self.note(k, record)
            answers = [callback(self.records[-1]) for callback in self.callbacks]
            if any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers):
                self.asked = self.interruption.requested = True
            return self.asked

    def note(self, k: int, record: Record) -> None:
        proof = record.certificate
        columns = [c.copy() for c in (self.proof.primal, self.proof.dual, self.proof.rounding)]
        for column, value in zip(columns, (proof.primal, proof.dual, proof.rounding), strict=True):
            column[k] = value
        self.proof = Certificate(*columns)
        self.seen[k] = record.examples
        seen = int(self.seen.sum())
        self.records.append(Record(seen / self.rows, record.seconds, seen, self.proof))
        if len(self.records) > 2 * _KEPT_RECORDS:
            self.records = self.records[1::2]

    def outcome(self) -> Outcome:
        ends = [end for end in self.ends if end is not None]
        reasons = [end.stop_reason for end in ends if end.stop_reason != "converged"]
        reason: StopReason = reasons[0] if reasons else "converged"
        if self.asked:
            reason = "callback"
        elif len(ends) < self.size:
            reason = "interrupted" if self.interruption.requested else "max_time"
        first = ends[0]
        names = Counter(type(end.solver).__name__ for end in ends)
        used = ", ".join(f"{name} for {count}" for name, count in names.most_common())
        return Outcome(
            self.W, self.b, self.duals, self.proof, History(self.records), reason, self.seconds(),
            self.visits / self.rows, first.solver,
            f"{used} of {self.size} problems; the first: {first.reason}",
        )  # fmt: skip

    def seconds(self) -> float:
        return time.perf_counter() - self.began
