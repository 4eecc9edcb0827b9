"""Whether the parts of a model fit each other: asked before it is written and after it is read."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from pegasos.certificate import Certificate
from pegasos.model.file.errors import WrongContent
from pegasos.model.linear import LinearModel, Scheme
from pegasos.tasks.probability import Calibrator, Isotonic, Sigmoid
from pegasos.util import sparse

_HISTORY = {"seconds", "epoch", "primal", "dual", "relative_gap", "worst_gap"}
_BLOCK = 1 << 20  # values looked at together, so that looking takes no memory


def need(condition: Any, what: str) -> None:
    """``what`` is wrong unless the condition holds."""
    if not condition:
        raise WrongContent(what)


def need_finite(numbers: ArrayLike, what: str) -> None:
    """The same of numbers that must be finite, a block at a time."""
    flat = np.asarray(numbers).ravel(order="K")
    blocks = (flat[lo : lo + _BLOCK] for lo in range(0, flat.size, _BLOCK))
    need(all(np.isfinite(block).all() for block in blocks), what)


def check_model(model: LinearModel) -> None:
    """Raise WrongContent that says what does not fit."""
    coef, intercept = model.coef, np.asarray(model.intercept)
    need(len(coef.shape) == 2, "its coefficients are no matrix (lanes, features)")
    lanes, features = coef.shape
    need(lanes > 0 and features > 0, "it has no coefficients")
    need_finite(coef.data if sparse.issparse(coef) else coef, "its coefficients are not all finite")
    shape = intercept.shape
    need(shape == (lanes,), f"its intercepts have the shape {shape}, and should be ({lanes},)")
    need_finite(intercept, "its intercepts are not all finite")
    _check_classes(model)
    if model.certificate is not None:
        _check_certificate(model.certificate, lanes)
    _check_course(model)
    if model.feature_names is not None:
        names = len(model.feature_names)
        need(names == features, f"it has {names} names for {features} features")
    if model.calibrators is not None:
        count = len(model.calibrators)
        fits = model.scheme != "labels" and count == lanes
        need(fits, f"it has {count} calibrators for {lanes} lanes")
        for one in model.calibrators:
            _check_calibrator(one)


def _check_course(model: LinearModel) -> None:
    """The way to the model: what is there is a table of numbers, all of it."""
    path = dict(model.path)
    chosen, scoring, folds = (path.pop(name, None) for name in ("chosen", "scoring", "folds"))
    for what, table, names in (
        ("history", model.history, _HISTORY),
        ("path", path, {"C", "mean", "error"}),
    ):
        if not table and not getattr(model, what):
            continue
        columns = list(table.values())
        right = names <= set(table) and all(isinstance(column, list) for column in columns)
        right = right and len({len(column) for column in columns}) == 1
        right = right and all(type(value) is float for column in columns for value in column)
        need(right, f"its {what} is no table of numbers")
    if model.path:
        inside = type(chosen) is int and 0 <= chosen < len(path["C"])
        need(inside, "the C that was chosen is not on its path")
        named = isinstance(scoring, str) and type(folds) is int
        need(named, "its path does not say how it was scored")


def _check_classes(model: LinearModel) -> None:
    classes, scheme = model.classes, model.scheme
    need(scheme in get_args(Scheme), f"its scheme {scheme!r} is unknown")
    need(classes.ndim == 1, "its classes are no list")
    count = int(classes.size)
    need(count >= (1 if scheme == "labels" else 2), f"it has {count} classes")
    if classes.dtype.kind == "f":
        need_finite(classes, "its classes are not all finite")
    need(len(set(classes.tolist())) == count, "some of its classes are the same")
    lanes = {
        "labels": (count,),
        "ovo": (1,) if count == 2 else (count * (count - 1) // 2,),
        "ovr": (1,) if count == 2 else (count,),
        "crammer_singer": (1, 2) if count == 2 else (count,),
    }[scheme]
    need(
        model.lanes in lanes,
        f"it has {model.lanes} weight vectors, which is not what {count} classes take ({scheme})",
    )


def _check_certificate(bounds: Certificate, lanes: int) -> None:
    for name in ("primal", "dual", "rounding"):
        bound = np.asarray(getattr(bounds, name))
        need(bound.shape in ((), (lanes,)), f"the {name} of its certificate is no number")
        need_finite(bound, f"the {name} of its certificate is not finite")
    need(np.all(np.asarray(bounds.rounding) >= 0), "its certificate has a negative rounding bound")
    need(bounds.holds, "its certificate contradicts itself")


def _check_calibrator(one: Calibrator) -> None:
    if isinstance(one, Sigmoid):
        need_finite([one.A, one.B], "a sigmoid of it is not finite")
    elif isinstance(one, Isotonic):
        x, y = np.asarray(one.scores), np.asarray(one.values)
        need(x.ndim == 1 and x.size and x.shape == y.shape, "a calibration curve has no knots")
        need_finite(x, "a calibration curve is not finite")
        need_finite(y, "a calibration curve is not finite")
        rises = (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()
        need(rises and y[0] >= 0 and y[-1] <= 1, "a calibration curve does not rise from 0 to 1")
