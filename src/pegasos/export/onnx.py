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

from pegasos import sparse
from pegasos.atomic import atomic_write
from pegasos.export.errors import ExportError
from pegasos.export.folding import without_steps
from pegasos.export.lines import Source
from pegasos.model import LinearModel
from pegasos.tasks.probability import Sigmoid

_OPSET, _IR = 17, 8  # of 2022: old enough for runtimes in use
_MOST_BYTES = 1 << 31  # of a protobuf message
_ROOM = 1 << 20  # for all but the weights


class _Graph:
    """Nodes and constants, by the names of what they give."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output


def write(model: LinearModel, path: Source, *, overwrite: bool = True) -> None:
    """Save as an ONNX model."""
    data = as_onnx(model).SerializeToString()
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(data)


def as_onnx(model: LinearModel) -> Any:
    """The ``onnx.ModelProto``."""
    try:
        from onnx import TensorProto, checker, helper
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
    graph = _Graph()
    double = int(TensorProto.DOUBLE)
    wide = graph.node("Cast", ["X"], "wide", to=double)
    coef = model.coef.toarray() if sparse.issparse(model.coef) else np.asarray(model.coef)
    products = graph.node("MatMul", [wide, graph.constant("coef", coef.T)], "products")
    lanes = graph.node(
        "Add", [products, graph.constant("intercept", np.asarray(model.intercept))], "lanes"
    )
    single = model.scheme != "labels" and model.lanes == 1
    votes = model.scheme == "ovo" and model.classes.size > 2
    scores = _votes(graph, lanes, int(model.classes.size)) if votes else lanes
    if single:
        graph.constant("last", np.array([1], dtype=np.int64))
        scores = graph.node("Squeeze", [lanes, "last"], "flat")
    _labels(graph, model, scores)
    graph.node("Cast", [scores], "scores", to=int(TensorProto.FLOAT))
    outputs = [_label_info(model), _info("scores", TensorProto.FLOAT, None if single else "k")]
    if _probabilities(graph, model, lanes):
        outputs.append(_info("probabilities", TensorProto.FLOAT, "classes"))
    body = helper.make_graph(
        graph.nodes,
        "pegasos",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", model.features])],
        outputs,
        graph.constants,
    )
    proto = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="pegasos",
        producer_version=__version__,
    )
    checker.check_model(proto)
    return proto


def _votes(graph: _Graph, lanes: str, classes: int) -> str:
    """As ``pegasos.tasks.decision.votes``: a vote of each pair, ties broken by the scores."""
    from onnx import TensorProto

    pairs = list(combinations(range(classes), 2))
    first, second = np.zeros((2, len(pairs), classes))
    for lane, (i, j) in enumerate(pairs):
        first[lane, i], second[lane, j] = 1, 1
    # A vote for i, unless the score is positive: then it moves to j.
    graph.constant("zero", np.zeros(()))
    graph.constant("one", np.ones(()))
    graph.constant("three", np.full((), 3.0))
    graph.constant("turned", second - first)
    graph.constant("base", first.sum(axis=0))
    positive = graph.node("Greater", [lanes, "zero"], "positive")
    as_number = graph.node("Cast", [positive], "won", to=int(TensorProto.DOUBLE))
    moved = graph.node("MatMul", [as_number, "turned"], "moved")
    count = graph.node("Add", [moved, "base"], "votes")
    confidence = graph.node("MatMul", [lanes, "turned"], "confidence")
    size = graph.node("Abs", [confidence], "size")
    more = graph.node("Add", [size, "one"], "more")
    below = graph.node("Mul", [more, "three"], "below")
    share = graph.node("Div", [confidence, below], "share")
    return graph.node("Add", [count, share], "voted")


def _labels(graph: _Graph, model: LinearModel, scores: str) -> None:
    """``label``: the class, or an indicator matrix."""
    from onnx import TensorProto

    integer = int(TensorProto.INT64)
    if model.scheme == "labels" or model.lanes == 1:
        threshold = graph.constant("threshold", np.zeros(()))
        above = graph.node("Greater", [scores, threshold], "above")
        place = "label" if model.scheme == "labels" else "place"
        graph.node("Cast", [above], place, to=integer)
    else:
        place = graph.node("ArgMax", [scores], "place", axis=1, keepdims=0)
    if model.scheme != "labels":
        classes = graph.constant("classes", _classes(model.classes))
        graph.node("Gather", [classes, place], "label", axis=0)


def _classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Strings as ONNX has them, integers of 64 bits, other numbers as they are."""
    if classes.dtype.kind in "UTO":
        return classes.astype(object)
    if classes.dtype.kind in "iu":
        if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
            raise ExportError("ONNX labels are signed 64-bit integers, a class is larger")
        return classes.astype(np.int64)
    return classes


def _label_info(model: LinearModel) -> Any:
    from onnx import TensorProto, helper

    if model.scheme == "labels":
        return _info("label", TensorProto.INT64, "k")
    classes = _classes(model.classes)
    text = classes.dtype.kind == "O"
    kind = TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(classes.dtype)
    return _info("label", kind, None)


def _info(name: str, kind: Any, columns: str | None) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, kind, ["rows", columns] if columns else ["rows"])


def _probabilities(graph: _Graph, model: LinearModel, lanes: str) -> bool:
    """``probabilities``, if all lanes have sigmoids that need no coupling of pairs."""
    from onnx import TensorProto

    sigmoids = [one for one in model.calibrators or () if isinstance(one, Sigmoid)]
    count = int(model.classes.size)
    if len(sigmoids) != model.lanes or (model.scheme == "ovo" and count > 2):
        return False
    slope = graph.constant("slope", -np.array([one.A for one in sigmoids]))
    shift = graph.constant("shift", -np.array([one.B for one in sigmoids]))
    steep = graph.node("Mul", [lanes, slope], "steep")
    p = graph.node("Sigmoid", [graph.node("Add", [steep, shift], "logits")], "p")
    if model.lanes == 1:
        whole = graph.constant("whole", np.ones(()))
        graph.node("Concat", [graph.node("Sub", [whole, p], "q"), p], "both", axis=1)
    else:
        # A tiny number keeps rows apart from 0 / 0: classes are then equally likely.
        tiny = graph.constant("tiny", np.full((), np.finfo(np.float64).tiny))
        graph.constant("across", np.array([1], dtype=np.int64))
        kept = graph.node("Max", [p, tiny], "kept")
        total = graph.node("ReduceSum", [kept, "across"], "total", keepdims=1)
        graph.node("Div", [kept, total], "both")
    graph.node("Cast", ["both"], "probabilities", to=int(TensorProto.FLOAT))
    return True
