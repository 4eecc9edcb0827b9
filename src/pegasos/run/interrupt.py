"""Ctrl-C as a request that the driver can honour between two slices of work."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar

_TWICE_SECONDS = 1.0


class Interruption:
    """While entered, the first Ctrl-C sets ``requested``; a second one raises as usual.

    A second one is one that comes during the same run, or within a second of the last: so pressing
    it twice also ends a loop of fits, such as a grid search, of which the first only ends one fit.
    """

    _last: ClassVar[float] = -float("inf")
    _innermost: ClassVar[Interruption | None] = None  # of those entered in the main thread

    def __init__(self) -> None:
        """Nothing requested."""
        self.requested = False
        self._outer: Interruption | None = None
        self._previous: Any = None  # what had SIGINT; None: it is ignored, or another thread's

    def __enter__(self) -> Interruption:
        """Take over SIGINT, if this thread is the one that gets it and nobody ignores it."""
        if threading.current_thread() is threading.main_thread():
            self._outer, Interruption._innermost = Interruption._innermost, self
            if self._outer is not None:
                self.requested = self._outer.requested
            current = signal.getsignal(signal.SIGINT)
            if callable(current):
                self._previous = current
                signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Give SIGINT back."""
        if Interruption._innermost is self:
            Interruption._innermost = self._outer
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    @classmethod
    def request(cls, frame: FrameType | None) -> None:
        """As a Ctrl-C, also where those are ignored: for other signals, such as SIGTERM."""
        if cls._innermost is not None:
            cls._innermost.handle(signal.SIGINT, frame)
            return
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    @classmethod
    def forget(cls) -> None:
        """Take the next Ctrl-C for a first one, however soon it comes after the last."""
        cls._last = -float("inf")

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take note of a Ctrl-C, here and in the runs around this one; raise on a second."""
        if self.requested or time.monotonic() - Interruption._last < _TWICE_SECONDS:
            ignored = self._outer.handle if self._outer is not None else signal.default_int_handler
            (self._previous or ignored)(number, frame)
        self.requested = True
        if self._outer is not None:
            self._outer.handle(number, frame)
        Interruption._last = time.monotonic()


@dataclass(frozen=True, kw_only=True)
class Grace:
    """What an interrupted run may still do: certify its last model, if that takes no time."""

    seconds: float = 0.3
    weights: int = 1 << 24  # entries of W; more take too long to go through


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
