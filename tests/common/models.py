"""Small random models of every kind, made without training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.certificate import Certificate
from pegasos.model.linear import LinearModel, Scheme
from pegasos.tasks.probability import Calibrator, Isotonic, Sigmoid

CLASSES = ("int64", "int8", "uint16", "float32", "float64", "bool", "text", "objects")


def random_classes(kind: str, count: int) -> NDArray[Any]:
    """Classes in increasing order."""
    if kind == "bool":
        return np.array([False, True])
    if kind in ("text", "objects"):
        names = sorted(f"class {'é' * k}{k}" for k in range(count))
        return np.array(names, dtype=object if kind == "objects" else None)
    return (np.arange(count) + 1).astype(kind)


def random_model(
    scheme: Scheme = "ovr",
    classes: int = 3,
    features: int = 5,
    *,
    kind: str = "int64",
    zeros: float = 0.0,
    csr: bool = False,
    calibrated: bool = False,
    named: bool = False,
    certified: bool = True,
    seed: int = 0,
) -> LinearModel:
    """A model with random weights; ``zeros`` is the share of those that are 0."""
    rng = np.random.default_rng(seed)
    found = random_classes(kind, classes)
    count = int(found.size)
    lanes = 1 if count == 2 and scheme != "labels" else count
    if scheme == "ovo" and count > 2:
        lanes = count * (count - 1) // 2
    coef: Any = rng.standard_normal((lanes, features))
    coef[rng.uniform(size=coef.shape) < zeros] = 0
    primal = rng.uniform(1, 2, lanes)
    certificate = Certificate(primal, primal * rng.uniform(0.9, 1, lanes), np.full(lanes, 1e-15))
    return LinearModel(
        coef=sparse.csr_matrix(coef) if csr else coef,
        intercept=rng.standard_normal(lanes),
        classes=found,
        scheme=scheme,
        certificate=certificate if certified else None,
        parameters={"C": 0.1, "loss": "hinge", "class_weight": {1: 2.0}, "max_time": np.inf},
        training={"stop_reason": "converged", "n_iter": 7, "solver": "dual"},
        data={"rows": 10, "sha256": "ab" * 32},
        history=_history(rng) if certified else {},
        path=_path(rng) if certified else {},
        feature_names=tuple(f"x{k} ü\n" for k in range(features)) if named else None,
        calibrators=tuple(_calibrator(rng, k) for k in range(lanes)) if calibrated else None,
    )


def _history(rng: np.random.Generator) -> dict[str, list[float]]:
    names = ("seconds", "epoch", "primal", "dual", "relative_gap", "worst_gap")
    return {name: rng.uniform(size=4).tolist() for name in names}


def _path(rng: np.random.Generator) -> dict[str, Any]:
    table = {"C": [0.1, 1.0], "mean": [0.5, np.nan], "error": rng.uniform(size=2).tolist()}
    return {**table, "chosen": 0, "scoring": "accuracy", "folds": 3}


def _calibrator(rng: np.random.Generator, lane: int) -> Calibrator:
    if lane % 2 == 0:
        return Sigmoid(-rng.uniform(0.5, 2), rng.standard_normal())
    return Isotonic(np.sort(rng.standard_normal(6)), np.sort(rng.uniform(size=6)))


def same(one: LinearModel, other: LinearModel) -> bool:
    """Whether two models are equal in every part, to the bit; ``steps`` by what they save."""
    dense = [model.coef.toarray() if sparse.issparse(model.coef) else model.coef
             for model in (one, other)]  # fmt: skip
    plain = (
        "scheme", "certificate", "parameters", "training", "data", "history", "path",
        "feature_names",
    )  # fmt: skip
    return (
        sparse.issparse(one.coef) == sparse.issparse(other.coef)
        and np.array_equal(*dense)
        and np.array_equal(one.intercept, other.intercept)
        and np.array_equal(one.classes, other.classes)
        and one.classes.dtype == other.classes.dtype
        and all(repr(getattr(one, name)) == repr(getattr(other, name)) for name in plain)
        and _bounds(one) == _bounds(other)
        and _curves(one) == _curves(other)
        and [step.kind for step in one.steps] == [step.kind for step in other.steps]
    )


def _bounds(model: LinearModel) -> list[Any]:
    proof = model.certificate
    return [] if proof is None else [
        np.asarray(bound).tolist() for bound in (proof.primal, proof.dual, proof.rounding)
    ]  # fmt: skip


def _curves(model: LinearModel) -> list[Any]:
    return [
        [type(one).__name__, *(np.asarray(value).tolist() for value in vars(one).values())]
        for one in model.calibrators or ()
    ]
