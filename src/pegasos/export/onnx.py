"""Models as ONNX graphs: rows in, labels and scores out, and probabilities of sigmoids.

The input ``X`` is float32 (rows, features). Inside all is float64, so that the labels are those of
the model itself. The outputs are ``label``, ``scores`` (float32, of the shape that
``decision_function`` gives) and, where the model has sigmoids and no pairs, ``probabilities``.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.export.folding import ExportError, without_steps
from pegasos.export.lines import Source
from pegasos.model.linear import LinearModel
from pegasos.tasks.probability import Sigmoid
from pegasos.util import sparse
from pegasos.util.atomic import atomic_write

_OPSET, _IR = 17, 8  # of 2022: old enough for runtimes in use
_LABELS = {"object": "string", "float32": "float", "float64": "double"}  # types by their names
_MOST_BYTES = 1 << 31  # of a protobuf message
_ROOM = 1 << 20  # for all but the weights


# The graph in ONNX's own notation. Types have numbers there: 1 is float, 7 int64, 11 double.
_LANES = """
    wide = Cast <to = 11> (X)
    products = MatMul (wide, coef)
    lanes = Add (products, intercept)
"""
# As pegasos.tasks.decision.votes: a vote of each pair, ties broken by the scores. It is for the
# first class, unless the score is positive: then it moves to the second.
_VOTES = """
    positive = Greater (lanes, zero)
    won = Cast <to = 11> (positive)
    moved = MatMul (won, turned)
    votes = Add (moved, base)
    confidence = MatMul (lanes, turned)
    size = Abs (confidence)
    more = Add (size, one)
    below = Mul (more, three)
    share = Div (confidence, below)
    voted = Add (votes, share)
"""
_SIGMOIDS = """
    steep = Mul (lanes, slope)
    logits = Add (steep, shift)
    p = Sigmoid (logits)
"""
_OF_TWO = """
    q = Sub (whole, p)
    both = Concat <axis = 1> (q, p)
    probabilities = Cast <to = 1> (both)
"""
# A tiny number keeps rows apart from 0 / 0: classes are then equally likely.
_OF_MORE = """
    kept = Max (p, tiny)
    total = ReduceSum <keepdims = 1> (kept, across)
    both = Div (kept, total)
    probabilities = Cast <to = 1> (both)
"""


def write(model: LinearModel, path: Source, *, overwrite: bool = True) -> None:
    """Save as an ONNX model."""
    data = as_onnx(model).SerializeToString()
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(data)


def as_onnx(model: LinearModel) -> Any:
    """The ``onnx.ModelProto``."""
    try:
        from onnx import checker, numpy_helper, parser
    except ImportError:
        raise ExportError(
            "exporting to ONNX needs the package onnx: pip install 'pegasos[onnx]'"
        ) from None
    from pegasos import __version__

    model = without_steps(model)
    if 8 * model.lanes * model.features + _ROOM > _MOST_BYTES:
        raise ExportError(
            f"ONNX files end at 2 GiB; {model.lanes} x {model.features} weights take more: prune "
            "features that no weight uses"
        )
    coef = model.coef.toarray() if sparse.issparse(model.coef) else np.asarray(model.coef)
    constants = {"coef": coef.T, "intercept": np.asarray(model.intercept)}
    nodes, scores, columns = _LANES, "lanes", ", k"
    if model.scheme == "ovo" and model.classes.size > 2:
        nodes, scores = nodes + _VOTES, "voted"
        constants |= _pairs(int(model.classes.size))
    elif model.scheme != "labels" and model.lanes == 1:
        nodes, scores, columns = nodes + "flat = Squeeze (lanes, last)\n", "flat", ""
        constants["last"] = np.array([1])
    label, label_nodes, label_constants = _label(model, scores)
    p_nodes, p_constants = _probabilities(model)
    outputs = f"{label}, float[rows{columns}] scores"
    if p_nodes:
        outputs += ", float[rows, classes] probabilities"
    proto = parser.parse_model(
        f'''<ir_version: {_IR}, opset_import: ["": {_OPSET}],
            producer_name: "pegasos", producer_version: "{__version__}">
        pegasos (float[rows, {model.features}] X) => ({outputs}) {{
            {nodes} {label_nodes} scores = Cast <to = 1> ({scores}) {p_nodes}
        }}'''
    )
    for name, array in (constants | label_constants | p_constants).items():
        kept = numpy_helper.from_array(np.ascontiguousarray(array), name)
        proto.graph.initializer.append(kept)
    checker.check_model(proto)
    return proto


def _pairs(classes: int) -> dict[str, Any]:
    """The constants of votes."""
    pairs = list(combinations(range(classes), 2))
    first, second = np.zeros((2, len(pairs), classes))
    for lane, (i, j) in enumerate(pairs):
        first[lane, i], second[lane, j] = 1, 1
    numbers = {"zero": np.zeros(()), "one": np.ones(()), "three": np.full((), 3.0)}
    return {**numbers, "turned": second - first, "base": first.sum(axis=0)}


def _label(model: LinearModel, scores: str) -> tuple[str, str, dict[str, Any]]:
    """``label``, the class or an indicator matrix: its type, its nodes and their constants."""
    above = f"above = Greater ({scores}, zero)\n{{}} = Cast <to = 7> (above)\n"
    constants = {"zero": np.zeros(())}
    if model.scheme == "labels":
        return "int64[rows, k] label", above.format("label"), constants
    classes = _classes(model.classes)
    place = above.format("place")
    if model.lanes > 1:
        place, constants = f"place = ArgMax <axis = 1, keepdims = 0> ({scores})\n", {}
    kind = f"{_LABELS.get(classes.dtype.name, classes.dtype.name)}[rows] label"
    nodes = place + "label = Gather <axis = 0> (classes, place)\n"
    return kind, nodes, constants | {"classes": classes}


def _classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Strings as ONNX has them, integers of 64 bits, other numbers as they are."""
    if classes.dtype.kind in "UTO":
        return classes.astype(object)
    if classes.dtype.kind in "iu":
        if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
            raise ExportError("ONNX labels are signed 64-bit integers, a class is larger")
        return classes.astype(np.int64)
    return classes


def _probabilities(model: LinearModel) -> tuple[str, dict[str, Any]]:
    """``probabilities``, if all lanes have sigmoids that need no coupling of pairs."""
    sigmoids = [one for one in model.calibrators or () if isinstance(one, Sigmoid)]
    if len(sigmoids) != model.lanes or (model.scheme == "ovo" and model.classes.size > 2):
        return "", {}
    slope, shift = -np.array([(one.A, one.B) for one in sigmoids]).T
    constants = {"slope": slope, "shift": shift}
    if model.lanes == 1:
        return _SIGMOIDS + _OF_TWO, {**constants, "whole": np.ones(())}
    tiny = np.full((), np.finfo(np.float64).tiny)
    return _SIGMOIDS + _OF_MORE, {**constants, "tiny": tiny, "across": np.array([1])}
