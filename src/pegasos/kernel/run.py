"""Runs a solver for kernels until the gap is proven, or a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pegasos.certificate import Certificate, Floats, GaveUp, GiveUp
from pegasos.history import Record, asked_to_stop
from pegasos.interrupt import Interruption, Patience
from pegasos.kernel.problem import KernelProblem
from pegasos.limits import Limits
from pegasos.outcome import StopReason

_PATIENCE = 0.3  # seconds that a certificate may take after a Ctrl-C
# A run that takes longer is certified on the way, so that an interrupt costs a part of it at most:
# after so many seconds, then whenever it has gone on for a half, or for so many certificates' time.
# Such a look never ends it: the model would depend on the clock.
_LOOK_AFTER, _LONGER, _CERTIFICATES = 2.0, 1.5, 8.0


@dataclass(frozen=True)
class Model:
    """coef of every row (zeros included), b, and the proof."""

    coef: Floats
    b: float
    certificate: Certificate


class Training(Protocol):
    """A solver at work on a problem."""

    @property
    def steps(self) -> int:
        """Taken so far."""

    @property
    def visits(self) -> int:
        """Of rows."""

    def advance(self) -> None:
        """Work for a moment."""

    def near(self, tol: float) -> bool:
        """Whether a certificate of ``tol`` is worth its time now."""

    def spent(self) -> bool:
        """Whether nothing more can be gained."""

    def certify(self, give_up: GiveUp) -> Model:
        """The model as it is, with bounds from scratch."""

    def refused(self, *, near: bool) -> None:
        """Hear that the last certificate was not good enough, and whether it should have been."""

    def finish(self, model: Model) -> Model:
        """The last touch to a model that is good enough."""


class KernelSolver(Protocol):
    """A configuration that starts trainings."""

    @property
    def default_epochs(self) -> float | None:
        """Limit where the user sets none."""

    def check_intercept(self, intercept: str) -> None:
        """Raise ValueError for one that it does not train."""

    def start(self, problem: KernelProblem, seed: int) -> Training:
        """Begin."""


@dataclass(frozen=True)
class KernelOutcome:
    """A model and the run that found it."""

    model: Model
    stop_reason: StopReason
    steps: int


def run(
    problem: KernelProblem,
    solver: KernelSolver,
    *,
    tol: float,
    limits: Limits,
    seed: int,
    callbacks: Sequence[Callable[[Record], Any]] = (),
    began: float,
    interruption: Interruption,
) -> KernelOutcome:
    """Train until tol is proven, or a limit is reached."""
    training = solver.start(problem, seed)
    most = solver.default_epochs if limits.none else limits.max_epochs
    model = Model(problem.y * 0.0, 0.0, problem.untrained())
    target, look_at = tol, _LOOK_AFTER
    reason: StopReason | None = None
    while reason is None:
        training.advance()
        seconds = time.perf_counter() - began
        if interruption.requested:
            reason = "interrupted"
        elif limits.max_time is not None and seconds >= limits.max_time:
            reason = "max_time"
        elif limits.max_steps is not None and training.steps >= limits.max_steps:
            reason = "max_steps"
        elif most is not None and training.visits >= most * problem.n:
            reason = "max_epochs"
        near, spent = training.near(target), training.spent()
        only_a_look = not (near or spent or reason is not None)
        if only_a_look and seconds < look_at:
            continue
        asked_at = time.perf_counter()
        try:
            patience = Patience(interruption, reason == "interrupted", _PATIENCE)
            model = training.certify(patience.over)
        except GaveUp:
            reason = "interrupted"
            break
        now = time.perf_counter()
        look_at = now - began + _CERTIFICATES * (now - asked_at)
        look_at = max(look_at, _LONGER * (now - began))
        proven = bool(model.certificate.proves(tol)) and not only_a_look
        if proven:
            model = training.finish(model)
        record = Record(
            training.visits / problem.n,
            time.perf_counter() - began,
            training.visits,
            model.certificate,
        )
        asked = asked_to_stop(callbacks, record)
        if proven:
            reason = "converged"
        elif asked and reason is None:
            reason = "callback"
        elif only_a_look:
            continue
        elif model.certificate.relative_gap <= tol and reason is None:
            reason = "precision"  # rounding could be as large as tol
        elif spent and reason is None:
            reason = "precision"
        elif near:
            target /= 2
        training.refused(near=near or spent)
    return KernelOutcome(model, reason, training.steps)
