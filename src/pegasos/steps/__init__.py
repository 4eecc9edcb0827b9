"""What rows go through before a model sees them, saved with it: text to numbers, scaling."""

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


def restore(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Step:
    """The step that was saved as these; ValueError that says what is wrong with them."""
    from pegasos.steps.scale import ScaleStep
    from pegasos.steps.text import TextStep

    kinds: dict[str, type[TextStep] | type[ScaleStep]] = {"text": TextStep, "scale": ScaleStep}
    if kind not in kinds:
        raise ValueError(f"a step must be one of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind].restore(meta, arrays)
