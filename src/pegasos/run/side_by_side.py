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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.problem import Problem
from pegasos.run.driver import run
from pegasos.run.history import History, Pace, Record, asked_to_stop, tick
from pegasos.run.interrupt import Interruption
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome, first_end
from pegasos.solvers import Choice, Solver

_KEPT_RECORDS = 64  # of the history: each has an entry for every problem

Plan = Callable[[Problem], tuple[Choice, float]]
"""What is to solve a problem, and to what tol."""

Member = Callable[[], tuple[Any, Choice, float]]
"""Makes a problem of one lane when its turn comes, with its plan."""


@dataclass(frozen=True, kw_only=True)
class Members:
    """Problems that are trained side by side, and what is known of them before."""

    make: Sequence[Member]
    rows: int  # visits in an epoch of all
    untrained: Floats  # P of each at w = 0: what is known of those that a limit leaves out
    threads: int
    start_duals: Sequence[Floats] | None = None


def run_any(problem: Problem, plan: Plan, solver: Solver | None, options: RunOptions) -> Outcome:
    """Train a problem of any number of lanes by ``solver`` (None: auto).

    Lanes go together where they have to: for the stochastic solvers, whose steps they share, for
    classes that are one problem, and where a monitor looks at all of them.
    """
    # Rows that are read from disk are read for all lanes at once.
    apart = (solver is None or solver.exact) and problem.site.in_memory
    apart = apart and problem.balance is None  # whose bounds may be below 0
    if problem.lanes > 1 and apart and options.monitor is None and not problem.joint:
        return run_lanes(problem, plan, options)
    choice, tol = plan(problem)
    most = problem.site.side_by_side
    if problem.lanes > 1 and most and choice.solver.lanes_apart and options.monitor is None:
        several = replace(problem, threads=min(problem.lanes, most))
        return run_lanes(several, lambda _: (choice, tol), options)
    return run(problem, choice, replace(options, tol=tol))


