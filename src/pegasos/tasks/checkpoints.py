"""Fits that are saved on the way, and go on from there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from pegasos.run.checkpoint.manifest import describe
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.options import RunOptions
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

    own = {
        "C": training.C,
        "lam": training.lam,
        "loss": training.loss.name,
        "solver": "auto" if training.solver is None else training.solver,
        "intercept": training.intercept,
        "intercept_scaling": training.intercept_scaling,
    }

    def about() -> dict[str, Any]:
        return describe(X, y, sample_weight, training.n_jobs, own | parameters)

    options = saved_options(stack, saving, training.options, about, drawn=drawn, command=command)
    return replace(training, options=options)


def saved_options(
    stack: ExitStack,
    saving: Saving,
    options: RunOptions,
    about: Callable[[], dict[str, Any]],
    *,
    drawn: bool = False,
    command: dict[str, Any] | None = None,
) -> RunOptions:
    """The options of a run that has a checkpoint; ``about`` describes all that they do not say."""

    def whole() -> dict[str, Any]:
        found = about()
        found["parameters"] |= {"tol": options.tol, "seed": options.seed}
        found["told"] = options.is_eager
        return found if command is None else found | {"command": command}

    opened = saving.open(stack, whole, frozenset({"seed"} if drawn else ()))
    if opened is None:
        return options
    seed = int(opened.about["parameters"]["seed"])
    eager = bool(opened.about["told"])
    return replace(options, part=opened.part("fit"), seed=seed, eager=eager)
