"""The driver: runs any solver, and does everything that is not arithmetic once for all of them.

Time limits, Ctrl-C, records, callbacks, certificates, checkpoints and lanes that are done are
handled between slices of about 0.1 s. Slices only pause: every decision that changes arithmetic is
a function of the rows visited, never of the clock, so results do not depend on the machine's speed.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats, GaveUp, GiveUp, feature_blocks
from pegasos.run import schedule
from pegasos.run.history import Record, asked_to_stop, tick
from pegasos.run.interrupt import Interruption, Patience
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome, StopReason
from pegasos.run.run_state import RunState
from pegasos.run.snapshot import Lanes
from pegasos.sites.errors import InterruptedSiteError, SiteFailedError
from pegasos.sites.policy import P
from pegasos.solvers import Choice
from pegasos.solvers.auto import fixed
from pegasos.solvers.base import SolverOf

_NEVER = 1 << 62


def run(problem: P, solver: SolverOf[Any] | Choice, options: RunOptions) -> Outcome:
    """Advance ``solver`` until every lane is certified within ``tol``, or a limit is reached."""
    one = _Run(problem, solver if isinstance(solver, Choice) else fixed(solver), options)
    if options.interruption is not None:
        return one.run(options.interruption)
    with Interruption() as interruption:
        return one.run(interruption)


class _Run(RunState[P]):
    """What a run does."""

    def run(self, interruption: Interruption) -> Outcome:
        self.interruption = interruption
        try:
            self.train()
        except InterruptedSiteError:  # its replies are not waited for
            self.cut_off("interrupted")
        except SiteFailedError as failure:
            self.cut_off("cluster_failed")
            self.reason = f"the cluster failed: {failure}"
        return self.outcome()

    def cut_off(self, reason: StopReason) -> None:
        """End with the model that was certified last; save what is known without the site."""
        with suppress(InterruptedSiteError, SiteFailedError):
            self.leave()
        self.reasons.append(reason)
        self.seen_before = self.records[-1].examples if self.records else 0

    def train(self) -> None:
        """Train all lanes, or as many as a limit lets."""
        part = self.options.part
        saved = None if part is None else part.load()
        if saved is None:
            self.waiting = self.groups(np.arange(self.whole.lanes), 0)
            self.begin(*self.waiting.pop(0))
        elif self.restore(*saved):
            return
        while True:
            self.reasons.append(self.loop())
            self.seen_before += self.state.seen
            self.steps_before += self.state.steps
            if self.reasons[-1] in ("interrupted", "max_time", "callback"):
                break
            if self.reasons[-1] is None:
                self.waiting = self.take_over() + self.waiting
            if not self.waiting:
                break
            self.begin(*self.waiting.pop(0))
        if part is not None and not self.cut_short and self.reasons[-1] != "callback":
            part.finish(*self.saved(ended=True))

    def groups(self, lanes: NDArray[np.intp], spent: int) -> list[Lanes]:
        """Lanes that are trained together; ``spent`` rows were visited for them before."""
        most = self.policy.lanes_at_once(self.whole)
        return [(lanes[i : i + most], spent) for i in range(0, lanes.size, most)]

    def takes_over(self) -> bool:
        """Whether the fallback is now the better choice."""
        share = 1.0 if self.policy.lanes_apart else self.live.size / self.whole.lanes
        return self.choice.takes_over(*self.trend, self.options.tol, share)

    def take_over(self) -> list[Lanes]:
        """Leave the live lanes to the fallback; the groups in which it trains them."""
        self.change_solver()
        epochs = self.seen_before / self.whole.n
        self.reason += f"; {type(self.choice.solver).__name__} took over after {epochs:.3g} epochs"
        return self.groups(self.live, self.spent + self.state.seen)

    def begin(self, lanes: NDArray[np.intp], spent: int) -> None:
        """Start on these lanes: all of them, or one after the other."""
        self.ready = False
        self.live, self.spent = lanes, spent  # those not yet certified
        self.problem = self.of_lanes(lanes)
        duals = None
        if self.options.start_duals is not None and self.policy.warm_starts:
            duals = self.options.start_duals[:, lanes]
        self.warm = duals is not None and self.options.look_first
        self.state = self.policy.start(self.problem, self.options.seed, duals)
        # Callbacks are called with certificates.
        quick = 0 if self.eager else schedule.quick_rows(self.problem)
        # A fallback is judged by the gaps of every epoch.
        rarely = self.policy.stops_itself(self.problem) and self.choice.fallback is None
        apart = schedule.RARELY if rarely else 1
        self.schedule = schedule.Schedule(self.whole.n, self.options.record_every, quick, apart)
        self.trend = ([], [])
        self.ready = True

    def loop(self) -> StopReason | None:
        """Run until the lanes are done or a limit is reached; None: another solver takes over."""
        if self.warm:
            if not self.record(None):
                self.leave()
                return "interrupted"
            asked = asked_to_stop(self.options.callbacks, self.records[-1])
            if self.live.size == 0:
                return self.ended_well()
            if asked:
                return "callback"
        stop_seen, limits = _NEVER, self.options.limits
        if limits.max_epochs is not None:
            rows = round(limits.max_epochs * self.whole.n) - self.spent
            stop_seen = min(_NEVER, max(1, rows))
        stop_steps = _NEVER if limits.max_steps is None else int(limits.max_steps)
        while True:
            paused = self.advance(min(self.schedule.next_stop, stop_seen), stop_steps)
            ended: StopReason | None = paused
            if ended is None and self.state.seen >= stop_seen:
                ended = "max_epochs"
            if ended is None and self.state.steps >= stop_steps:
                ended = "max_steps"
            if ended is None and self.policy.stalled(self.problem, self.state):
                ended = "precision"
            if ended in ("max_epochs", "max_steps"):
                self.leave()
            # Another solver may have digits left where this one has none.
            leave = ended == "precision" and self.choice.fallback is not None
            if ended is None and not self.worth_certifying():
                if self.takes_over():
                    return None
                continue
            if ended is not None and self.records and self.records[-1].examples == self.seen():
                return None if leave else ended  # certified as it stands
            if not self.record(ended):
                self.leave()  # its certificate is still to come
                return "interrupted"
            asked = asked_to_stop(self.options.callbacks, self.records[-1])
            if self.live.size == 0:
                return self.ended_well()
            if ended is not None and not leave:
                return ended
            if asked:
                return "callback"
            if leave:
                return None
            if self.takes_over():
                return None

    def ended_well(self) -> StopReason:
        return "precision" if self.exhausted else "converged"

    def advance(self, stop_seen: int, stop_steps: int) -> StopReason | None:
        """Run to the next stop in slices; None when it was reached."""
        reached, part, max_time = False, self.options.part, self.options.limits.max_time
        while not reached:
            if self.interruption.requested:
                self.leave()
                return "interrupted"
            if max_time is not None and self.elapsed() >= max_time:
                self.leave()
                return "max_time"
            if part is not None and part.due and not self.cut_short:
                self.save()
            began = time.perf_counter()
            before = self.state.seen
            with self.blaming():
                reached = self.despite_losses(
                    lambda: self.policy.advance(
                        self.problem, self.state, work=self.slice_rows, stop_seen=stop_seen,
                        stop_steps=stop_steps,
                    )
                )  # fmt: skip
            spent = time.perf_counter() - began
            tick(self.options.callbacks, self.pace())
            if not reached or self.state.seen - before >= self.slice_rows // 2:
                self.slice_rows = schedule.next_slice(self.slice_rows, spent)
            if self.state.seen < stop_seen and self.state.steps < stop_steps:
                # A solver that stopped to be looked at goes on where nothing would come of it.
                wanted = self.policy.wants_certificate(self.problem, self.state)
                reached = reached and (wanted or self.schedule.may_check(self.state.seen))
        return None

    def worth_certifying(self) -> bool:
        """At a stop of the schedule: is a certificate due, or does an estimate call for one?"""
        seen = self.state.seen
        due = self.schedule.due(seen)
        wanted = self.policy.wants_certificate(self.problem, self.state)
        if wanted is not None and (self.schedule.every is None or not due):
            if due:
                self.schedule.postpone(seen)
            return wanted
        with _overflow_is_checked():
            gaps = self.policy.estimate(self.problem, self.state)
        if self.choice.fallback is not None and gaps is not None:
            self.trend[0].append(seen / self.whole.n)
            self.trend[1].append(float(np.max(gaps)))
        asked_for = self.eager or self.schedule.every is not None
        if due and not asked_for and gaps is not None and np.isinf(gaps).all():
            self.schedule.postpone(seen)  # there is no bound yet: little would be proven
            return False
        if due:
            return True
        if gaps is None:
            self.schedule.without_estimates()
            return self.schedule.due(seen)
        within = self.policy.worth_certifying(self.problem, self.state)
        near = np.count_nonzero(gaps <= within * self.options.tol)
        return bool(4 * near >= gaps.size) and self.schedule.may_check(seen)

    def blaming(self) -> AbstractContextManager[None]:
        """A block in which a state that was read is to blame for what it makes impossible."""
        part = self.options.part
        return part.understood() if part and self.resumed else nullcontext()

    def record(self, ended: StopReason | None) -> bool:
        """Certify the present model and keep it; False if an interrupt left no time for that."""
        began = time.perf_counter()
        try:
            return self.certified(ended)
        finally:
            self.certifying += time.perf_counter() - began

    def certified(self, ended: StopReason | None) -> bool:
        grace = self.options.grace
        large = np.prod(self.problem.weights_shape) > grace.weights
        seconds = 0.0 if large else grace.seconds
        patience = Patience(self.interruption, ended == "interrupted", seconds)
        try:
            with _overflow_is_checked():
                weights = self.policy.weights(self.problem, self.state, patience.over)
        except GaveUp:
            return False
        b = self.intercepts(weights)
        proof = self.proven(weights, b, patience.over)
        if proof is None:
            return False
        certificate, b = proof
        with self.blaming():
            self._check(certificate)
        lanes = self.live
        try:
            self.model.W = self.with_weights(weights, patience.over)
        except GaveUp:
            return False
        self.model.b[lanes] = b
        del weights  # where it is a copy, room for what comes
        if self.has_duals:
            duals = self.policy.duals(self.problem, self.state)
            for lo, hi in self.problem.site.certified_at_once(self.problem):
                self.model.duals[lo:hi, lanes] = duals(lo, hi)
        self.model.certificate = self.model.certificate.replaced(lanes, certificate)
        monitor = self.options.monitor
        score = None if monitor is None else monitor(self.model.W, self.model.b)
        self.records.append(
            Record(self.seen() / self.whole.n, self.seconds(), self.seen(), self.shown(), score)
        )
        self.schedule.certified(self.state.seen)
        proven = certificate.proves(self.options.tol)
        exhausted = self.policy.exhausted(certificate, self.options.tol)
        self.exhausted = self.exhausted or bool(np.any(exhausted & ~proven))
        self.freeze(proven | exhausted)
        if self.live.size:
            self.policy.refused(self.problem, self.state)
        return True

    def proven(
        self, weights: Floats, b: Floats, give_up: GiveUp
    ) -> tuple[Certificate, Floats] | None:
        return self.despite_losses(
            lambda: self.policy.certify(self.problem, self.state, weights, b, give_up)
        )

    def with_weights(self, weights: Floats, give_up: GiveUp) -> Floats:
        """The weights of all lanes, those of the live ones new; what is kept stays whole."""
        if self.live.size == self.whole.lanes == 1:
            return weights.copy()
        before = self.model.W
        new = np.empty_like(before)
        for lo, hi in feature_blocks(new, give_up):
            new[lo:hi] = before[lo:hi]
            new[lo:hi, self.live] = weights[lo:hi, : self.live.size]
        return new

    def freeze(self, done: NDArray[np.bool_]) -> None:
        """Leave lanes that are done; the rest close ranks."""
        if not done.any():
            return
        keep = np.flatnonzero(~done)
        self.live = self.live[keep]
        if not keep.size:
            return
        problem = self.problem.take(keep)
        # An interrupt ends the run right after this: the lanes need not close ranks any more.
        with suppress(GaveUp):
            self.state = self.policy.take(
                problem, self.state, keep, lambda: self.interruption.requested
            )
            self.problem = problem

    def intercepts(self, weights: Floats) -> Floats:
        return self.problem.bias * weights[-1, : self.problem.lanes]

    def _check(self, certificate: Certificate) -> None:
        """Refuse weights that overflowed, and bounds that contradict each other."""
        if np.isfinite(certificate.primal).all() and certificate.holds:
            return
        row, norm = self.whole.largest_row()
        raise ValueError(
            f"the numbers left float64 after {self.state.steps} steps: X, the weights and lam or C "
            f"do not fit together (row {row} has norm {norm:.3g}); "
            "scale the features"
        )


def _overflow_is_checked() -> np.errstate:
    """NumPy need not warn: a certificate that is not finite is refused by name."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")
