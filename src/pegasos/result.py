"""What ``pegasos.solve`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate
from pegasos.run.history import History
from pegasos.run.outcome import Outcome, StopReason
from pegasos.solvers.base import SolverOf


@dataclass(frozen=True)
class Result:
    """A model, the proof of how good it is, and the run that made it.

    For one binary problem ``w`` is (d,) and ``b`` a float; for K lanes (K, d) and (K,).
    """

    w: NDArray[np.float64]
    b: Any
    certificate: Certificate
    history: History
    stop_reason: StopReason
    solver: SolverOf[Any]  # the last that was at work
    reason: str  # why it was
    seconds: float
    epochs: float
    duals: NDArray[np.float64]  # (n,) or (n, K): with w and the data, the proof

    @classmethod
    def of(cls, outcome: Outcome, *, single: bool) -> Result:
        """What a run gave; ``single``: y was one binary problem."""
        w, duals = outcome.W[:-1].T, outcome.duals
        return cls(
            w=w[0] if single else w,
            b=outcome.b[0] if single else outcome.b,
            certificate=outcome.certificate,
            history=outcome.history,
            stop_reason=outcome.stop_reason,
            solver=outcome.solver,
            reason=outcome.reason,
            seconds=outcome.seconds,
            epochs=outcome.epochs,
            duals=duals[:, 0] if single else duals,
        )

    def __str__(self) -> str:
        """One line: how it ended, and what is proven."""
        return (
            f"{self.solver.name}: {self.stop_reason} after {self.epochs:.4g} epochs, "
            f"{self.seconds:.3g} s; {self.certificate}"
        )
