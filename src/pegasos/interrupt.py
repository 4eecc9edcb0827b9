"""Ctrl-C as a request that the driver can honour between two slices of work."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While entered, the first Ctrl-C sets ``requested``; a second one raises as usual."""

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
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give SIGINT back."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            self._previous(number, frame)
        self.requested = True
