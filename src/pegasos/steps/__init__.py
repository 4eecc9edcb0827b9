"""What rows go through before a model sees them, saved with it: text to numbers, scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from pegasos.steps.base import Step


def restore(kind: str, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Step:
    """The step that was saved as these; ValueError that says what is wrong with them."""
    from pegasos.steps.scale import ScaleStep
    from pegasos.steps.text import TextStep

    kinds: dict[str, type[TextStep] | type[ScaleStep]] = {"text": TextStep, "scale": ScaleStep}
    if kind not in kinds:
        raise ValueError(f"a step must be one of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind].restore(meta, arrays)
