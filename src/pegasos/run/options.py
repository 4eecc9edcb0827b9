"""What a run is called with: one frozen set of options from the outside to the driver."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pegasos.certificate import Floats
from pegasos.run.history import want_records
from pegasos.run.interrupt import Grace, Interruption
from pegasos.run.limits import Limits
from pegasos.run.outcome import Callback, Monitor

if TYPE_CHECKING:
    from pegasos.run.checkpoint.folder import Part  # most runs have none, and start sooner


@dataclass(frozen=True, kw_only=True, eq=False)
class RunOptions:
    """How to run a solver, whatever the problem and the solver are.

    ``began`` is the ``time.perf_counter`` from which seconds count; None: when the run begins. A
    run that is part of a larger one has the ``interruption`` of that one. With a ``part`` of a
    checkpoint it goes on from there, and is saved there.
    """

    tol: float
    limits: Limits
    seed: int
    callbacks: Sequence[Callback] = ()
    record_every: float | None = None  # epochs; None: as estimates and the schedule call for
    eager: bool | None = None  # records come as callbacks want them; None: if some want them
    scalar: bool = False  # certificates are shown as those of one problem
    start_duals: Floats | None = None
    look_first: bool = True  # the model of ``start_duals`` is certified before any step
    monitor: Monitor | None = None
    began: float | None = None
    interruption: Interruption | None = None
    grace: Grace = field(default=Grace())
    part: Part | None = None
    keep_duals: bool = True  # in the outcome

    @property
    def is_eager(self) -> bool:
        """Whether records come as often as callbacks want them, whether or not there are any."""
        return want_records(self.callbacks) if self.eager is None else self.eager

    def heard_by(self, *callbacks: Callback) -> RunOptions:
        """The same for others that pass records on: those come as they would have."""
        return replace(self, callbacks=callbacks, eager=self.is_eager)

    def of(self, name: str) -> RunOptions:
        """The same for one run of several: it has a part of the checkpoint by itself."""
        return self if self.part is None else replace(self, part=self.part.part(name))

    def seconds(self) -> float:
        """Since it began."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    @property
    def late(self) -> bool:
        """Whether ``max_time`` is over."""
        return self.limits.max_time is not None and self.seconds() >= self.limits.max_time
