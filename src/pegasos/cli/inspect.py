"""``pegasos inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.cli.arguments import ModelFile, SayArguments, takes
from pegasos.cli.exits import ends

if TYPE_CHECKING:
    from pegasos.model import LinearModel

_SHOWN_LANES = 50


@ends
@takes(say=SayArguments)
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
    from scipy import sparse

    rows = []
    for lane, name in enumerate(lane_names(model)[:_SHOWN_LANES]):
        row = model.coef[[lane]]
        weights = row.toarray()[0] if sparse.issparse(row) else np.asarray(row)[0]
        order = np.argsort(-np.abs(weights), kind="stable")[:top]
        for j in order[weights[order] != 0]:
            feature = model.feature_names[j] if model.feature_names else str(int(j) + 1)
            rows.append({"for": name, "feature": feature, "weight": float(weights[j])})
    return rows


def lane_names(model: LinearModel) -> list[str]:
    """What each weight vector speaks for, where positive."""
    from itertools import combinations

    from pegasos.cli.say import class_name

    names = [class_name(value) for value in model.classes]
    if model.lanes == 1 and model.scheme != "labels":
        return names[1:2]
    if model.scheme == "ovo":
        return [f"{b} not {a}" for a, b in combinations(names, 2)]
    return names
