"""Estimators as models that files hold, and back: ``pegasos.save`` and ``pegasos.load``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from pegasos.data.dataset import Data
from pegasos.estimators.base import LinearClassifier
from pegasos.estimators.cv import LinearSVCCV
from pegasos.estimators.linear import LinearSVC
from pegasos.losses import Loss
from pegasos.model import file as model_file
from pegasos.model.file.options import allowed
from pegasos.model.file.plain import dumps, from_plain, to_plain
from pegasos.model.linear import LinearModel, Scheme
from pegasos.run.history import History
from pegasos.solvers import SOLVERS, CrammerSinger, Solver
from pegasos.steps import Step
from pegasos.tasks.probability import Sigmoid
from pegasos.util.devices import to_host

_MOST_OF_A_PARAMETER = 1 << 16  # bytes as JSON; a longer one is not saved
_FITTED = (
    "stop_reason_", "solver_reason_", "n_iter_", "best_epoch_", "best_validation_score_",
)  # fmt: skip


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Save a fitted ``LinearSVC`` or ``LinearSVCCV``, a ``LinearModel``, or what ``load`` gave.

    The file appears whole or not at all; without ``overwrite`` an existing one raises
    FileExistsError. Of the history of the fit the largest gaps are saved, of a path over C the mean
    scores: for reports. Not saved are the duals, and parameters that are neither numbers nor text:
    callbacks, random states, the options of a configured solver.
    """
    model_file.write(to_model(model), path, overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> LinearSVC | Pipeline:
    """A fitted ``LinearSVC``; after steps of the command line (text, scaling) a ``Pipeline``.

    Nothing in the file is executed. A file that is damaged, of another kind or of a newer format
    raises ``pegasos.ModelFileError``, which says what is wrong.
    """
    return to_estimator(model_file.read(path))


_OF_THE_FIT = ("checkpoint", "checkpoint_every", "resume")  # paths of the machine it ran on


def to_model(model: Any) -> LinearModel:
    """The model of a fitted estimator."""
    if isinstance(model, LinearModel):
        return model
    steps: tuple[Any, ...] = ()
    if isinstance(model, Pipeline):
        *before, model = (step for _, step in model.steps)
        if not all(isinstance(one, StepTransformer) for one in before):
            raise TypeError("of pipelines, only those that pegasos.load returned can be saved")
        steps = tuple(one.step for one in before)
    if not isinstance(model, LinearClassifier):
        raise TypeError(
            f"model must be a LinearSVC, a LinearSVCCV or a LinearModel, got {type(model).__name__}"
        )
    check_is_fitted(model, "coef_")
    parameters, dropped = _parameters(model)
    fitted = vars(model)
    training = {n.rstrip("_"): to_plain(fitted[n]) for n in _FITTED if n in fitted}
    with suppress(ValueError, TypeError):  # options that changed since the fit
        training["intercept"] = model._training(ExitStack(), 0.0, 1.0, None).intercept
    solver = getattr(model, "solver_", None)
    if solver is not None:  # a text, if it comes from a file
        training["solver"] = solver.name if isinstance(solver, Solver) else solver
        training["solver_options"] = repr(solver)
    if "_rows" in fitted:
        training["rows"] = fitted["_rows"]
    if model._labels is not None:
        training["labels"] = model._labels
    if dropped:
        training["not_saved"] = dropped
    names = getattr(model, "feature_names_in_", None)
    calibrators = getattr(model, "calibrators_", None)
    return LinearModel(
        coef=to_host(model.coef_), intercept=to_host(model.intercept_), classes=model.classes_,
        scheme=_scheme(model), certificate=getattr(model, "certificate_", None),
        parameters=parameters, training=training, history=_history(model), path=_path(model),
        feature_names=None if names is None else tuple(map(str, names)),
        calibrators=None if calibrators is None else tuple(calibrators), steps=steps,
    )  # fmt: skip


def to_estimator(model: LinearModel) -> LinearSVC | Pipeline:
    """The model as a fitted ``LinearSVC``, after transformers if it has steps."""
    known = LinearSVC().get_params(deep=False)
    estimator = LinearSVC(**{k: v for k, v in model.parameters.items() if k in known})
    if model.scheme != "labels" and "multi_class" not in model.parameters:
        estimator.multi_class = model.scheme
    estimator.coef_, estimator.intercept_ = model.coef, model.intercept
    estimator.classes_, estimator.n_features_in_ = model.classes, model.features
    estimator._pairs = model.scheme == "ovo" and model.classes.size > 2
    if model.scheme == "labels":
        estimator._labels = "dense" if model.training.get("labels") == "dense" else "sparse"
    if model.certificate is not None:
        estimator.certificate_ = model.certificate
        estimator.dual_gap_ = model.certificate.gap
        estimator.objective_ = model.certificate.primal
    estimator.history_ = History([])
    estimator._kept = {"history": model.history, "path": model.path}
    for name in _FITTED:
        if name.rstrip("_") in model.training:
            setattr(estimator, name, model.training[name.rstrip("_")])
    if "epochs" in model.training and "n_iter" not in model.training:
        estimator.n_iter_ = max(1, int(np.ceil(model.training["epochs"])))
    rows = model.training.get("rows", model.data.get("rows"))
    if type(rows) is int and rows > 0:
        estimator._rows = rows
    if "solver" in model.training:
        estimator.solver_ = _solver(model.training)
    if model.calibrators is not None:
        estimator.calibrators_ = list(model.calibrators)
        if not estimator.probability:
            smooth = all(isinstance(one, Sigmoid) for one in model.calibrators)
            estimator.probability = "sigmoid" if smooth else "isotonic"
    if not model.steps:
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return estimator
    return make_pipeline(*(StepTransformer(step) for step in model.steps), estimator)


def _history(model: LinearClassifier) -> Mapping[str, Any]:
    """That of the fit, or what a file had of it."""
    history = getattr(model, "history_", None)
    return history.kept() if history and history.records else model._kept.get("history", {})


def _path(model: LinearClassifier) -> Mapping[str, Any]:
    if not hasattr(model, "path_"):
        return model._kept.get("path", {})
    scoring = getattr(model, "scoring", None)
    name = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
    return dict(model.path_.kept(model.best_index_, name))


def _scheme(model: LinearClassifier) -> Scheme:
    if model._labels is not None:
        return "labels"
    if model._pairs:
        return "ovo"
    joint = model.multi_class == "crammer_singer" and len(model.classes_) > 2
    return "crammer_singer" if joint else "ovr"


def _solver(training: Mapping[str, Any]) -> Any:
    """The solver that was at work; its name, if it had other options than usual."""
    kinds: dict[str, type[Solver]] = {**SOLVERS, CrammerSinger.name: CrammerSinger}
    name = training["solver"]
    usual = kinds[name]() if name in kinds else None
    return usual if repr(usual) == training.get("solver_options") else name


def _parameters(model: LinearClassifier) -> tuple[dict[str, Any], dict[str, str]]:
    """Those a LinearSVC has, and what is lost of them."""
    given = model.get_params(deep=False)
    if isinstance(model, LinearSVCCV):
        given["C"] = model.C_
    kept, dropped = {}, {}
    for name in LinearSVC().get_params(deep=False):
        if name not in given or name in _OF_THE_FIT:
            continue
        value = given[name]
        if name == "callbacks":
            if value:
                dropped[name] = f"{len(value)} functions"
            continue
        if isinstance(value, Solver):
            dropped["solver"] = repr(value)[:200]
            value = value.name
        if isinstance(value, Loss):
            value = value.name
        try:
            if len(dumps(to_plain(value))) > _MOST_OF_A_PARAMETER:
                raise TypeError("too long")
            if not allowed(name, from_plain(to_plain(value))):
                raise TypeError("no fit takes it")
            kept[name] = value
        except TypeError:
            dropped[name] = repr(value)[:200]
    return kept, dropped


class StepTransformer(TransformerMixin, BaseEstimator):
    """A step that was learned before: it only transforms."""

    def __init__(self, step: Step) -> None:
        """Keep the step."""
        self.step = step

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Nothing is learned any more."""
        return self

    def transform(self, X: Any) -> Any:
        """Rows (n, d), an array or CSR; or n texts, where the step begins with text."""
        if isinstance(X, str):
            raise ValueError("X is one text: give a list of texts")
        if sparse.issparse(X) or np.ndim(X) == 2:
            return self.step.apply(Data(X=check_array(X, accept_sparse="csr"))).X
        texts = list(X)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("X must be rows (n, features), or a list of texts")
        return self.step.apply(Data(X=None, text=texts)).X

    def __sklearn_is_fitted__(self) -> bool:
        """It always is."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Sparse rows and texts are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags
