"""Many problems side by side: the lanes of one, or pairs of classes with rows of their own.

Each is run by the driver as one lane on a thread of its own, so that threads share nothing but the
limits, the interrupt and the callbacks. Results do not depend on the order in which they end. For
the exact solvers this is faster than lanes in the same passes: each has a list of rows, a stop and
second-order steps of its own, and weights that stay in the cache.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.driver import run
from pegasos.history import History, Pace, Record, asked_to_stop, tick, want_records
from pegasos.interrupt import Interruption
from pegasos.limits import Limits
from pegasos.outcome import Callback, Monitor, Outcome, StopReason
from pegasos.problem import Problem
from pegasos.solvers import Choice, Solver

if TYPE_CHECKING:
    from pegasos.checkpoint.folder import Part

_KEPT_RECORDS = 64  # of the history: each has an entry for every problem

Plan = Callable[[Problem], tuple[Choice, float]]
"""What is to solve a problem, and to what tol."""

Member = Callable[[], tuple[Problem, Choice, float]]
"""Makes a problem of one lane when its turn comes, with its plan."""


def run_any(
    problem: Problem,
    plan: Plan,
    solver: Solver | None,
    *,
    keep_duals: bool = True,
    scalar: bool = False,
    monitor: Monitor | None = None,
    **options: Any,
) -> Outcome:
    """Train a problem of any number of lanes by ``solver`` (None: auto).

    Lanes go together where they have to: for the stochastic solvers, whose steps they share, for
    classes that are one problem, and where a ``monitor`` looks at all of them.
    """
    # Rows that are read from disk are read for all lanes at once.
    apart = (solver is None or solver.exact) and problem.site.in_memory
    if problem.lanes > 1 and apart and monitor is None and not problem.joint:
        return run_lanes(problem, plan, keep_duals=keep_duals, **options)
    choice, tol = plan(problem)
    return run(
        problem, choice, tol=tol, scalar=scalar, monitor=monitor, keep_duals=keep_duals, **options
    )


def run_lanes(
    problem: Problem,
    plan: Plan,
    *,
    start_duals: Floats | None = None,
    keep_duals: bool = True,
    **options: Any,
) -> Outcome:
    """Train the lanes of a problem, each by itself; ``options`` are those of ``run_fleet``.

    ``keep_duals=False`` leaves the duals out of the outcome.
    """
    K = problem.lanes
    inner = max(1, problem.threads // K)

    def member(k: int) -> Member:
        def make() -> tuple[Problem, Choice, float]:
            lane = problem.take(np.array([k]), inner)
            return lane, *plan(lane)

        return make

    outcome = run_fleet(
        [member(k) for k in range(K)],
        features=problem.rows.d,
        rows=problem.n,
        untrained=problem.at_zero,
        threads=problem.threads,
        start_duals=None if start_duals is None else [start_duals[:, [k]] for k in range(K)],
        keep_duals=keep_duals,
        **options,
    )
    if not keep_duals:
        return outcome
    duals = np.zeros((problem.n, K))
    for k, column in enumerate(outcome.duals):
        if column.size:
            duals[:, k] = column[:, 0]
    return replace(outcome, duals=duals)


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
    record_every: float | None = None,
    start_duals: Sequence[Floats] | None = None,
    look_first: bool = True,
    keep_duals: bool = True,
    began: float | None = None,
    interruption: Interruption | None = None,
    part: Part | None = None,
    told: bool | None = None,
) -> Outcome:
    """Train every member until it is certified, as ``driver.run`` does.

    The outcome has a lane for each; its ``duals`` are a list with those of each. In its records an
    epoch is ``rows`` visits; its ``epochs`` are those of the member that took the most.
    ``untrained`` is the objective of each at w = 0, which is what is known of those that a limit
    leaves out. Each has its own part of ``part``, a checkpoint's.
    """
    began = time.perf_counter() if began is None else began
    options = {
        "limits": limits, "record_every": record_every, "look_first": look_first,
        "told": want_records(callbacks) if told is None else told,
    }  # fmt: skip
    fleet = _Fleet(members, features, rows, seed, callbacks, options, began)
    fleet.start_duals, fleet.keep_duals, fleet.part = start_duals, keep_duals, part
    fleet.proof = Certificate.untrained(untrained)
    with Interruption() if interruption is None else nullcontext(interruption) as one:
        fleet.interruption = one
        side_by_side(len(members), fleet.train, threads, one)
    return fleet.outcome()


def side_by_side(
    count: int, body: Callable[[int], None], workers: int, interruption: Interruption
) -> None:
    """Call body(0) .. body(count - 1), begun in this order, on so many threads."""
    if min(workers, count) <= 1:
        for k in range(count):
            body(k)
        return
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait  # slow to import

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


def in_chains(
    chains: int,
    steps: int,
    body: Callable[[int, int], None],
    workers: int,
    interruption: Interruption,
    *,
    in_step: bool = False,
) -> None:
    """Call body(step, chain) for all, the steps of a chain one after the other, on so many threads.

    Where threads cannot share the chains evenly, those left over run ahead of the rest, so that no
    thread is without work at the end; ``in_step`` begins no step before all have begun the last.
    """
    even = chains if in_step else chains - chains % max(1, workers)
    ready = [(chain < even, 0, chain) for chain in range(chains)]
    heapq.heapify(ready)
    lock = threading.Lock()

    def work(_: int) -> None:
        while True:
            with lock:
                if not ready:  # what is left belongs to chains that others are at
                    return
                later, step, chain = heapq.heappop(ready)
            try:
                body(step, chain)
            except BaseException:
                interruption.requested = True  # before anybody begins another step
                raise
            if step + 1 < steps:
                with lock:
                    heapq.heappush(ready, (later, step + 1, chain))

    side_by_side(workers, work, workers, interruption)


class _Teller:
    """The callback of a member."""

    def __init__(self, fleet: _Fleet, k: int) -> None:
        self.fleet, self.k = fleet, k

    def __call__(self, record: Record) -> bool:
        return self.fleet.tell(self.k, record)

    def tick(self, pace: Pace) -> None:
        self.fleet.ticked(self.k, pace)


class _Fleet:
    def __init__(
        self,
        members: Sequence[Member],
        features: int,
        rows: int,
        seed: int,
        callbacks: Sequence[Callback],
        options: dict[str, Any],
        began: float,
    ) -> None:
        self.members, self.size, self.rows = members, len(members), rows
        self.seed, self.callbacks, self.options, self.began = seed, callbacks, options, began
        self.max_time = options["limits"].max_time
        self.interruption = Interruption()
        self.start_duals: Sequence[Floats] | None = None
        self.keep_duals = True
        self.part: Part | None = None
        self.lock = threading.Lock()
        self.W = np.zeros((self.size, features + 1)).T  # the weights of a member lie together
        self.b = np.zeros(self.size)
        self.duals: list[Floats] = [np.zeros((0, 1))] * self.size
        self.ends: list[Outcome | None] = [None] * self.size
        self.proof = Certificate(*np.zeros((3, self.size)))
        self.seen = np.zeros(self.size, dtype=np.int64)
        self.records: list[Record] = []
        self.asked = False

    def train(self, k: int) -> None:
        """Train member ``k`` and keep its model."""
        late = self.max_time is not None and self.seconds() >= self.max_time
        if k > 0 and (late or self.interruption.requested):
            return
        problem, choice, tol = self.members[k]()
        end = run(
            problem,
            choice,
            tol=tol,
            seed=self.seed,
            callbacks=[_Teller(self, k)] if self.callbacks else (),
            scalar=True,
            start_duals=None if self.start_duals is None else self.start_duals[k],
            began=self.began,
            interruption=self.interruption,
            part=None if self.part is None else self.part.part(f"{k}"),
            keep_duals=self.keep_duals,
            **self.options,
        )
        self.W[:, k], self.b[k] = end.W[:, 0], end.b[0]
        if self.keep_duals:
            self.duals[k] = end.duals
        with self.lock:
            # No empty views: those would keep the whole arrays.
            self.ends[k] = replace(end, W=np.zeros((0, 1)), duals=np.zeros((0, 1)))
            self.proof = self.proof.replaced(k, end.certificate)
            if not self.callbacks:
                for record in end.history.records[-1:]:
                    self.note(k, record)

    def ticked(self, k: int, pace: Pace) -> None:
        """Tell the callbacks how far all members are."""
        with self.lock:
            self.seen[k] = pace.examples
            seen = int(self.seen.sum())
            tick(self.callbacks, Pace(seen / self.rows, pace.seconds, seen, pace.row_bytes))

    def tell(self, k: int, record: Record) -> bool:
        """Call the callbacks, one at a time, with the state of all members."""
        with self.lock:
            self.note(k, record)
            if self.asked:
                return True
            if asked_to_stop(self.callbacks, self.records[-1]):
                self.asked = self.interruption.requested = True
            return self.asked

    def note(self, k: int, record: Record) -> None:
        """Keep a record of all members, this one's new."""
        self.proof = self.proof.replaced(k, record.certificate)
        self.seen[k] = record.examples
        seen = int(self.seen.sum())
        self.records.append(Record(seen / self.rows, record.seconds, seen, self.proof))
        if len(self.records) > 2 * _KEPT_RECORDS:
            self.records = self.records[::2]  # the newest stays

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
            max(end.epochs for end in ends), first.solver,
            f"{used} of {self.size} problems; the first: {first.reason}",
            sum(end.certifying for end in ends),
        )  # fmt: skip

    def seconds(self) -> float:
        return time.perf_counter() - self.began
