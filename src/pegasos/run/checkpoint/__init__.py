"""Checkpoints: what a training has done, on disk, to go on from after it was killed."""

from __future__ import annotations

from typing import Any


class CheckpointError(ValueError):
    """A checkpoint that is none, damaged, or that of another run: ``path`` and ``what``."""

    def __init__(self, path: Any, what: str) -> None:
        """``what`` says what is wrong, and what to do."""
        super().__init__(f"{path}: {what}")
        self.path, self.what = str(path), what

    def __reduce__(self) -> Any:
        """Pickled, it comes back whole."""
        return type(self), (self.path, self.what)
