"""What a run is, and how it is saved and restored; ``pegasos.run.driver`` is what it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate
from pegasos.run import schedule, snapshot
from pegasos.run.history import History, Record
from pegasos.run.interrupt import Interruption
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome, StopReason, first_end
from pegasos.run.snapshot import Lanes, Model
from pegasos.sites.errors import PartsLostError
from pegasos.sites.policy import P, PolicyOf
from pegasos.solvers import Choice
from pegasos.state import Arrays, State, expect, named, under

_STATE, _MONITOR, _MEMORY = "state/", "monitor/", "memory/"
_COURSE = (
    "certifying", "reasons", "reason", "changes", "seen_before", "steps_before", "exhausted",
)  # fmt: skip
"""What a checkpoint has of a run under the attribute's own name."""

Asked = TypeVar("Asked")
Q = ParamSpec("Q")


class RunState(Generic[P]):
    """Lanes that are live or wait, the solver at work, records, and the model certified last."""

    problem: P  # of the live lanes
    live: NDArray[np.intp]  # not yet certified
    spent: int  # rows that were visited for them by other solvers
    state: State
    schedule: schedule.Schedule
    warm: bool  # the model they start from is to be certified first
    policy: PolicyOf[P]  # what is run for the solver where the rows are
    interruption: Interruption

    def __init__(self, problem: P, choice: Choice, options: RunOptions) -> None:
        """Nothing is trained yet."""
        self.whole, self.problem, self.options = problem, problem, options
        self.before = 0.0  # seconds of the run before it was resumed
        self.has_duals = options.keep_duals and problem.site.here
        self.eager = options.is_eager
        self.reason = choice.reason
        self.follow(choice)
        self.changes = 0  # of solver
        self.cut_short = False  # by a limit or an interrupt
        self.resumed = False
        self.ready = False  # the state is that of the live lanes
        self.records: list[Record] = []
        self.certifying = 0.0
        self.exhausted = False  # some lane was left unproven, at the last digits of float64
        self.seen_before = 0  # rows visited for lanes that were trained before the present ones
        self.steps_before = 0
        self.slice_rows = schedule.first_slice(problem)
        # At first w = 0, a = 0: a certificate that needs no pass.
        K = problem.lanes
        self.model = Model(
            np.zeros((problem.weights_shape[0], K)), np.zeros(K),
            np.zeros((problem.n if self.has_duals else 0, K)),
            choice.solver.untrained(problem),
        )  # fmt: skip
        self.reasons: list[StopReason | None] = []
        self.waiting: list[Lanes] = []
        self.trend: tuple[list[float], list[float]] = ([], [])  # epochs, gaps

    def outcome(self) -> Outcome:
        """The model that was certified last, and the run so far."""
        model = self.model
        return Outcome(
            W=model.W,
            b=model.b,
            duals=model.duals,
            certificate=self.shown(),
            history=History(self.records),
            stop_reason=first_end(self.reasons),
            seconds=self.seconds(),
            epochs=self.seen_before / self.whole.n,
            solver=self.solver,
            reason=self.reason,
            certifying=self.certifying,
            steps=self.steps_before,
        )

    def save(self) -> None:
        """Write where the run stands, if it has a checkpoint."""
        # After an interrupt the lanes that are left may not have closed ranks.
        part = self.options.part
        if part is not None and self.ready and self.live.size == self.problem.lanes:
            part.save(*self.saved(ended=False))

    def leave(self) -> None:
        """A limit or an interrupt ends the run here: save it as it is, before it is certified.

        The certificate may prove it after all. But a run that is resumed has to go on from here, as
        it would have.
        """
        if self.cut_short:
            return  # lanes that come after one that a limit cut off are trained again
        if self.options.part is not None:
            with self.options.part.last_words():
                self.save()
        self.cut_short = True

    def saved(self, *, ended: bool) -> tuple[dict[str, Any], Arrays]:
        """All that the run is, but for what it was called with."""
        about: dict[str, Any] = {name: getattr(self, name) for name in _COURSE}
        about |= {"ended": ended, "seconds": self.seconds()}
        arrays = self.model.arrays() | snapshot.record_arrays(self.records)
        arrays |= named(_MEMORY, self.whole.memory())
        if ended:
            return about, arrays
        about["waiting"] = snapshot.lanes_values(self.waiting)
        about["live"] = snapshot.lanes_values([(self.live, self.spent)])
        about["schedule"] = snapshot.schedule_values(self.schedule)
        about["trend"] = self.trend
        state = self.despite_losses(self.policy.saved)
        arrays |= named(_STATE, state)
        if self.options.monitor is not None:
            arrays |= named(_MONITOR, self.options.monitor.arrays())
        return about, arrays

    def restore(self, about: dict[str, Any], arrays: Arrays) -> bool:
        """Go on from what ``saved`` gave; whether that is an end."""
        monitor = self.options.monitor
        assert self.options.part is not None
        with self.options.part.understood():
            self.whole.remember(under(_MEMORY, arrays))
            self.model = Model.of(arrays, self.model)
            if self.has_duals:
                self.policy.check_duals(self.whole, lambda lo, hi: self.model.duals[lo:hi])
            self.records = snapshot.records_of(arrays)
            self.before, self.certifying = float(about["seconds"]), float(about["certifying"])
            expect(0 <= self.before < math.inf, "its time is none")
            self.reasons, self.seen_before = about["reasons"], about["seen_before"]
            self.steps_before = about["steps_before"]
            known = all(one is None or one in get_args(StopReason) for one in self.reasons)
            counts = snapshot.whole(self.seen_before) and snapshot.whole(self.steps_before)
            expect(known and counts, "its course is none")
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
            every = self.options.record_every
            self.schedule = snapshot.schedule_of(about["schedule"], self.whole.n, every)
            epochs, gaps = ([float(value) for value in column] for column in about["trend"])
            expect(len(epochs) == len(gaps), "its trend is none")
            self.trend = (epochs, gaps)
            self.problem = self.of_lanes(self.live)
            found = under(_STATE, arrays)
            self.state, self.warm = self.policy.resumed(self.problem, found), False
            if monitor is not None:
                monitor.restore(under(_MONITOR, arrays), self.records)
        self.resumed = self.ready = True
        return False

    def despite_losses(
        self, ask: Callable[Concatenate[P, State, Q], Asked], *args: Q.args, **options: Q.kwargs
    ) -> Asked:
        """What was asked of the site, again after each loss of parts.

        The model to be certified stays: any duals prove something about it.
        """
        while True:
            try:
                return ask(self.problem, self.state, *args, **options)
            except PartsLostError:
                self.state = self.policy.stale(self.problem, self.state)

    def of_lanes(self, lanes: NDArray[np.intp]) -> P:
        """The problem of some lanes."""
        return self.whole if lanes.size == self.whole.lanes else self.whole.take(lanes)

    def follow(self, choice: Choice) -> None:
        """Go on with this solver."""
        self.choice, self.solver = choice, choice.solver.aimed_at(self.options.tol)
        self.policy = self.whole.site.policy(self.solver)

    def change_solver(self) -> None:
        """Go on with the fallback."""
        assert self.choice.fallback is not None
        self.follow(self.choice.fallback)
        self.changes += 1

    def shown(self) -> Certificate:
        """The certificate as users see it."""
        proof = self.model.certificate
        return proof.lane(0) if self.options.scalar else proof

    def seen(self) -> int:
        """Rows visited."""
        return self.seen_before + self.state.seen

    def seconds(self) -> float:
        """Since it began, those before it was resumed included."""
        return self.before + self.options.seconds()
