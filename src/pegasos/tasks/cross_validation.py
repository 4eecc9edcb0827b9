"""Cross-validation over a path of C, wherever the rows are."""

from __future__ import annotations

from pegasos.certificate import Floats
from pegasos.sites.placed import Folds
from pegasos.tasks.apart import Apart
from pegasos.tasks.path import Path, Score
from pegasos.tasks.together import Together
from pegasos.tasks.training import AnyTask, PlacedTask, Training


def cross_validate(
    training: Training,
    task: AnyTask,
    Cs: Floats,
    folds: Folds,
    score: Score | None = None,
    *,
    patience: int | None = None,
    keep_models: bool = False,
) -> Path:
    """Train and score every fold (train, test) at every C of ``Cs``, which must increase.

    ``patience``: stop after so many C in a row with scores more than a standard error below the
    best. ``keep_models`` keeps the coefficients whatever they take. Without ``score`` nothing is
    scored here; rows that are elsewhere are scored there by their accuracy.
    """
    if isinstance(task, PlacedTask):
        return Together(training, task, Cs, folds, keep_models=keep_models).run()
    assert isinstance(folds, list)
    score = score or _nothing
    return Apart(training, task, Cs, folds, score, patience=patience, keep_models=keep_models).run()


def _nothing(fold: int, coef: Floats, intercept: Floats) -> float:  # noqa: ARG001
    return 0.0
