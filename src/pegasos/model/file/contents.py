"""A model as numbers and text (``meta``, JSON) and arrays, and back, with every part checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pegasos.certificate import Certificate
from pegasos.data.csr import check_csr
from pegasos.data.dataset import DataError
from pegasos.model.file.arrays import (
    ROOM,
    Arrays,
    check_ends,
    put_array,
    put_text,
    take,
    take_array,
    take_text,
)
from pegasos.model.file.check import check_model, need
from pegasos.model.file.errors import WrongContent
from pegasos.model.file.options import check_options
from pegasos.model.file.plain import from_plain, to_plain
from pegasos.model.linear import LinearModel
from pegasos.steps import Step, restore
from pegasos.tasks.probability import Calibrator, Isotonic, Sigmoid
from pegasos.util import sparse

_BOUNDS = ("primal", "dual", "rounding")
_MAPPINGS = ("parameters", "training", "data")
_COURSE = ("history", "path")  # written where there is one: the first files had none


def encode(model: LinearModel) -> tuple[dict[str, Any], Arrays]:
    """``meta`` and arrays; the duals are not among them."""
    check_model(model)
    arrays: Arrays = {"intercept": np.asarray(model.intercept, dtype=np.float64)}
    meta: dict[str, Any] = {
        "scheme": model.scheme,
        "lanes": model.lanes,
        "features": model.features,
        "coef": _put_coef(arrays, model.coef),
        "classes": put_array(arrays, "classes", model.classes),
        "certificate": model.certificate is not None,
        "feature_names": model.feature_names is not None,
        "calibrators": model.calibrators is not None,
        "steps": [_put_step(arrays, number, step) for number, step in enumerate(model.steps)],
    }
    if model.certificate is not None:
        for name in _BOUNDS:
            bound = getattr(model.certificate, name)
            arrays[f"certificate.{name}"] = np.asarray(bound, dtype=np.float64)
    if model.feature_names is not None:
        put_text(arrays, "feature_names", model.feature_names)
    if model.calibrators is not None:
        _put_calibrators(arrays, model.calibrators)
    for name in (*_MAPPINGS, *(name for name in _COURSE if getattr(model, name))):
        try:
            meta[name] = to_plain(dict(getattr(model, name)))
        except TypeError as error:
            raise WrongContent(f"the model's {name}: {error}") from None
    return meta, arrays


def decode(meta: dict[str, Any], arrays: Arrays, size: int) -> LinearModel:
    """The model of a file of ``size`` bytes; ``arrays`` is emptied."""
    shape = (_count(meta, "lanes"), _count(meta, "features"))
    room = max(ROOM, size)
    certificate = names = calibrators = None
    if meta.get("certificate"):
        certificate = Certificate(*(_take_bound(arrays, name, shape[0]) for name in _BOUNDS))
    if meta.get("feature_names"):
        names = tuple(take_text(arrays, "feature_names"))
    if meta.get("calibrators"):
        calibrators = _take_calibrators(arrays)
    steps = meta.get("steps")
    need(isinstance(steps, list), "its steps are no list")
    model = LinearModel(
        coef=_take_coef(arrays, meta.get("coef"), shape, room),
        intercept=take(arrays, "intercept", 1, "float64"),
        classes=take_array(arrays, "classes", meta.get("classes"), room),
        scheme=meta.get("scheme"),  # type: ignore[arg-type]  # checked below
        certificate=certificate,
        feature_names=names,
        calibrators=calibrators,
        steps=tuple(_take_step(arrays, n, step, room) for n, step in enumerate(steps or ())),
        **{name: _mapping(meta, name) for name in (*_MAPPINGS, *(c for c in _COURSE if c in meta))},
    )
    need(not arrays, f"it has arrays of an unknown purpose: {', '.join(sorted(arrays)[:5])}")
    check_model(model)
    check_options(model.parameters, model.training)
    return model


def _count(meta: dict[str, Any], name: str) -> int:
    value = meta.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 62:
        raise WrongContent(f"{name} is {value!r}, and should be a positive whole number")
    return value


def _mapping(meta: dict[str, Any], name: str) -> dict[str, Any]:
    try:
        value = from_plain(meta.get(name))
    except (ValueError, RecursionError) as error:
        raise WrongContent(f"{name}: {error}") from None
    need(isinstance(value, dict), f"{name} is no mapping")
    return dict(value)


def _put_coef(arrays: Arrays, coef: Any) -> dict[str, Any]:
    """Sparse, if it is or if that is smaller; returns how."""
    given = "csr" if sparse.issparse(coef) else "dense"
    if sparse.issparse(coef):
        rows = sparse.canonical(coef)
        values, indices, ends = rows.data, rows.indices, rows.indptr[1:]
    else:
        coef = np.asarray(coef, dtype=np.float64)
        index = np.dtype(np.int32 if coef.shape[1] <= np.iinfo(np.int32).max else np.int64)
        if (8 + index.itemsize) * np.count_nonzero(coef) + 8 * coef.shape[0] >= coef.nbytes:
            # The order of memory is kept: products then add up in the same order, to the same bits.
            flip = abs(coef.strides[0]) < abs(coef.strides[1])
            arrays["coef"] = coef.T if flip else coef
            return {"given": given, "stored": "columns" if flip else "rows"}
        row, column = np.nonzero(coef)
        values, indices = coef[row, column], column.astype(index)
        ends = np.cumsum(np.bincount(row, minlength=coef.shape[0]))
    arrays["coef.values"] = values.astype(np.float64, copy=False)
    arrays["coef.indices"], arrays["coef.ends"] = indices, ends.astype(np.int64)
    return {"given": given, "stored": "csr"}


def _take_coef(arrays: Arrays, how: Any, shape: tuple[int, int], room: int) -> Any:
    how = how if isinstance(how, dict) else {}
    given, stored = how.get("given"), how.get("stored")
    known = given in ("csr", "dense") and stored in ("rows", "columns", "csr")
    need(known, "its coefficients are stored in an unknown way")
    if stored != "csr":
        coef = take(arrays, "coef", 2, "float64")
        coef = coef.T if stored == "columns" else coef
        need(coef.shape == shape, f"its coefficients are {coef.shape}, not {shape}")
        return coef
    values = take(arrays, "coef.values", 1, "float64")
    indices = take(arrays, "coef.indices", 1, "int32", "int64")
    ends = take(arrays, "coef.ends", 1, "int64")
    need(ends.size == shape[0], f"its coefficients have {ends.size} rows, not {shape[0]}")
    starts = np.concatenate(([0], ends))
    try:
        check_csr("", values, indices, starts, shape[1])
    except DataError as error:
        raise WrongContent(f"its coefficients: {error.what}") from None
    coef = sparse.csr_matrix((values, indices, starts), shape=shape)
    # A few numbers could stand for a matrix that fills the memory: that stays sparse.
    return coef.toarray() if given == "dense" and 8 * shape[0] * shape[1] <= room else coef


def _take_bound(arrays: Arrays, name: str, lanes: int) -> Any:
    """A float of one problem, else one for each lane."""
    full = f"certificate.{name}"
    bound = take(arrays, full, arrays[full].ndim if full in arrays else 0, "float64")
    need(bound.shape in ((), (lanes,)), f"{full} has the shape {bound.shape}")
    return bound if bound.ndim else float(bound)


def _put_calibrators(arrays: Arrays, calibrators: tuple[Calibrator, ...]) -> None:
    """Knots of all curves end to end; a sigmoid has A and B in place of one knot."""
    knots: list[tuple[ArrayLike, ArrayLike]] = []
    for one in calibrators:
        if isinstance(one, Sigmoid):
            knots.append(([one.A], [one.B]))
        elif isinstance(one, Isotonic):
            knots.append((one.scores, one.values))
        else:
            raise WrongContent(f"a calibrator of type {type(one).__name__} cannot be saved")
    x, y = zip(*knots, strict=True)
    arrays["calibrators.sigmoid"] = np.array([isinstance(c, Sigmoid) for c in calibrators], "u1")
    arrays["calibrators.ends"] = np.cumsum([len(part) for part in x], dtype=np.int64)
    arrays["calibrators.x"] = np.concatenate(x, dtype=np.float64)
    arrays["calibrators.y"] = np.concatenate(y, dtype=np.float64)


def _take_calibrators(arrays: Arrays) -> tuple[Calibrator, ...]:
    sigmoid = take_array(arrays, "calibrators.sigmoid", "bool")
    ends = take(arrays, "calibrators.ends", 1, "int64")
    x = take(arrays, "calibrators.x", 1, "float64")
    y = take(arrays, "calibrators.y", 1, "float64")
    need(x.shape == y.shape and sigmoid.shape == ends.shape, "its calibrators differ in number")
    check_ends("calibrators", ends, x.size)
    found: list[Calibrator] = []
    for is_sigmoid, start, end in zip(sigmoid, np.r_[0, ends[:-1]], ends, strict=True):
        need(not is_sigmoid or end - start == 1, "a sigmoid has one A and one B")
        found.append(
            Sigmoid(float(x[start]), float(y[start]))
            if is_sigmoid
            else Isotonic(x[start:end], y[start:end])
        )
    return tuple(found)


def _put_step(arrays: Arrays, number: int, step: Step) -> dict[str, Any]:
    parts = {
        name: put_array(arrays, f"steps.{number}.{name}", array)
        for name, array in step.arrays().items()
    }
    try:
        return {"kind": step.kind, "meta": to_plain(step.meta()), "arrays": parts}
    except TypeError as error:
        raise WrongContent(f"step {number} ({step.kind}): {error}") from None


def _take_step(arrays: Arrays, number: int, step: Any, room: int) -> Step:
    """A step of a kind that this package has."""
    if not isinstance(step, dict) or not isinstance(step.get("arrays"), dict):
        raise WrongContent(f"step {number} makes no sense")
    kind, meta = step.get("kind"), _mapping(step, "meta")
    if not isinstance(kind, str):
        raise WrongContent(f"step {number} has no kind")
    parts = {
        name: take_array(arrays, f"steps.{number}.{name}", how, room)
        for name, how in step["arrays"].items()
    }
    try:
        return restore(kind, meta, parts)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise WrongContent(f"step {number} ({kind}) cannot be restored: {error}") from None
