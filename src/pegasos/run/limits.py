"""Limits of a run."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.util.arguments import number


@dataclass(frozen=True)
class Limits:
    """When to end a run that has not reached ``tol``; None is no limit."""

    max_time: float | None = None
    max_epochs: float | None = None
    max_steps: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for limits that are none."""
        for name in ("max_time", "max_epochs", "max_steps"):
            value = getattr(self, name)
            if value is not None and not 0 < number(name, value) < 2**62:
                raise ValueError(f"{name} must be positive and finite, or None, got {value}")
        if self.max_steps is not None and self.max_steps != int(self.max_steps):
            raise ValueError(f"max_steps must be a whole number, got {self.max_steps}")

    @property
    def none(self) -> bool:
        """Whether there is no limit at all."""
        return self.max_time is None and self.max_epochs is None and self.max_steps is None
