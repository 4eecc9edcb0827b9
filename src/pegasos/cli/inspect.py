"""``pegasos inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.cli.arguments import ModelFile, SayArguments, takes
from pegasos.cli.exits import ends

if TYPE_CHECKING:
    from pegasos.model.linear import LinearModel

_SHOWN_LANES = 50


@ends
@takes
def inspect(
    model: ModelFile,
    top: Annotated[int, typer.Option("--top", help="Features shown per class.", min=0)] = 10,
    *,
    say: SayArguments,
) -> None:
    """Show a model: parameters, certificate, the heaviest features of each class.

    Examples:

      pegasos inspect a9a.model --top 5
    """
    from scipy import sparse

    from pegasos.cli.say import Voice, class_name, in_words, worst
    from pegasos.export import read_any

    voice = Voice(say)
    found = read_any(model)
    stored = found.coef.nnz if sparse.issparse(found.coef) else (found.coef != 0).sum()
    about: dict[str, Any] = {
        "classes": ",".join(class_name(value) for value in found.classes),
        "scheme": found.scheme,
        "features": found.features,
        "weights": int(stored),
    }
    about |= {f"asked_{k}": v for k, v in found.parameters.items() if v is not None}
    about |= {k: v for k, v in found.training.items() if v is not None}
    about |= {f"data_{k}": v for k, v in found.data.items() if v is not None}
    voice.result(**about)
    if found.steps:
        voice.result(steps=",".join(step.kind for step in found.steps))
    if found.certificate is not None:
        proof = found.certificate
        voice.tell(in_words(worst(proof)))
        voice.result(relative_gap=worst(proof))
        voice.detail(
            certificate={"primal": proof.primal, "dual": proof.dual, "rounding": proof.rounding}
        )
    if top:
        voice.table("top_features", heaviest(found, top))
    voice.finish()


def heaviest(model: LinearModel, top: int) -> list[dict[str, Any]]:
    """The features with the largest weights in size, of each weight vector."""
    import numpy as np

    from pegasos.report.about import about_model

    about = about_model(model)
    rows = []
    for lane, name in enumerate(about.lane_names()[:_SHOWN_LANES]):
        weights = about.weights(lane)
        for j in np.argsort(-np.abs(weights), kind="stable")[:top].tolist():
            if weights[j]:
                rows.append({"for": name, "feature": about.feature(j), "weight": float(weights[j])})
    return rows
