"""LinearSVC and LinearSVCCV with rows on a Dask cluster."""

from __future__ import annotations

import inspect
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pegasos.dask.predictions import by_chunks
from pegasos.estimators import cv, linear
from pegasos.estimators.base import LinearClassifier
from pegasos.estimators.classifier import has_probabilities, users_level
from pegasos.sites.cluster.client import DEFAULT_TIMEOUT, check_timeout, client_of
from pegasos.sites.cluster.placed import of_classes, on_cluster
from pegasos.sites.cluster.source import Source, is_collection, names_of, source_of
from pegasos.sites.placed import Dealt
from pegasos.tasks.offered import check_offered
from pegasos.tasks.path import Path
from pegasos.tasks.probability import method_of
from pegasos.tasks.training import PlacedTask, Training
from pegasos.util.arguments import whole


def like(local: type[LinearClassifier]) -> Any:
    """Constructors show the parameters of the local class, too: they are passed on to it."""

    def decorate(cls: type[LinearClassifier]) -> type[LinearClassifier]:
        init: Any = cls.__init__
        own = inspect.signature(init).parameters.values()
        theirs = inspect.signature(local.__init__).parameters.values()
        named = [p for p in own if p.kind is p.KEYWORD_ONLY]
        init.__signature__ = inspect.Signature([*theirs, *named])
        return cls

    return decorate


