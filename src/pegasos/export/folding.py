"""Scaling put into the weights, for formats that know weights only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pegasos.model.linear import LinearModel


class ExportError(ValueError):
    """A model that another format has no words for; says why, and what to do."""


def without_steps(model: LinearModel) -> LinearModel:
    """The same model with its steps in its weights.

    A step offers this by ``fold(coef, intercept)``, which returns weights that give rows before the
    step the scores that the given ones give rows after it.
    """
    coef, intercept = model.coef, model.intercept
    for step in reversed(model.steps):
        fold: Any = getattr(step, "fold", None)
        if fold is None:
            raise ExportError(
                f"the model begins with {step.kind!r}, which cannot be put into weights: transform "
                "the rows first and train on those, or keep the model in a file of its own format"
            )
        coef, intercept = fold(coef, intercept)
    return replace(model, coef=coef, intercept=intercept, steps=()) if model.steps else model
