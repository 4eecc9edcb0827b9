"""The sections on features: the heaviest of each class, and what misled the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.report.about import About
from pegasos.report.charts import meter
from pegasos.report.scored import Candidate, Scored
from pegasos.report.text import number, short
from pegasos.util import sparse

_TOP = 10  # features a class, for it and against it
_LANES = 60
_TEXT = 400  # characters
_SPOKE = 6  # features a row


def features(about: About) -> dict[str, Any]:
    """The heaviest features of each weight vector."""
    if about.coef is None:
        return {"why": "With a kernel there is no weight for each feature: the model is a sum over "
                       "support vectors."}  # fmt: skip
    lanes = about.lane_names()
    top = _TOP if len(lanes) <= 20 else 5
    return {
        "why": "",
        "named": about.names is not None,
        "first": about.first,
        "scaled": any(kind.startswith("scale") for kind in about.steps),
        "hashed": about.names is None and "text" in about.steps,
        "more": max(0, len(lanes) - _LANES),
        "against": about.classes[0] if about.binary else "",
        "lanes": [
            {"name": name, "features": _heaviest(about, lane, top)}
            for lane, name in enumerate(lanes[:_LANES])
        ],
    }


def _heaviest(about: About, lane: int, top: int) -> list[dict[str, Any]]:
    weights = about.weights(lane)
    order = np.argsort(-weights, kind="stable")
    chosen = [k for k in order[:top] if weights[k] > 0]
    chosen += [k for k in order[::-1][:top][::-1] if weights[k] < 0]
    largest = float(np.abs(weights).max()) or 1.0
    return [
        {
            "name": about.feature(int(k)),
            "weight": number(weights[k], 3, zeros=True),
            "meter": meter(float(weights[k]) / largest, number(weights[k], 3), "signed"),
        }
        for k in chosen
    ]


def worst_rows(scored: Scored, first: int = 1) -> dict[str, Any]:
    """The rows with the smallest margins; ``first`` is the number of the first row."""
    about = scored.about
    rows = [_row(about, one, first) for one in scored.worst]
    wrong = sum(one.margin < 0 for one in scored.worst)
    return {
        "rows": rows,
        "wrong": wrong,
        "weights": about.coef is not None,
        "texts": any(row["text"] for row in rows),
        "spoke": any(row["spoke"] for row in rows),
        "first": first,
    }


def _row(about: About, one: Candidate, first: int) -> dict[str, Any]:
    if about.labels:
        name = about.classes[one.true]
        true, said = (name, f"not {name}") if one.rival else (f"not {name}", name)
    else:
        true = about.classes[one.true]
        said = about.classes[one.rival if one.margin < 0 else one.true]
        if about.binary and one.margin == 0:
            said = about.classes[0]
    if about.labels and one.margin > 0:
        said = true
    return {
        "number": f"{one.row + first:,}",
        "true": true,
        "said": said,
        "right": true == said,
        "margin": number(one.margin, 3, zeros=True),
        "scores": " / ".join(number(score, 3, zeros=True) for score in one.scores),
        "text": short(one.text, _TEXT) if one.text else "",
        "spoke": [
            (name, number(by, 3) if about.coef is None else f"+{number(by, 2, zeros=True)}")
            for name, by in misled(about, one)
        ],
    }


def misled(about: About, one: Candidate) -> list[tuple[str, float]]:
    """The features of a row that spoke most for the rival; without weights the largest values."""
    if one.x is None:
        return []
    if sparse.issparse(one.x):
        row = one.x.tocsr()
        at, spoke = np.asarray(row.indices), np.asarray(row.data, dtype=np.float64)
    else:
        spoke = np.asarray(one.x, dtype=np.float64).ravel()
        at = np.flatnonzero(spoke)
        spoke = spoke[at]
    at, spoke = at[at < about.features], spoke[at < about.features]
    size = np.abs(spoke)
    if about.labels:
        size = spoke = spoke * about.weights(one.true)[at] * (-1 if one.rival else 1)
    elif about.coef is not None:
        size = spoke = spoke * about.direction(one.true, one.rival)[at]
    order = np.argsort(-size, kind="stable")[:_SPOKE]
    keep = order if about.coef is None else order[spoke[order] > 0]
    return [(about.feature(int(at[k])), float(spoke[k])) for k in keep]
