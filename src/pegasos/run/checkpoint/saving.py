"""What a user asks for: where to save, how often, and what to go on with."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.util.arguments import number

if TYPE_CHECKING:
    from pegasos.run.checkpoint.folder import Checkpoint

EVERY = 60.0
"""Seconds between two checkpoints, unless told otherwise."""

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Saving:
    """``checkpoint``, ``checkpoint_every`` and ``resume`` of a fit."""

    checkpoint: AnyPath | None = None
    every: float | None = None
    resume: AnyPath | None = None

    @property
    def asked(self) -> bool:
        """Whether there is to be a checkpoint."""
        return self.checkpoint is not None or self.resume is not None

    def check(self) -> None:
        """Raise for values that are none, before anything is done."""
        for name in ("checkpoint", "resume"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str | os.PathLike):
                raise TypeError(f"{name} must be a path or None, got {type(value).__name__}")
            if value is not None and not os.fspath(value):
                raise ValueError(f"{name} is an empty path")
        if self.resume is None and self.checkpoint is not None:
            from pegasos.run.checkpoint.folder import check_free  # most fits need none of this

            check_free(self.checkpoint)
        if self.every is None:
            return
        if not self.asked:
            raise ValueError(
                "checkpoint_every is for a checkpoint: give the path of one (a record every so "
                "many epochs is solve's record_every)"
            )
        if not 0 <= number("checkpoint_every", self.every) < np.inf:
            raise ValueError(f"checkpoint_every must be seconds, 0 or more, got {self.every}")

    def open(
        self,
        stack: ExitStack,
        about: Callable[[], dict[str, Any]],
        drawn: frozenset[str] = frozenset(),
    ) -> Checkpoint | None:
        """The checkpoint, open until ``stack`` ends; None if none is asked for.

        ``about`` makes the manifest, in which parameters that are ``drawn`` may differ.
        """
        if not self.asked:
            return None
        from pegasos.run.checkpoint.folder import open_checkpoint

        every = EVERY if self.every is None else float(self.every)
        opened = open_checkpoint(self.checkpoint, self.resume, every, about(), drawn)
        return stack.enter_context(opened)
