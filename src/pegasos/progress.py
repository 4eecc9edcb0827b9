"""A progress line for people at a terminal."""

from __future__ import annotations

import sys

import numpy as np

from pegasos.history import Record


def on_terminal() -> bool:
    """Whether somebody is looking at stderr."""
    return sys.stderr.isatty()


class PlainProgress:
    """A callback that prints a line after 1, 2, 4, 8 ... seconds, for stderr that is a file."""

    def __init__(self, tol: float) -> None:
        """``tol`` is the goal."""
        self.tol, self._next = tol, 1.0

    def __call__(self, record: Record) -> None:
        """Print the record, if it is time to."""
        if record.seconds < self._next:
            return
        while self._next <= record.seconds:
            self._next *= 2
        print(f"  {_line(record, self.tol)}", file=sys.stderr, flush=True)


class ProgressLine:
    """A callback that shows the proven gap as it falls; silent unless stderr is a terminal."""

    def __init__(self, tol: float, title: str = "pegasos") -> None:
        """Show ``title``, and ``tol`` as the goal."""
        from rich.console import Console

        self.tol, self.title = tol, title
        console = Console(stderr=True)
        self._status = console.status(f"{title}: first epoch") if console.is_terminal else None

    def __enter__(self) -> ProgressLine:
        """Start the line."""
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self._status is not None:
            self._status.stop()

    def __call__(self, record: Record) -> None:
        """Show the newest record."""
        if self._status is not None:
            self._status.update(f"{self.title}: {_line(record, self.tol)}")


def _line(record: Record, tol: float) -> str:
    return (
        f"epoch {record.epoch:.4g}, {record.seconds:.1f} s, proven within "
        f"{np.max(record.relative_gap):.2e} of the optimum (goal {tol:g})"
    )
