"""What a run is, and how it is saved and restored; ``pegasos.driver`` is what it does."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from pegasos import schedule, snapshot
from pegasos.certificate import Certificate, Floats
from pegasos.history import History, Pace, Record, want_records
from pegasos.limits import Limits
from pegasos.outcome import Callback, Monitor, Outcome, StopReason
from pegasos.problem import Problem
from pegasos.snapshot import Arrays, Lanes, Model
from pegasos.solvers import Choice, Solver, restored
from pegasos.solvers.auto import fixed
from pegasos.solvers.base import State
from pegasos.solvers.restored import expect

if TYPE_CHECKING:
    from pegasos.checkpoint.folder import Part  # most runs have none, and start sooner

_MONITOR = "monitor/"


class RunState:
    """Lanes that are live or wait, the solver at work, records, and the model certified last."""

    problem: Problem  # of the live lanes
    live: NDArray[np.intp]  # not yet certified
    spent: int  # rows that were visited for them by other solvers
    state: State
    schedule: schedule.Schedule
    warm: bool  # the model they start from is to be certified first

    def __init__(
        self,
        problem: Problem,
        solver: Solver | Choice,
        tol: float,
        limits: Limits,
        seed: int,
        callbacks: Sequence[Callback],
        record_every: float | None,
        scalar: bool,
        start_duals: Floats | None,
        look_first: bool,
        monitor: Monitor | None,
        began: float | None,
        part: Part | None,
        keep_duals: bool,
        told: bool | None,
    ) -> None:
        """Nothing is trained yet; arguments as of ``driver.run``."""
        self.began = time.perf_counter() if began is None else began
        self.before = 0.0  # seconds of the run before it was resumed
        self.part, self.has_duals = part, keep_duals and problem.site.here
        self.whole, self.problem = problem, problem
        self.choice = fixed(solver) if isinstance(solver, Solver) else solver
        self.solver, self.reason = self.choice.solver.aimed_at(tol), self.choice.reason
        self.tol, self.limits, self.callbacks, self.scalar = tol, limits, callbacks, scalar
        self.seed, self.start_duals, self.record_every = seed, start_duals, record_every
        self.look_first, self.monitor = look_first, monitor
        self.told = want_records(callbacks) if told is None else told  # records come sooner
        self.changes = 0  # of solver
        self.cut_short = False  # by a limit or an interrupt
        self.resumed = False
        self.records: list[Record] = []
        self.certifying = 0.0
        self.exhausted = False  # some lane was left unproven, at the last digits of float64
        self.seen_before = 0  # rows visited for lanes that were trained before the present ones
        self.slice_rows = schedule.first_slice(problem)
        # At first w = 0, a = 0: a certificate that needs no pass.
        K = problem.lanes
        self.model = Model(
            np.zeros((problem.rows.d + 1, K)), np.zeros(K),
            np.zeros((problem.n if self.has_duals else 0, K)),
            Certificate.untrained(problem.at_zero),
        )  # fmt: skip
        self.reasons: list[StopReason | None] = []
        self.waiting: list[Lanes] = []
        self.trend: tuple[list[float], list[float]] = ([], [])  # epochs, gaps

    def stop_reason(self) -> StopReason:
        """What ended the first lanes that are not proven."""
        ends = [r for r in self.reasons if r is not None and r != "converged"]
        return ends[0] if ends else "converged"

    def outcome(self) -> Outcome:
        """The model that was certified last, and the run so far."""
        model = self.model
        return Outcome(
            model.W, model.b, model.duals, self.shown(), History(self.records), self.stop_reason(),
            self.seconds(), self.seen_before / self.whole.n, self.solver, self.reason,
            self.certifying,
        )  # fmt: skip

    def save(self) -> None:
        """Write where the run stands, if it has a checkpoint."""
        # After an interrupt the lanes that are left may not have closed ranks.
        if self.part is not None and self.live.size == self.problem.lanes:
            self.part.save(*self.saved(ended=False))

    def leave(self) -> None:
        """A limit or an interrupt ends the run here: save it as it is, before it is certified.

        The certificate may prove it after all. But a run that is resumed has to go on from here, as
        it would have.
        """
        if self.cut_short:
            return  # lanes that come after one that a limit cut off are trained again
        if self.part is not None:
            with self.part.last_words():
                self.save()
        self.cut_short = True

    def saved(self, *, ended: bool) -> tuple[dict[str, Any], Arrays]:
        """All that the run is, but for what it was called with."""
        about: dict[str, Any] = {
            "ended": ended,
            "seconds": self.seconds(),
            "certifying": self.certifying,
            "reasons": self.reasons,
            "reason": self.reason,
            "changes": self.changes,
            "seen_before": self.seen_before,
            "exhausted": self.exhausted,
        }
        arrays = self.model.arrays() | snapshot.record_arrays(self.records)
        if ended:
            return about, arrays
        about["waiting"] = snapshot.lanes_values(self.waiting)
        about["live"] = snapshot.lanes_values([(self.live, self.spent)])
        about["schedule"] = snapshot.schedule_values(self.schedule)
        about["trend"] = self.trend
        state, state_arrays = snapshot.state_arrays(self.state)
        if self.monitor is not None:
            arrays |= {_MONITOR + name: array for name, array in self.monitor.arrays().items()}
        return about | {"state": state}, arrays | state_arrays

    def restore(self, about: dict[str, Any], arrays: Arrays) -> bool:
        """Go on from what ``saved`` gave; whether that is an end."""
        assert self.part is not None
        with self.part.understood():
            self.model = Model.of(arrays, self.model)
            if self.has_duals:
                restored.check_feasible(self.whole, lambda lo, hi: self.model.duals[lo:hi])
            self.records = snapshot.records_of(arrays)
            self.before, self.certifying = float(about["seconds"]), float(about["certifying"])
            expect(0 <= self.before < math.inf, "its time is none")
            self.reasons, self.seen_before = about["reasons"], about["seen_before"]
            known = all(one is None or one in get_args(StopReason) for one in self.reasons)
            expect(known and snapshot.whole(self.seen_before), "its course is none")
            self.exhausted = bool(about["exhausted"])
            for _ in range(about["changes"]):
                expect(self.choice.fallback is not None, "no other solver took over")
                self.change_solver()
            self.reason = str(about["reason"])
            if about["ended"]:
                return True
            lanes = self.whole.lanes
            self.waiting = snapshot.lanes_of(about["waiting"], lanes)
            self.live, self.spent = snapshot.lanes_of(about["live"], lanes)[0]
            self.schedule = snapshot.schedule_of(about["schedule"], self.whole.n, self.record_every)
            epochs, gaps = ([float(value) for value in column] for column in about["trend"])
            expect(len(epochs) == len(gaps), "its trend is none")
            self.trend = (epochs, gaps)
            self.problem = self.of_lanes(self.live)
            self.state, self.warm = snapshot.state_of(about["state"], arrays), False
            restored.check(self.solver, self.problem, self.state)
            if self.monitor is not None:
                self.monitor.restore(snapshot.under(_MONITOR, arrays), self.records)
        self.resumed = True
        return False

    def of_lanes(self, lanes: NDArray[np.intp]) -> Problem:
        """The problem of some lanes."""
        return self.whole if lanes.size == self.whole.lanes else self.whole.take(lanes)

    def change_solver(self) -> None:
        """Go on with the fallback."""
        assert self.choice.fallback is not None
        self.choice = self.choice.fallback
        self.solver = self.choice.solver.aimed_at(self.tol)
        self.changes += 1

    def shown(self) -> Certificate:
        """The certificate as users see it."""
        proof = self.model.certificate
        return proof.lane(0) if self.scalar else proof

    def seen(self) -> int:
        """Rows visited."""
        return self.seen_before + self.state.seen

    def pace(self) -> Pace:
        """How far the run is."""
        row_bytes = self.whole.rows.row_bytes
        return Pace(self.seen() / self.whole.n, self.seconds(), self.seen(), row_bytes)

    def seconds(self) -> float:
        """Since it began, those before it was resumed included."""
        return self.before + self.elapsed()

    def elapsed(self) -> float:
        """Seconds in this process."""
        return time.perf_counter() - self.began
