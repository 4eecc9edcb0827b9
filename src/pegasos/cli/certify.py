"""``pegasos certify``: bounds on how far from the optimum a given model is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats, relative_gap
from pegasos.certificate import certify as certify_problem
from pegasos.cli.arguments import FitArguments
from pegasos.cli.commands import Certify
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, CommandError
from pegasos.cli.fitting import check_strength, checked, weights_of
from pegasos.cli.predict import as_wide
from pegasos.cli.reading import describe, options_like
from pegasos.cli.say import Voice, class_name, percent, worst
from pegasos.crammer_singer import certify_joint
from pegasos.data import read as read_data
from pegasos.data.dataset import Data
from pegasos.export import read_any
from pegasos.model.linear import LinearModel
from pegasos.problem import Problem
from pegasos.report.scored import codes_among
from pegasos.tasks.training import Task, Training
from pegasos.util import sparse

_FIRST_TOL, _LAST_TOL = 1e-3, 1e-8
_TIGHT = 0.1  # bounds within this share of each other settle the question


@dataclass(frozen=True)
class Bounds:
    """Of the weight vector that is worst off."""

    at_most: float  # P / D - 1: so far above the optimum, at most
    at_least: float  # P / P of our solution - 1: so far at least
    primal: float
    dual: float
    rounding: float  # of the ratio
    interrupted: bool = False  # before the bounds were tight


def certify(voice: Voice, given: Certify) -> int:
    """Prove how far from optimal a model is on these rows."""
    model = read_any(given.model)
    training = stated(model, given)
    options = options_like(model, given.data, given.read, labels=True, n_jobs=given.threads)
    rows = model.prepared(read_data(given.data, options, light=True))
    describe(voice, given.data, rows)
    bounds = bounds_of(model, rows, as_wide(rows.X, model.features), training, given.tol)
    tell(voice, model, bounds)
    if bounds.interrupted:
        return INTERRUPTED
    return CERTIFIED if given.tol is None or bounds.at_most <= given.tol else ABOVE_TOL


def tell(voice: Voice, model: LinearModel, bounds: Bounds) -> None:
    """What is proven; and whether it agrees with what the file says."""
    if bounds.at_most > 1:
        words = f"at most {1 + bounds.at_most:.3g} times the best possible objective"
    else:
        words = f"within {percent(bounds.at_most)} of the best possible objective"
    better = f", and at least {percent(bounds.at_least)} above it" if bounds.at_least > 0 else ""
    voice.tell(f"the model is proven {words}{better}")
    voice.result(relative_gap=bounds.at_most, at_least=bounds.at_least)
    voice.result(primal=bounds.primal, dual=bounds.dual)
    if model.certificate is None:
        return
    recorded = worst(model.certificate)
    confirmed = bounds.at_most <= recorded + bounds.rounding
    voice.result(recorded_gap=recorded, confirmed=confirmed)
    if not confirmed:
        voice.tell(
            f"the file says within {percent(recorded)}: that was another problem, or other rows"
        )


def stated(model: LinearModel, given: Certify) -> Training:
    """The problem that the model is a solution of: as its file says, or the options."""
    check_strength(given)
    known, C, lam = model.parameters, given.C, given.lam
    if C is None and lam is None:
        C, lam = known.get("C"), known.get("lam")
        if C is None and lam is None:
            raise CommandError("the file does not say what C was: give --C or --lam")
    mode = given.intercept or model.training.get("intercept") or known.get("intercept")
    if mode in (None, "auto"):
        mode = "free" if np.any(model.intercept) else "none"
    if mode == "none" and np.any(model.intercept):
        raise CommandError("the model has an intercept: --intercept free or regularized")
    options = FitArguments(
        loss=given.loss or known.get("loss") or "hinge",
        tol=_FIRST_TOL,
        intercept=mode,
        multi_class="crammer_singer" if model.scheme == "crammer_singer" else "ovr",
        max_time=given.max_time,
        threads=given.threads,
    )
    return checked(options, C, lam, intercept_scaling=known.get("intercept_scaling") or 1.0)


def bounds_of(
    model: LinearModel, data: Data, X: Any, training: Training, tol: float | None
) -> Bounds:
    """Train on the same problem until it is clear how good the model is."""
    coef = model.coef.toarray() if sparse.issparse(model.coef) else np.asarray(model.coef)
    found: list[Bounds] = []
    for problem, lanes in _problems(model, data, X, training):
        given = _certified(problem, coef[lanes], model.intercept[lanes])
        duals, precision = None, _FIRST_TOL
        while True:
            step = replace(training.options, tol=precision, start_duals=duals, keep_duals=True)
            outcome = replace(training, options=step).run(problem)
            bounds = _worst(given, outcome.certificate)
            duals = outcome.duals
            settled = bounds.at_most - bounds.at_least <= _TIGHT * bounds.at_most
            settled = settled or (tol is not None and bounds.at_most <= tol)
            stopped = outcome.stop_reason in ("max_time", "interrupted")
            if settled or stopped or precision <= _LAST_TOL:
                asked = outcome.stop_reason == "interrupted"
                bounds = replace(bounds, interrupted=asked and not settled)
                break
            precision /= 10
        found.append(bounds)
        if bounds.interrupted:
            break
    return max(found, key=lambda one: one.at_most)


def _certified(problem: Problem, coef: Floats, intercept: Floats) -> Certificate:
    """The objective of the model as it is."""
    W = np.zeros(problem.weights_shape)
    W[:-1, : problem.lanes] = coef.T
    if problem.intercept == "regularized":
        W[-1, : problem.lanes] = intercept / problem.bias

    def no_duals(lo: int, hi: int) -> Floats:
        return np.zeros((hi - lo, problem.lanes))

    if problem.joint:
        proof = certify_joint(problem, W, intercept, no_duals)
    else:
        proof = certify_problem(problem, W, intercept, no_duals, as_is=True)
    assert proof is not None  # nobody gives up
    return proof[0]


def _worst(given: Certificate, ours: Certificate) -> Bounds:
    primal, dual = np.atleast_1d(given.primal), np.atleast_1d(ours.dual)
    best = np.minimum(np.atleast_1d(ours.primal), primal)
    at_most = relative_gap(primal, dual)
    at_least = np.maximum(relative_gap(primal, best), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding = (np.atleast_1d(given.rounding) + np.atleast_1d(ours.rounding)) / dual
    k = int(np.argmax(at_most))
    return Bounds(
        float(at_most[k]), float(at_least[k]), float(primal[k]), float(dual[k]), float(rounding[k])
    )


def _problems(
    model: LinearModel, data: Data, X: Any, training: Training
) -> Iterator[tuple[Problem, Any]]:
    """The problems that the model's weights solve, and the lanes of each."""
    weight = weights_of(data)
    class_weight = model.parameters.get("class_weight")
    if model.scheme == "labels":
        if class_weight is not None:
            raise CommandError("class weights of labels cannot be certified yet")
        yield from _labels(model, data, X, training, weight)
        return
    codes = _codes(model, data.y)
    scheme = str(model.parameters.get("multi_class") or model.scheme)
    task = Task(X, model.classes, codes, weight, class_weight, scheme)
    if task.pairs:
        for lane, (i, j) in enumerate(task.pairs):
            yield task.of_pair(i, j).problem(training), np.array([lane])
        return
    problem = task.problem(training.for_strength(task.strength))
    if task.joint:
        yield problem, np.arange(model.lanes)
        return
    for lane in range(model.lanes):
        yield problem.take(np.array([lane])), np.array([lane])


def _labels(
    model: LinearModel, data: Data, X: Any, training: Training, weight: Floats | None
) -> Iterator[tuple[Problem, Any]]:
    """Those labels that some rows have and some have not."""
    names = data.label_names if data.label_names is not None else np.arange(data.y.shape[1])
    places = codes_among([class_name(name) for name in names], model.classes)
    for lane, place in enumerate(places.tolist()):
        if place < 0:
            continue
        ones = np.asarray(data.y[:, [place]].todense())[:, 0] > 0
        if ones.all() or not ones.any():
            continue
        labels = np.where(ones, 1, -1).astype(np.int8)[:, None]
        one = np.ones(1)
        yield training.problem(X, labels, one, one, weight), np.array([lane])


def _codes(model: LinearModel, y: Any) -> Any:
    """The class of each row, in the model's order."""
    if y is None or y.ndim != 1:
        raise CommandError("the rows need a class each")
    codes = codes_among([class_name(value) for value in model.classes], y)
    missing = y[codes < 0]
    if missing.size:
        raise CommandError(
            f"the model does not know class {class_name(np.unique(missing)[0])}: these are not the "
            "rows it was trained on"
        )
    return codes
