"""Ctrl-C as a request that the driver can honour between two slices of work."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any, ClassVar

_TWICE_SECONDS = 1.0


class Interruption:
    """While entered, the first Ctrl-C sets ``requested``; a second one raises as usual.

    A second one is one that comes during the same run, or within a second of the last: so pressing
    it twice also ends a loop of fits, such as a grid search, of which the first only ends one fit.
    """

    _last: ClassVar[float] = -float("inf")

    def __init__(self) -> None:
        """Nothing requested."""
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> Interruption:
        """Take over SIGINT, if this thread is the one that gets it and nobody ignores it."""
        if threading.current_thread() is threading.main_thread():
            current = signal.getsignal(signal.SIGINT)
            if callable(current):
                self._previous = current
                signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Give SIGINT back."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take note of a Ctrl-C, here and in the runs around this one; raise on a second."""
        outer = getattr(self._previous, "__self__", None)
        if self.requested or time.monotonic() - Interruption._last < _TWICE_SECONDS:
            self._previous(number, frame)
        self.requested = True
        if isinstance(outer, Interruption):
            outer.handle(number, frame)
        Interruption._last = time.monotonic()


class Patience:
    """Whether a certificate in progress has to be given up: so many seconds after a Ctrl-C.

    It may have come before, or come while the last model of an ended run is certified.
    """

    def __init__(self, interruption: Interruption, interrupted: bool, seconds: float) -> None:
        """Start the clock if the run was interrupted already."""
        self.interruption, self.seconds = interruption, seconds
        self.deadline = time.perf_counter() + seconds if interrupted else None

    def over(self) -> bool:
        """True once the time is up."""
        if self.deadline is None:
            if not self.interruption.requested:
                return False
            self.deadline = time.perf_counter() + self.seconds
        return time.perf_counter() >= self.deadline
