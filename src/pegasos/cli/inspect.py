"""``pegasos inspect``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.cli.commands import Inspect
from pegasos.cli.say import Voice, class_name, in_words, worst
from pegasos.export import read_any
from pegasos.model.linear import LinearModel
from pegasos.report.about import about_model

_SHOWN_LANES = 50


def inspect(voice: Voice, given: Inspect) -> None:
    """Show a model."""
    model = read_any(given.model)
    stored = model.coef.nnz if sparse.issparse(model.coef) else (model.coef != 0).sum()
    about: dict[str, Any] = {
        "classes": ",".join(class_name(value) for value in model.classes),
        "scheme": model.scheme,
        "features": model.features,
        "weights": int(stored),
    }
    about |= {f"asked_{k}": v for k, v in model.parameters.items() if v is not None}
    about |= {k: v for k, v in model.training.items() if v is not None}
    about |= {f"data_{k}": v for k, v in model.data.items() if v is not None}
    voice.result(**about)
    if model.steps:
        voice.result(steps=",".join(step.kind for step in model.steps))
    if model.certificate is not None:
        proof = model.certificate
        voice.tell(in_words(worst(proof)))
        voice.result(relative_gap=worst(proof))
        voice.detail(certificate=asdict(proof))
    if given.top:
        voice.table("top_features", heaviest(model, given.top))


def heaviest(model: LinearModel, top: int) -> list[dict[str, Any]]:
    """The features with the largest weights in size, of each weight vector."""
    about = about_model(model)
    rows = []
    for lane, name in enumerate(about.lane_names()[:_SHOWN_LANES]):
        weights = about.weights(lane)
        for j in np.argsort(-np.abs(weights), kind="stable")[:top].tolist():
            if weights[j]:
                rows.append({"for": name, "feature": about.feature(j), "weight": float(weights[j])})
    return rows
