"""Cross-validation over a path of C, wherever the rows are."""

from __future__ import annotations

from pegasos.tasks.apart import Apart
from pegasos.tasks.path import Path, Walk
from pegasos.tasks.together import Together
from pegasos.tasks.training import PlacedTask


def cross_validate(walk: Walk) -> Path:
    """What is met along C, as far as limits let it go."""
    if isinstance(walk.task, PlacedTask):
        return Together(walk, walk.task).run()
    return Apart(walk, walk.task).run()
