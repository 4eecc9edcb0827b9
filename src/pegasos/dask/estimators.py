"""LinearSVC and LinearSVCCV with rows on a Dask cluster."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pegasos.estimators import cv, linear
from pegasos.estimators.base import LinearClassifier
from pegasos.estimators.classifier import has_probabilities, users_level
from pegasos.estimators.validation import checked_set
from pegasos.run.outcome import Outcome
from pegasos.sites.cluster.cluster import on_cluster
from pegasos.sites.cluster.placed import OnCluster, of_classes
from pegasos.sites.cluster.site import ClusterSite
from pegasos.sites.cluster.source import (
    DEFAULT_TIMEOUT,
    as_matrix,
    check_timeout,
    client_of,
    is_collection,
    names_of,
    row_chunks,
    source_of,
)
from pegasos.sites.errors import InterruptedSiteError, SiteFailedError
from pegasos.sites.placed import Dealt
from pegasos.tasks.offered import check_offered, ignores_warm_start
from pegasos.tasks.path import Path
from pegasos.tasks.probability import method_of
from pegasos.tasks.training import AnyTask, PlacedTask, Training
from pegasos.util.arguments import whole

_PREDICTS = ("coef_", "intercept_", "classes_", "n_features_in_", "_labels", "_pairs")


class ClusterClassifier(LinearClassifier):
    """What both share: options, the client, and predictions on collections."""

    client: Any
    timeout: float
    _local: type[LinearClassifier]  # the same on one machine
    _elsewhere = "on a cluster"

    def __init_subclass__(cls) -> None:
        """Constructors show the parameters of the local class, too: they are passed on to it."""
        super().__init_subclass__()
        init: Any = cls.__init__
        own = inspect.signature(init).parameters.values()
        theirs = inspect.signature(cls._local.__init__).parameters.values()
        named = [p for p in own if p.kind is p.KEYWORD_ONLY]
        init.__signature__ = inspect.Signature([*theirs, *named])

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
        columns = None if len(self._checked(X)) == 2 else len(self.classes_)
        like = np.empty((0,) if columns is None else (0, 0))
        return by_chunks(X, self._plain().decision_function, like, columns)

    def predict(self, X: Any) -> Any:
        """The class with the largest score; of a Dask collection a Dask array, lazily."""
        if not is_collection(X):
            return super().predict(X)
        return by_chunks(X, self._plain().predict, self._checked(X)[:0], None)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """(n, classes); of a Dask collection a Dask array, lazily."""
        if not is_collection(X):
            return super().predict_proba(X)
        count = len(self._checked(X))
        return by_chunks(X, self._plain().predict_proba, np.empty((0, 0)), count)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; of Dask collections, computed now."""
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        computed = [
            value.compute() if is_collection(value) else value
            for value in (self.predict(X), y, sample_weight)
        ]
        return float(np.average(computed[0] == np.asarray(computed[1]), weights=computed[2]))

    def _checked(self, X: Any) -> NDArray[Any]:
        """The classes; raises before the fit, and for columns that are not those trained on."""
        check_is_fitted(self, "coef_")
        names, known = names_of(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != list(known):
            raise ValueError(
                "The feature names should match those that were passed during fit, in their order; "
                f"there are {', '.join(names[:5])}, ..., not {', '.join(known[:5])}, ..."
            )
        return np.asarray(self.classes_)

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
        plain = linear.LinearSVC(probability=self.probability)
        for name in (*_PREDICTS, "calibrators_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        return plain

    @contextmanager
    def _on_cluster(
        self,
        began: float,
        C: Any,
        lam: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        depends: Mapping[str, Any] = MappingProxyType({}),
    ) -> Iterator[tuple[Training, PlacedTask]]:
        """The rows on the workers, and how to train on them; a cluster that failed is told."""
        source = source_of(X, y, sample_weight)
        check_offered("cluster", self, None)
        with ExitStack() as stack:
            training = self._training(stack, began, C, lam)
            solver, reason = training.solver, None
            if getattr(self, "warm_start", False):
                reason = ignores_warm_start(solver)
            if reason is None and solver is not None:
                reason = ClusterSite.refusal(solver)
            if reason is not None:
                raise ValueError(reason)
            timeout = check_timeout(self.timeout)
            opened = on_cluster(client_of(self.client), source, training.n_jobs, timeout)
            cluster = stack.enter_context(opened)
            rows = self._warmed(of_classes(cluster))
            self.n_features_in_ = rows.features
            self._forget("feature_names_in_")
            if source.names is not None:
                self.feature_names_in_ = np.array(source.names, dtype=object)
            options = replace(training.options, interruption=cluster.interruption)
            training = replace(training, options=options)
            task = PlacedTask(rows, self.class_weight, self.multi_class)
            start = [array for few in rows.begun.values() for array in few] or None
            arrays = {**depends, "start": start}
            yield self._saved(stack, training, rows, None, None, arrays), task
        if task.error is not None:
            raise task.error

    def _warmed(self, rows: OnCluster) -> OnCluster:
        """To be started on with the duals of the fit before, if there are any."""
        return rows


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
        ``prune`` and ``device``: the error says so.
    warm_start : start from the previous fit's duals, if the chunks have the same rows and classes.
    resume : a checkpoint to go on from, on any workers; certified, but not to the same bits.

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
        self.timeout, self.client = timeout, client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, eval_set: Any = None) -> Self:
        """Train on Dask collections, or on a list of delayed (X, y) or (X, y, weight) parts.

        ``eval_set`` (X, y) are rows of this machine, as for ``pegasos.LinearSVC``.
        """
        began, method = time.perf_counter(), method_of(self.probability)
        held_out = None if eval_set is None else checked_set(eval_set)
        opened = self._on_cluster(
            began, self.C, self.lam, X, y, sample_weight, {"eval_set": held_out}
        )
        with opened as (training, task):
            self._learn(training, task, method, held_out)
        return self

    def _duals_of(self, task: AnyTask, outcome: Outcome) -> Any:  # noqa: ARG002
        """Those of the parts, packed; none of a cluster that cannot be asked."""
        with suppress(InterruptedSiteError, SiteFailedError):
            return cast(OnCluster, cast(PlacedTask, task).rows).duals()
        return None

    def _warmed(self, rows: OnCluster) -> OnCluster:
        """With the duals of the previous fit, if they are of these chunks and classes."""
        known = getattr(self, "_duals", None)
        if not self.warm_start or not isinstance(known, dict):
            return rows
        return rows.starting_from(known) if np.array_equal(rows.classes, self.classes_) else rows


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
        self.timeout, self.client = timeout, client

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
        opened = self._on_cluster(began, float(Cs[0]), None, X, y, sample_weight)
        with opened as (training, task):
            self._pick(training, task, Cs, Dealt(folds, training.options.seed))
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


def by_chunks(
    X: Any, function: Callable[[Any], NDArray[Any]], like: NDArray[Any], columns: int | None
) -> Any:
    """A Dask array of ``function`` of each chunk of rows.

    ``like`` is an empty array of the type that comes out; ``columns`` None: one number a row.
    """
    import dask.array as da
    from dask.delayed import delayed

    def of_chunk(chunk: Any) -> NDArray[Any]:
        rows = as_matrix(chunk)
        if not rows.shape[0]:
            return np.empty((0,) if columns is None else (0, columns), dtype=like.dtype)
        return function(rows)

    chunks = row_chunks("X", X)
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(chunks)
    shared = delayed(of_chunk, pure=True)
    tail = () if columns is None else (columns,)
    parts = [
        da.from_delayed(shared(chunk), shape=(size, *tail), dtype=like.dtype, meta=like)
        for chunk, size in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
