"""A progress line for people at a terminal."""

from __future__ import annotations

import sys

import numpy as np

from pegasos.run.history import Pace, Record
from pegasos.solvers.auto import epochs_to_go

_SMOOTH = 2.0  # seconds over which a speed is taken


class Watch:
    """A callback that says in one line: passes, speed, the gap, and how long it will take."""

    only_watches = True

    def __init__(self, tol: float) -> None:
        """``tol`` is the goal."""
        self.tol = tol
        self.seconds: list[float] = []  # of the records
        self.gaps: list[float] = []
        self._paces: list[Pace] = []

    def __call__(self, record: Record) -> None:
        """Take note of a record."""
        self.seconds.append(record.seconds)
        self.gaps.append(float(np.max(record.relative_gap)))
        self.show(record.epoch, record.seconds)

    def tick(self, pace: Pace) -> None:
        """Take note of how far the run is between records."""
        self._paces.append(pace)
        while len(self._paces) > 2 and pace.seconds - self._paces[1].seconds > _SMOOTH:
            del self._paces[0]
        self.show(pace.epoch, pace.seconds)

    def show(self, epoch: float, seconds: float) -> None:
        """Say it, if it is time to."""

    def line(self, epoch: float, seconds: float) -> str:
        """All of it, after so many epochs and seconds."""
        gap = self.gaps[-1] if self.gaps else np.inf
        proven = "nothing proven yet"
        if np.isfinite(gap):
            proven = f"proven within {gap:.2e} of the optimum"
        speed, left = self._speed(), self._left(seconds)
        return f"epoch {epoch:.4g}, {_time(seconds)}{speed}; {proven} (goal {self.tol:g}){left}"

    def _speed(self) -> str:
        first, last = (self._paces[0], self._paces[-1]) if self._paces else (None, None)
        if first is None or last is None or last.seconds <= first.seconds:
            return ""
        rows = (last.examples - first.examples) / (last.seconds - first.seconds)
        return f", {_count(rows)} rows/s, {rows * last.row_bytes / 1e6:.0f} MB/s"

    def _left(self, now: float) -> str:
        """How long it takes if the gap goes on falling as it does."""
        if len(self.gaps) < 2 or self.tol <= 0 or self.gaps[-1] <= self.tol:
            return ""
        left = epochs_to_go(self.seconds, self.gaps, self.tol) - (now - self.seconds[-1])
        return f", about {_time(left)} left" if 0 < left < np.inf else ""


def on_terminal() -> bool:
    """Whether somebody is looking at stderr."""
    return sys.stderr.isatty()


class PlainProgress(Watch):
    """A callback that prints a line after 1, 2, 4, 8 ... seconds, for stderr that is a file."""

    def __init__(self, tol: float) -> None:
        """``tol`` is the goal."""
        super().__init__(tol)
        self._next = 1.0

    def show(self, epoch: float, seconds: float) -> None:
        """Print it when its time has come."""
        if seconds < self._next:
            return
        while self._next <= seconds:
            self._next *= 2
        print(f"  {self.line(epoch, seconds)}", file=sys.stderr, flush=True)


class ProgressLine(Watch):
    """A callback that shows the proven gap as it falls; silent unless stderr is a terminal."""

    def __init__(self, tol: float, title: str = "pegasos") -> None:
        """Show ``title``, and ``tol`` as the goal."""
        from rich.console import Console

        super().__init__(tol)
        self.title = title
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

    def show(self, epoch: float, seconds: float) -> None:
        """Put it in place of what was there."""
        if self._status is not None:
            self._status.update(f"{self.title}: {self.line(epoch, seconds)}")


def _count(number: float) -> str:
    """1.2 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def _time(seconds: float) -> str:
    """12.3 s, 4 min 5 s, 3 h 20 min."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