class ClusterClassifier(LinearClassifier):
    """What both share: options, the client, and predictions on collections."""

    client: Any
    timeout: float
    _local: type[LinearClassifier]  # the same on one machine
    _elsewhere = "on a cluster"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, but for the client: it can be neither copied nor saved."""
        found: dict[str, Any] = super().get_params(deep)
        found.pop("client", None)
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, the client too."""
        if "client" in params:
            self.client = params.pop("client")
        super().set_params(**params)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the client."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}

    def decision_function(self, X: Any) -> Any:
        """w.x + b; of a Dask collection a Dask array, computed where and when it is needed."""
        if not is_collection(X):
            return super().decision_function(X)
        check_is_fitted(self, "coef_")
        self._check_names(X)
        local = self._plain()
        count = len(self.classes_)
        columns = None if count == 2 else count
        return by_chunks(
            X, local.decision_function, np.empty((0,) * (1 if count == 2 else 2)), columns
        )

    def predict(self, X: Any) -> Any:
        """The class with the largest score; of a Dask collection a Dask array, lazily."""
        if not is_collection(X):
            return super().predict(X)
        check_is_fitted(self, "coef_")
        self._check_names(X)
        return by_chunks(X, self._plain().predict, self.classes_[:0], None)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """(n, classes); of a Dask collection a Dask array, lazily."""
        if not is_collection(X):
            return super().predict_proba(X)
        check_is_fitted(self, "calibrators_")
        self._check_names(X)
        plain, count = self._plain(), len(self.classes_)
        plain.set_params(probability=self.probability)
        plain.calibrators_ = self.calibrators_
        return by_chunks(X, plain.predict_proba, np.empty((0, 0)), count)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; of Dask collections, computed now."""
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        computed = [
            value.compute() if is_collection(value) else value
            for value in (self.predict(X), y, sample_weight)
        ]
        return float(np.average(computed[0] == np.asarray(computed[1]), weights=computed[2]))

    def _check_names(self, X: Any) -> None:
        """Raise if columns are not those trained on, in their order."""
        names, known = names_of(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != list(known):
            raise ValueError(
                "The feature names should match those that were passed during fit, in their order; "
                f"there are {', '.join(names[:5])}, ..., not {', '.join(known[:5])}, ..."
            )

    def to_local(self) -> Any:
        """The plain estimator of one machine, fitted: same parameters, same model and proof."""
        local = self._local()
        known = local.get_params()
        local.set_params(**{k: v for k, v in self.get_params().items() if k in known})
        for name, value in vars(self).items():
            fitted = name.endswith("_") and not name.startswith("__")
            if fitted or name in ("_labels", "_pairs"):
                setattr(local, name, value)
        return local

    def _plain(self) -> LinearClassifier:
        """Only what predicts: it travels with every chunk."""
        plain = linear.LinearSVC()
        for name in ("coef_", "intercept_", "classes_", "n_features_in_", "_labels", "_pairs"):
            setattr(plain, name, getattr(self, name))
        return plain

    def _on_cluster(
        self, stack: ExitStack, began: float, C: Any, lam: Any, source: Source, **given: Any
    ) -> tuple[Training, PlacedTask]:
        """The rows on the workers, for as long as ``stack``, and how to train on them."""
        check_offered("cluster", self, None, **given)
        training = self._training(stack, began, C, lam)
        timeout = check_timeout(self.timeout)
        opened = on_cluster(client_of(self.client), source, training.n_jobs, timeout)
        cluster = stack.enter_context(opened)
        options = replace(training.options, interruption=cluster.interruption)
        rows = of_classes(cluster)
        self.n_features_in_ = rows.features
        self._forget("feature_names_in_")
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        task = PlacedTask(rows, self.class_weight, self.multi_class)
        return replace(training, options=options), task


@like(linear.LinearSVC)
class LinearSVC(ClusterClassifier, linear.LinearSVC):
    """``pegasos.LinearSVC`` on a Dask cluster: rows stay on their workers.

    Parameters
    ----------
    timeout : seconds without a sign of life after which a worker is given up, and its rows are
        computed again on others.
    client : a ``dask.distributed.Client``; None takes the default one. It is no part of
        ``get_params``, and is neither copied nor saved.
    n_jobs : threads of a worker's tasks; None: as many as the worker has.
    C, lam, loss, ... : as in ``pegasos.LinearSVC``; the solvers are ``"auto"``, ``"dual"``,
        ``"newton"`` and ``"interior"``. An iteration of ``dual`` is a round: the weights go to all
        workers, and their changes come back. Not offered are ``multi_class="crammer_singer"``,
        ``warm_start``, ``prune``, checkpoints and ``device``: the error says so.

    ``fit`` takes Dask arrays (dense, or of CSR chunks), data frames, or delayed parts. A worker
    that is killed, stopped or cut off costs a few rounds: its rows are computed again elsewhere.
    Where they cannot be, ``fit`` raises ``pegasos.dask.ClusterError``, and the attributes hold the
    model that was certified last. Workers that join are given rows.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, history_, n_iter_, stop_reason_, ... : as in
        ``pegasos.LinearSVC``.
    """

    _local = linear.LinearSVC

    def __init__(
        self, *, timeout: float = DEFAULT_TIMEOUT, client: Any = None, **parameters: Any
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        super().__init__(**parameters)
        self.timeout = timeout
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, eval_set: Any = None) -> Self:
        """Train on Dask collections, or on a list of delayed (X, y) or (X, y, weight) parts."""
        began = time.perf_counter()
        with ExitStack() as stack:
            source = source_of(X, y, sample_weight)
            method = method_of(self.probability)
            training, task = self._on_cluster(
                stack, began, self.C, self.lam, source, eval_set=eval_set
            )
            self._learn(training, task, method)
        if task.error is not None:
            raise task.error
        return self


@like(cv.LinearSVCCV)
class LinearSVCCV(ClusterClassifier, cv.LinearSVCCV):
    """``LinearSVC`` on a cluster, with C chosen by cross-validation there.

    All folds are lanes of the same rounds; each C starts from the duals of the one before. Rows are
    dealt to folds at random within each class, on the workers that hold them.

    Parameters
    ----------
    cv : number of folds.
    timeout, client, n_jobs : as in ``LinearSVC``.
    Cs, rule, refit, loss, ... : as in ``pegasos.LinearSVCCV``; scores are accuracies.

    Attributes
    ----------
    C_, best_score_, best_index_, Cs_, scores_, path_, cv_results_ : as in
        ``pegasos.LinearSVCCV``; an epoch of ``path_`` is a round.
    coef_, intercept_, certificate_, ... : of the fit on all rows at C_.
    """

    _local = cv.LinearSVCCV

    def __init__(
        self, *, timeout: float = DEFAULT_TIMEOUT, client: Any = None, **parameters: Any
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        super().__init__(**parameters)
        self.timeout = timeout
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Choose C, then train on all rows with it."""
        began = time.perf_counter()
        if params:
            raise ValueError(
                f"fit got {', '.join(params)}: folds and scores on a cluster take none"
            )
        Cs = cv.strengths(self.Cs)
        folds = whole("cv", self.cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, got {self.cv}")
        self._check_rule()
        with ExitStack() as stack:
            source = source_of(X, y, sample_weight)
            training, task = self._on_cluster(stack, began, float(Cs[0]), None, source)
            self._pick(training, task, Cs, Dealt(folds, training.options.seed))
        if task.error is not None:
            raise task.error
        return self

    def _refits(self, path: Path) -> bool:
        if path.ended is not None:
            warnings.warn(
                f"The path over C stopped ({path.ended}) before its end: the best of the C that "
                "were tried is taken.",
                ConvergenceWarning,
                stacklevel=users_level(),
            )
        return self.refit and path.ended != "interrupted"
