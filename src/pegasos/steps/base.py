"""What a step is."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from pegasos.data.dataset import Data


class Step(Protocol):
    """Learned from training rows, applied to any; saved as numbers and arrays, never as code."""

    kind: ClassVar[str]

    def apply(self, data: Data) -> Data:
        """The rows as the model wants them."""

    def meta(self) -> dict[str, Any]:
        """What is saved as JSON."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is saved as arrays."""