def run_lanes(problem: Problem, plan: Plan, options: RunOptions) -> Outcome:
    """Train the lanes of a problem, each by itself."""
    K, start = problem.lanes, options.start_duals
    inner = max(1, problem.threads // K)

    def member(k: int) -> tuple[Problem, Choice, float]:
        lane = problem.take(np.array([k]), inner)
        return lane, *plan(lane)

    members = Members(
        make=[partial(member, k) for k in range(K)],
        rows=problem.n,
        untrained=problem.at_zero,
        threads=problem.threads,
        start_duals=None if start is None else [start[:, [k]] for k in range(K)],
    )
    outcome = run_columns(members, problem.rows.d, options)
    if not options.keep_duals:
        return outcome
    duals = np.zeros((problem.n, K))
    for k, column in enumerate(outcome.duals):
        if column.size:
            duals[:, k] = column[:, 0]
    return replace(outcome, duals=duals)


def run_columns(members: Members, features: int, options: RunOptions) -> Outcome:
    """Train members that have the same features: a lane of the outcome for each.

    Its ``duals`` are a list with those of each.
    """
    size = len(members.make)
    W, b = np.zeros((size, features + 1)).T, np.zeros(size)  # the weights of a member lie together
    duals: list[Floats] = [np.zeros((0, 1))] * size

    def keep(k: int, end: Outcome) -> None:
        W[:, k], b[k] = end.W[:, 0], end.b[0]
        if options.keep_duals:
            duals[k] = end.duals

    return replace(run_members(members, options, keep), W=W, b=b, duals=duals)


def run_members(
    members: Members, options: RunOptions, keep: Callable[[int, Outcome], None]
) -> Outcome:
    """Train every member until it is certified, as ``driver.run`` does.

    ``keep`` is given the outcome of each as it ends, by its number; the outcome of all has their
    certificates, and no model. In its records an epoch is ``rows`` visits; its ``epochs`` are
    those of the member that took the most. Each has its own part of the checkpoint.
    """
    if options.began is None:
        options = replace(options, began=time.perf_counter())
    one = options.interruption
    with Interruption() if one is None else nullcontext(one) as interruption:
        options = replace(options, interruption=interruption)
        together = _Together(members, options, interruption, keep)
        side_by_side(len(members.make), together.train, members.threads, interruption)
    return together.outcome()


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


@dataclass(frozen=True)
class _Teller:
    """The callback of a member: it tells those of the run, one at a time, of all members."""

    together: _Together
    k: int

    def __call__(self, record: Record) -> bool:
        together = self.together
        with together.lock:
            together.note(self.k, record)
            if not together.asked and asked_to_stop(together.callbacks, together.records[-1]):
                together.asked = together.interruption.requested = True
            return together.asked

    def tick(self, pace: Pace) -> None:
        together = self.together
        with together.lock:
            epoch, seen = together.visited(self.k, pace.examples)
            tick(together.callbacks, Pace(epoch, pace.seconds, seen, pace.row_bytes))


@dataclass
class _Together:
    """What members of a run share, and what they have come to."""

    members: Members
    options: RunOptions
    interruption: Interruption
    keep: Callable[[int, Outcome], None]

    def __post_init__(self) -> None:
        size = len(self.members.make)
        self.callbacks, self.lock = self.options.callbacks, threading.Lock()
        self.ends: list[Outcome | None] = [None] * size
        self.proof = Certificate.untrained(self.members.untrained)
        self.seen = np.zeros(size, dtype=np.int64)
        self.records: list[Record] = []
        self.asked = False

    def train(self, k: int) -> None:
        """Train member ``k`` and keep its model."""
        if k > 0 and (self.options.late or self.interruption.requested):
            return
        problem, choice, tol = self.members.make[k]()
        start = self.members.start_duals
        tellers = (_Teller(self, k),) if self.callbacks else ()
        own, duals = self.options.heard_by(*tellers).of(f"{k}"), None if start is None else start[k]
        end = run(problem, choice, replace(own, tol=tol, scalar=True, start_duals=duals))
        self.keep(k, end)
        with self.lock:
            # No empty views: those would keep the whole arrays.
            self.ends[k] = replace(end, W=np.zeros((0, 1)), duals=np.zeros((0, 1)))
            self.proof = self.proof.replaced(k, end.certificate)
            if not self.callbacks:
                for record in end.history.records[-1:]:
                    self.note(k, record)

    def note(self, k: int, record: Record) -> None:
        """Keep a record of all members, this one's new."""
        self.proof = self.proof.replaced(k, record.certificate)
        epoch, seen = self.visited(k, record.examples)
        self.records.append(Record(epoch, record.seconds, seen, self.proof))
        if len(self.records) > 2 * _KEPT_RECORDS:
            self.records = self.records[::2]  # the newest stays

    def visited(self, k: int, examples: int) -> tuple[float, int]:
        """Epochs and rows of all members, of which this one has visited so many."""
        self.seen[k] = examples
        seen = int(self.seen.sum())
        return seen / self.members.rows, seen

    def outcome(self) -> Outcome:
        """Their certificates, and no model."""
        size = len(self.ends)
        ends = [end for end in self.ends if end is not None]
        reason = first_end(end.stop_reason for end in ends)
        if self.asked:
            reason = "callback"
        elif len(ends) < size:
            reason = "interrupted" if self.interruption.requested else "max_time"
        first = ends[0]
        names = Counter(type(end.solver).__name__ for end in ends)
        used = ", ".join(f"{name} for {count}" for name, count in names.most_common())
        return Outcome(
            W=np.zeros((0, size)),
            b=np.zeros(size),
            duals=[],
            certificate=self.proof,
            history=History(self.records),
            stop_reason=reason,
            seconds=self.options.seconds(),
            epochs=max(end.epochs for end in ends),
            solver=first.solver,
            reason=f"{used} of {size} problems; the first: {first.reason}",
            certifying=sum(end.certifying for end in ends),
            steps=sum(end.steps for end in ends),
        )
