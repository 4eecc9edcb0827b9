"""LIBLINEAR's text models.

Its ``predict`` gives a row with a positive score the first label, ours the second class: so two
classes are written in reverse. An intercept is the weight of one more feature, ``bias``, with the
same value in every row.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.export.folding import ExportError, without_steps
from pegasos.export.lines import MOST_FEATURES, Lines, Source
from pegasos.model.linear import LinearModel
from pegasos.util import sparse
from pegasos.util.atomic import atomic_write

_JOINT = "MCSVM_CS"
_OF_LOSS = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC_DUAL"}
_LOSSES = {
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    _JOINT: "hinge",
    # Linear classifiers too, but of problems that are not solved here.
    "L1R_L2LOSS_SVC": None,
    "L2R_LR": None,
    "L2R_LR_DUAL": None,
    "L1R_LR": None,
}
_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias")
_INT = np.iinfo(np.int32)
_BLOCK = 4096  # features written at a time


def write(model: LinearModel, path: Source, *, overwrite: bool = True) -> None:
    """Save as a LIBLINEAR model that gives every row the same class."""
    model = without_steps(model)
    if model.scheme in ("ovo", "labels"):
        raise ExportError(
            "LIBLINEAR models have one weight vector per class: pairs of classes "
            "(multi_class='ovo') and labels cannot be written; train with multi_class='ovr'"
        )
    if model.features >= MOST_FEATURES:
        raise ExportError(f"LIBLINEAR counts features up to {MOST_FEATURES - 1}")
    labels = _labels(model.classes)
    if model.lanes == 1:
        labels = labels[::-1]
    joint = model.scheme == "crammer_singer" and model.lanes > 1
    loss: Any = model.parameters.get("loss", "hinge")
    if loss not in _OF_LOSS:
        raise ExportError(f"LIBLINEAR models have no loss {loss!r}")
    coef, intercept = model.coef, np.asarray(model.intercept)
    bias = bool(intercept.any())
    with atomic_write(path, overwrite=overwrite) as file:
        header = {
            "solver_type": _JOINT if joint else _OF_LOSS[loss],
            "nr_class": labels.size,
            "label": " ".join(map(str, labels.tolist())),
            "nr_feature": model.features,
            "bias": 1 if bias else -1,
        }
        file.write("".join(f"{key} {value}\n" for key, value in header.items()).encode())
        file.write(b"w\n")
        columns: Any = coef.tocsc() if sparse.issparse(coef) else np.asarray(coef)
        for lo in range(0, model.features, _BLOCK):
            block = columns[:, lo : lo + _BLOCK]
            block = block.toarray() if sparse.issparse(block) else block
            file.write(_rows(block.T))
        if bias:
            file.write(_rows(intercept[None]))


def read(path: Source) -> LinearModel:
    """The model of a file that LIBLINEAR wrote; classes come in increasing order.

    A score of exactly 0 is for the first class here; LIBLINEAR takes its second label.
    """
    text = Lines(path, "LIBLINEAR")
    header, first = _header(text)
    kind = header["solver_type"][1][0]
    if kind not in _LOSSES:
        raise text.wrong(f"{kind} is no linear classifier; there are {', '.join(_LOSSES)}", 1)
    count, features = (
        text.integer(header[key][0], header[key][1][0], least)
        for key, least in (("nr_class", 2), ("nr_feature", 1))
    )
    line, tokens = header["label"]
    classes = np.array([text.integer(line, token, _INT.min, _INT.max) for token in tokens])
    if classes.size != count or np.unique(classes).size != count:
        raise text.wrong(f"expected {count} labels that differ", line)
    line, tokens = header["bias"]
    bias = text.real(line, tokens[0])
    joint = kind == _JOINT
    vectors = count if count > 2 or joint else 1
    rows = features + (bias >= 0)
    found = text.after(first)
    if len(found) != rows:
        raise text.wrong(f"expected {rows} lines of weights after 'w', found {len(found)}", first)
    weights = np.array([_weights(text, number, line, vectors) for number, line in found])
    intercept = bias * weights[features] if bias >= 0 else np.zeros(vectors)
    coef = np.ascontiguousarray(weights[:features].T)
    order = np.argsort(classes)
    if vectors > 1:
        coef, intercept = coef[order], intercept[order]
    elif classes[0] < classes[1]:
        coef, intercept = -coef, -intercept
    parameters: dict[str, Any] = {"intercept": "regularized" if bias > 0 else "none"}
    if bias > 0:
        parameters["intercept_scaling"] = bias
    if _LOSSES[kind] is not None:
        parameters["loss"] = _LOSSES[kind]
    scheme: Literal["crammer_singer", "ovr"] = "crammer_singer" if joint else "ovr"
    training = {"imported": "LIBLINEAR", "solver": kind}
    return LinearModel(coef, intercept, classes[order], scheme, None, parameters, training)


def _labels(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Classes as the integers that LIBLINEAR needs."""
    if classes.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            labels = classes.astype(np.int64)
        if (labels == classes).all() and labels.min() >= _INT.min and labels.max() <= _INT.max:
            return labels
    raise ExportError(
        f"LIBLINEAR's labels are 32-bit integers, the classes are {classes[:3].tolist()}...: "
        "train on integers to export the model"
    )


def _rows(block: NDArray[np.float64]) -> bytes:
    """A line for each row; 17 digits give every number back exactly."""
    form = "%.17g " * block.shape[1] + "\n"
    return "".join(form % tuple(row) for row in block.tolist()).encode()


def _header(text: Lines) -> tuple[dict[str, tuple[int, list[str]]], int]:
    """The line number and values of each key, and the number of the line 'w'."""
    found: dict[str, tuple[int, list[str]]] = {}
    for number, line in text.after(0):
        key, *tokens = line.split() or [""]
        if key == "w" and not tokens:
            missing = [name for name in _KEYS if name not in found]
            if missing:
                raise text.wrong(f"has no {missing[0]!r} before its weights", number)
            return found, number
        if key not in _KEYS or key in found or not tokens:
            raise text.wrong(
                f"expected one of {', '.join(_KEYS)} and its value, got {line[:40]!r}", number
            )
        if key != "label" and len(tokens) != 1:
            raise text.wrong(f"expected one value of {key!r}, got {line[:40]!r}", number)
        found[key] = number, tokens
    raise text.wrong("has no weights: it is cut off, or no LIBLINEAR model", len(text.all))


def _weights(text: Lines, number: int, line: str, vectors: int) -> list[float]:
    tokens = line.split()
    if len(tokens) != vectors:
        raise text.wrong(f"expected {vectors} weights, found {len(tokens)}", number)
    return [text.real(number, token) for token in tokens]
