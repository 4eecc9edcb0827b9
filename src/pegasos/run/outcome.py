"""What a run gives, and who looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.run.history import History, Record
from pegasos.solvers.base import SolverOf

StopReason = Literal[
    "converged", "precision", "max_time", "max_epochs", "max_steps", "interrupted", "callback",
    "cluster_failed",
]  # fmt: skip
"""``precision``: float64 has no more digits to give, or the solver found none for long."""


def first_end(ends: Iterable[StopReason | None]) -> StopReason:
    """What ended the first lanes that are not proven; None: another solver took over."""
    return next((end for end in ends if end is not None and end != "converged"), "converged")


Callback = Callable[[Record], Any]


class Monitor(Protocol):
    """Looks at every model that is certified."""

    def __call__(self, W: Floats, b: Floats) -> float:
        """The score of a model, W (features + 1, K) and b (K,): it goes into its record."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it remembers."""

    def restore(self, arrays: dict[str, NDArray[Any]], records: Sequence[Record]) -> None:
        """Remember that, of these records."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The model of every lane, and the run that made it."""

    W: Floats  # (features + 1, K); the last row belongs to the constant feature
    b: Floats  # (K,)
    duals: Any  # (n, K); of problems side by side (n, 1) of each
    certificate: Certificate
    history: History
    stop_reason: StopReason
    seconds: float
    epochs: float
    solver: SolverOf[Any]  # the last one that was at work, as it was asked for or chosen
    reason: str  # why it was
    certifying: float = 0.0  # of the seconds, on certificates; summed over threads
    steps: int = 0  # of the solver
