"""A progress line for people at a terminal."""

from __future__ import annotations

import numpy as np

from pegasos.history import Record


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
            self._status.update(
                f"{self.title}: epoch {record.epoch:g}, {record.seconds:.1f} s, proven within "
                f"{np.max(record.relative_gap):.2e} of the optimum (goal {self.tol:g})"
            )
