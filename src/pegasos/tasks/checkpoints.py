"""Fits that are saved on the way, and go on from there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from pegasos.checkpoint.manifest import describe
from pegasos.checkpoint.saving import Saving
from pegasos.history import want_records
from pegasos.tasks.training import Training


def saved_training(
    stack: ExitStack,
    saving: Saving,
    training: Training,
    X: Any,
    y: Any,
    sample_weight: Any,
    parameters: dict[str, Any],
    *,
    drawn: bool = False,
    command: dict[str, Any] | None = None,
) -> Training:
    """The training with its checkpoint, which is open until ``stack`` ends.

    ``parameters`` are those that ``training`` does not have; ``drawn``: its seed was not given, so
    that a run that is resumed keeps the seed it had. ``command`` is kept with it.
    """

    def about() -> dict[str, Any]:
        own = {
            "C": training.C,
            "lam": training.lam,
            "loss": training.loss.name,
            "solver": "auto" if training.solver is None else training.solver,
            "tol": training.tol,
            "intercept": training.intercept,
            "intercept_scaling": training.intercept_scaling,
            "seed": training.seed,
        }
        found = describe(X, y, sample_weight, training.n_jobs, own | parameters)
        found["told"] = want_records(training.callbacks)
        return found if command is None else found | {"command": command}

    opened = saving.open(stack, about, frozenset({"seed"} if drawn else ()))
    if opened is None:
        return training
    seed = int(opened.about["parameters"]["seed"])
    told = bool(opened.about["told"])
    return replace(training, part=opened.part("fit"), seed=seed, told=told)
