"""From rows to a model, without scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.cli.arguments import FitArguments
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.reading import classes_of
from pegasos.cli.say import class_name
from pegasos.data.dataset import Data
from pegasos.model.linear import LinearModel, Scheme
from pegasos.run.outcome import Outcome
from pegasos.sites import Blocks
from pegasos.steps import Step
from pegasos.tasks.lanes import check_classes_weigh
from pegasos.tasks.multilabel import train_labels
from pegasos.tasks.options import checked_training
from pegasos.tasks.training import Task, Training, train
from pegasos.util import sparse
from pegasos.util.arguments import check_sample_weight
from pegasos.util.checksums import of_rows


@dataclass(frozen=True)
class Fitted:
    """A model, and the run that made it."""

    model: LinearModel
    outcome: Outcome


def training_of(
    given: FitArguments,
    C: float | None,
    lam: float | None,
    began: float,
    callbacks: Sequence[Callable[..., Any]] = (),
) -> Training:
    """The options, checked."""
    if C is not None and lam is not None:
        raise UsageError("--C and --lam exclude each other: give one")
    for name, value in (("--C", C), ("--lam", lam)):
        if value is not None and not 0 < value < np.inf:
            raise UsageError(f"{name} must be finite and positive, got {value}")
    try:
        return checked_training(
            C=1.0 if C is None else C,
            lam=lam,
            loss=given.loss,
            solver=given.solver,
            tol=given.tol,
            intercept=given.intercept,
            fit_intercept=True,
            intercept_scaling=1.0,
            multi_class=given.multi_class,
            max_iter=given.max_iter,
            max_time=given.max_time,
            seed=given.seed,
            n_jobs=given.threads,
            callbacks=tuple(callbacks),
            began=began,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def task_of(data: Data, given: FitArguments) -> Task:
    """Rows and the class of each."""
    if data.y is None:
        raise CommandError("the data have no labels to train on")
    if data.y.ndim == 2:
        raise CommandError("this takes classes, not rows with several labels")
    classes, codes = classes_of(data.y)
    if classes.size < 2:
        raise CommandError(
            f"all rows are of class {class_name(classes[0])}: a classifier needs at least two"
        )
    weight = weights_of(data)
    if weight is not None:
        check_classes_weigh(classes, codes, weight)
    class_weight = class_weights_of(given.class_weight, classes)
    return Task(data.X, classes, codes, weight, class_weight, given.multi_class)


def weights_of(data: Data) -> Floats | None:
    """The sample weights as (n, 1), checked; None without any."""
    return None if data.sample_weight is None else check_sample_weight(data.sample_weight, data.n)


def class_weights_of(given: list[str] | None, classes: Any) -> dict[Any, float] | str | None:
    """LABEL=WEIGHT as ``class_weight``."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    known = {class_name(value): value for value in classes}
    weights: dict[Any, float] = {}
    for text in given:
        label, equals, weight = text.rpartition("=")
        try:
            number = float(weight)
        except ValueError:
            number = -1.0
        if not equals or not 0 <= number < np.inf:
            raise UsageError(f"--class-weight {text}: write LABEL=WEIGHT, the weight a number")
        if label not in known:
            raise CommandError(
                f"--class-weight {text}: there is no class {label}; there are "
                f"{', '.join(list(known)[:10])}"
            )
        weights[known[label].item()] = number
    return weights


def fit(
    training: Training,
    data: Data,
    given: FitArguments,
    steps: tuple[Step, ...],
    columns: dict[str, Any],
) -> Fitted:
    """Train on prepared rows; ``columns`` say where text and labels came from."""
    if data.y is not None and data.y.ndim == 2:
        fitted = _fit_labels(training, data, given)
    else:
        task = task_of(data, given)
        outcome = train(training, task)
        scheme: Scheme = "ovo" if task.pairs else "crammer_singer" if task.joint else "ovr"
        parameters = parameters_of(training, given, task.class_weight)
        fitted = fitted_of(
            training.options.tol, outcome, outcome.W[:-1].T, task.classes, scheme, parameters
        )
    about = fingerprint(data) | columns
    if data.first_index == 0:
        about["first_index"] = 0  # to read new rows in the same way
    model = replace(fitted.model, data=about, feature_names=data.feature_names, steps=steps)
    return replace(fitted, model=model)


def _fit_labels(training: Training, data: Data, given: FitArguments) -> Fitted:
    if given.multi_class != "ovr":
        raise CommandError(f"--multi-class {given.multi_class} is for classes, not for labels")
    class_weight = class_weights_of(given.class_weight, np.array([0, 1]))
    indicator = sparse.csc_matrix(data.y)
    found = train_labels(training, data.X, indicator, weights_of(data), class_weight, None)
    names = np.arange(data.y.shape[1]) if data.label_names is None else data.label_names
    parameters = parameters_of(training, given, class_weight)
    return fitted_of(training.options.tol, found.outcome, found.coef, names, "labels", parameters)


def fitted_of(
    tol: float,
    outcome: Outcome,
    coef: Any,
    classes: Any,
    scheme: Scheme,
    parameters: dict[str, Any],
) -> Fitted:
    """The model that a run gave."""
    proven = bool(np.all(outcome.certificate.proves(tol)))
    model = LinearModel(
        coef=coef,
        intercept=outcome.b,
        classes=classes,
        scheme=scheme,
        certificate=outcome.certificate,
        parameters=parameters,
        training={
            "stop_reason": "converged" if proven else outcome.stop_reason,
            "solver": outcome.solver.name,
            "solver_reason": outcome.reason,
            "epochs": float(outcome.epochs),
            "seconds": float(outcome.seconds),
        },
        history=outcome.history.kept(),
    )
    return Fitted(model, outcome)


def parameters_of(training: Training, given: FitArguments, class_weight: Any) -> dict[str, Any]:
    """What a model file keeps of the options: enough to state the problem again."""
    return {
        "C": training.C,
        "lam": training.lam,
        "loss": training.loss.name,
        "solver": given.solver,
        "tol": training.options.tol,
        "intercept": training.intercept,
        "intercept_scaling": training.intercept_scaling,
        "multi_class": given.multi_class,
        "class_weight": class_weight,
    }


def fingerprint(data: Data) -> dict[str, Any]:
    """The shape of the training rows, and a checksum over all of them."""
    X = data.X
    if isinstance(X, Blocks):
        return {"rows": X.shape[0], "features": X.shape[1], "values": X.size}
    values = int(X.nnz if sparse.issparse(X) else X.size)
    return {"rows": X.shape[0], "features": X.shape[1], "values": values, "crc32": of_rows(X)}
