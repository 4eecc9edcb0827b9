"""LinearSVC and LinearSVCCV with rows on a Dask cluster."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pegasos.arguments import whole
from pegasos.dask.fitting import Fitted, on_cluster, train_on_cluster
from pegasos.dask.path import cross_validate_on_cluster
from pegasos.dask.predictions import by_chunks
from pegasos.estimators import cv, linear
from pegasos.estimators.base import LinearClassifier
from pegasos.estimators.classifier import users_level
from pegasos.sites.cluster.client import DEFAULT_TIMEOUT, check_timeout, client_of
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.source import Source, is_collection, names_of, source_of
from pegasos.solvers import Solver
from pegasos.tasks.training import Training


class ClusterClassifier(LinearClassifier):
    """What both share: options, the client, and predictions on collections."""

    client: Any
    timeout: float
    multi_class = "ovr"  # no parameter: there is no other here
    _local: type[LinearClassifier]  # the same on one machine

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

    def _on_cluster(self, stack: ExitStack, training: Training, source: Source) -> Cluster:
        """The rows on the workers, for as long as ``stack``."""
        timeout = check_timeout(self.timeout)
        return stack.enter_context(on_cluster(client_of(self.client), source, training, timeout))

    def _keep(self, fitted: Fitted, source: Source) -> None:
        """Store the model; raise if the cluster failed, after the last certified one is kept."""
        assert fitted.classes is not None
        self.classes_, self._labels, self._pairs = fitted.classes, None, False
        self.n_features_in_ = fitted.rows.d
        self._forget("feature_names_in_")
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._store_calibrators(None)
        self._store(fitted.outcome, warn=fitted.error is None)
        if fitted.error is not None:
            raise fitted.error


class LinearSVC(ClusterClassifier):
    """``pegasos.LinearSVC`` on a Dask cluster: rows stay on their workers.

    Parameters
    ----------
    C, lam, loss, solver, tol, intercept, fit_intercept, intercept_scaling, class_weight,
    max_iter, max_time, random_state, callbacks, verbose : as in ``pegasos.LinearSVC``; the
        solvers are ``"auto"``, ``"dual"``, ``"newton"`` and ``"interior"``. More than two classes
        are trained each against the rest. An iteration of ``dual`` is a round: the weights go to
        all workers, and their changes come back.
    n_jobs : threads of a worker's tasks; None: as many as the worker has.
    timeout : seconds without a sign of life after which a worker is given up, and its rows are
        computed again on others.
    client : a ``dask.distributed.Client``; None takes the default one. It is no part of
        ``get_params``, and is neither copied nor saved.

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
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "none", "regularized", "free"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        max_iter: float | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
        timeout: float = DEFAULT_TIMEOUT,
        client: Any = None,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self.C = C
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.intercept = intercept
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose
        self.timeout = timeout
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on Dask collections, or on a list of delayed (X, y) or (X, y, weight) parts."""
        began = time.perf_counter()
        with ExitStack() as stack:
            training = self._options(stack, began, self.C, self.lam)
            source = source_of(X, y, sample_weight)
            cluster = self._on_cluster(stack, training, source)
            fitted = train_on_cluster(cluster, training, self.class_weight)
        self._keep(fitted, source)
        return self


class LinearSVCCV(ClusterClassifier, cv.ChoosesC):
    """``LinearSVC`` on a cluster, with C chosen by cross-validation there.

    All folds are lanes of the same rounds; each C starts from the duals of the one before. Rows are
    dealt to folds at random within each class, on the workers that hold them.

    Parameters
    ----------
    Cs : values of C; a number of them is that many from 1e-4 to 1e4, evenly in their logarithms.
    cv : number of folds.
    refit : False leaves the fit on all rows out.
    rule : ``"best"`` mean accuracy, or ``"one_se"``: the smallest C within one standard error.
    loss, solver, tol, ..., timeout, client : as in ``LinearSVC``.

    Attributes
    ----------
    C_, best_score_, best_index_, Cs_, scores_, path_, cv_results_ : as in
        ``pegasos.LinearSVCCV``; scores are accuracies, an epoch of ``path_`` is a round, and it has
        no coefficients.
    coef_, intercept_, certificate_, ... : of the fit on all rows at C_.
    """

    _local = cv.LinearSVCCV

    def __init__(
        self,
        *,
        Cs: Any = 10,
        cv: int = 5,
        refit: bool = True,
        rule: Literal["best", "one_se"] = "best",
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "none", "regularized", "free"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        max_iter: float | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
        timeout: float = DEFAULT_TIMEOUT,
        client: Any = None,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self.Cs = Cs
        self.cv = cv
        self.refit = refit
        self.rule = rule
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.intercept = intercept
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose
        self.timeout = timeout
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose C, then train on all rows with it."""
        began = time.perf_counter()
        Cs = cv.strengths(self.Cs)
        folds = whole("cv", self.cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, got {self.cv}")
        self._check_rule()
        with ExitStack() as stack:
            training = self._options(stack, began, float(Cs[0]), None)
            source = source_of(X, y, sample_weight)
            cluster = self._on_cluster(stack, training, source)
            some = cv.hurried(training)
            path, error = cross_validate_on_cluster(cluster, some, Cs, folds, self.class_weight)
            self.path_, self.Cs_, self.scores_ = path, path.C, path.scores
            if error is not None:
                raise error
            self._store_path(path, self._choose(path))
            if path.ended is not None:
                warnings.warn(
                    f"The path over C stopped ({path.ended}) before its end: {self.C_:g} is the "
                    "best of those that were tried.",
                    ConvergenceWarning,
                    stacklevel=users_level(),
                )
            if not self.refit or path.ended == "interrupted":
                return self
            at_best = replace(training, C=self.C_)
            fitted = train_on_cluster(cluster, at_best, self.class_weight)
        self._keep(fitted, source)
        return self
