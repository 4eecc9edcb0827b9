"""Problems whose rows are not in this process's memory: on workers, or on a device."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pegasos.problem import Problem


@dataclass(frozen=True)
class RemoteProblem(Problem):
    """Sizes and sums of lanes over rows that are elsewhere; ``ids`` are their numbers there."""

    _: KW_ONLY
    ids: NDArray[np.intp]
    scaling: float  # of the constant feature; 0 if there is none

    @property
    def elsewhere(self) -> bool:
        """They are."""
        return True

    @property
    def bias(self) -> float:
        """Value of the constant feature; 0 unless the intercept is regularized."""
        return self.scaling

    def taken(self, lanes: NDArray[np.intp], **more: Any) -> Self:
        """The problem of some of the lanes; ``more`` are its fields of other kinds."""
        names = ("positive", "negative", "s", "total_weight", "lane_rows", "cost", "ids")
        return replace(self, **{name: getattr(self, name)[lanes] for name in names}, **more)

    def at(self, C: float) -> Self:
        """The same problem with another C."""
        return replace(self, s=np.full(self.lanes, 1.0 / C))
