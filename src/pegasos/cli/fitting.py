"""From rows to a model, without scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.cli.arguments import FitArguments
from pegasos.cli.commands import Certify, Train
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, CommandError, UsageError
from pegasos.cli.reading import Prepared, classes_of
from pegasos.cli.say import class_name
from pegasos.data.dataset import Data
from pegasos.model.linear import LinearModel, Scheme
from pegasos.run.outcome import Outcome
from pegasos.sites import Blocks
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

    def having(self, **fields: Any) -> Fitted:
        """The same, with fields of the model replaced."""
        return replace(self, model=replace(self.model, **fields))

    @property
    def code(self) -> int:
        """The exit code."""
        if self.model.training["stop_reason"] == "converged":
            return CERTIFIED
        return INTERRUPTED if self.outcome.stop_reason == "interrupted" else ABOVE_TOL


def training_of(job: Train, callbacks: Sequence[Callable[..., Any]] = ()) -> Training:
    """The options, checked; time counts from now."""
    check_strength(job)
    for name, value in (("--C", job.C), ("--lam", job.lam)):
        if value is not None and not 0 < value < np.inf:
            raise UsageError(f"{name} must be finite and positive, got {value}")
    try:
        return checked(job.fit, 1.0 if job.C is None else job.C, job.lam, callbacks=callbacks)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_strength(given: Train | Certify) -> None:
    """Raise UsageError where both C and lam are given."""
    if given.C is not None and given.lam is not None:
        raise UsageError("--C and --lam exclude each other: give one")


def checked(given: FitArguments, C: float | None, lam: float | None, **more: Any) -> Training:
    """The options as ``checked_training`` takes them, and ``more``; raises ValueError."""
    options: dict[str, Any] = {"intercept_scaling": 1.0, "callbacks": ()} | asdict(given) | more
    del options["class_weight"]  # which needs the classes
    options["n_jobs"] = options.pop("threads")
    return checked_training(C=C, lam=lam, fit_intercept=True, began=time.perf_counter(), **options)


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


def fit(training: Training, given: FitArguments, rows: Prepared) -> Fitted:
    """Train on prepared rows."""
    data = rows.data
    if data.y is not None and data.y.ndim == 2:
        fitted = _fit_labels(training, data, given)
    else:
        task = task_of(data, given)
        outcome = train(training, task)
        scheme: Scheme = "ovo" if task.pairs else "crammer_singer" if task.joint else "ovr"
        coef = outcome.W[:-1].T
        fitted = fitted_of(training, given, outcome, coef, task.classes, scheme, task.class_weight)
    about = fingerprint(data) | rows.columns
    if data.first_index == 0:
        about["first_index"] = 0  # to read new rows in the same way
    return fitted.having(data=about, feature_names=data.feature_names, steps=rows.steps)


def _fit_labels(training: Training, data: Data, given: FitArguments) -> Fitted:
    if given.multi_class != "ovr":
        raise CommandError(f"--multi-class {given.multi_class} is for classes, not for labels")
    class_weight = class_weights_of(given.class_weight, np.array([0, 1]))
    indicator = sparse.csc_matrix(data.y)
    found = train_labels(training, data.X, indicator, weights_of(data), class_weight, None)
    names = np.arange(data.y.shape[1]) if data.label_names is None else data.label_names
    return fitted_of(training, given, found.outcome, found.coef, names, "labels", class_weight)


def fitted_of(
    training: Training,
    given: FitArguments,
    outcome: Outcome,
    coef: Any,
    classes: Any,
    scheme: Scheme,
    class_weight: Any,
) -> Fitted:
    """The model that a run gave; of the options it keeps enough to state the problem again."""
    proven = bool(np.all(outcome.certificate.proves(training.options.tol)))
    model = LinearModel(
        coef=coef,
        intercept=outcome.b,
        classes=classes,
        scheme=scheme,
        certificate=outcome.certificate,
        parameters={
            "C": training.C,
            "lam": training.lam,
            "loss": training.loss.name,
            "solver": given.solver,
            "tol": training.options.tol,
            "intercept": training.intercept,
            "intercept_scaling": training.intercept_scaling,
            "multi_class": given.multi_class,
            "class_weight": class_weight,
        },
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


def fingerprint(data: Data) -> dict[str, Any]:
    """The shape of the training rows, and a checksum over all of them."""
    X = data.X
    values = int(X.nnz if sparse.issparse(X) else X.size)
    about = {"rows": X.shape[0], "features": X.shape[1], "values": values}
    return about if isinstance(X, Blocks) else about | {"crc32": of_rows(X)}
