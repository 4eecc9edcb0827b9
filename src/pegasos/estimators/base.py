"""What the linear classifiers share: options, scores, and what a fit leaves behind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from pegasos.certificate import Certificate
from pegasos.data.dataset import Chunks
from pegasos.estimators.classifier import Classifier, has_probabilities
from pegasos.rows import IN_PLACE, NotFiniteError
from pegasos.run.outcome import Outcome
from pegasos.sites import Blocks
from pegasos.sites.placed import Placed
from pegasos.solve import chunk_arrays, rows_of
from pegasos.tasks.decision import chosen, counted_votes, decision
from pegasos.tasks.lanes import checked_classes
from pegasos.tasks.offered import check_offered
from pegasos.tasks.options import checked_training
from pegasos.tasks.probability import Calibrator, class_probabilities, probabilities
from pegasos.tasks.training import AnyTask, PlacedTask, Task, Training
from pegasos.util.arguments import check_sample_weight
from pegasos.util.checksums import of_arrays
from pegasos.util.devices import (
    gpu_part,
    is_device_array,
    is_tensor,
    kind_of_device,
    on_device,
    to_host,
)

_MAY_DIFFER = {
    "random_state", "max_iter", "max_time", "verbose", "callbacks", "average",
    "checkpoint", "checkpoint_every", "resume", "timeout",
}  # fmt: skip
READ_TYPES = [*IN_PLACE, np.bool_]  # anything else becomes float64


def is_indicator(y: Any) -> bool:
    """Whether y has a column for each label; the type of many classes takes its time to see."""
    if not sparse.issparse(y) and np.ndim(y) != 2:
        return False
    return str(type_of_target(y)) == "multilabel-indicator"


class LinearClassifier(Classifier):
    """Options and predictions of ``LinearSVC`` and ``LinearSVCCV``."""

    _labels: Literal["dense", "sparse"] | None = None  # y was an indicator matrix
    _pairs: bool = False  # pairs of classes were trained, and vote
    _elsewhere: str | None = None  # where rows are, if not on one machine
    _kept: Mapping[str, Mapping[str, Any]] = MappingProxyType({})  # what a file had of the fit

    def decision_function(self, X: Any) -> Any:
        """w.x + b: (n,) for two classes, positive for the second; (n, classes) for more.

        One-vs-one gives the votes for each class, their ties broken by the sum of its scores.
        """
        check_is_fitted(self, "coef_")
        count, there = len(self.classes_), self._on_device(X)
        if there:
            scores = gpu_part("predicting").scores_on_device(X, self.coef_, self.intercept_)
            if self._pairs and count > 2:
                scores = counted_votes(to_host(scores), count)
        else:
            # A value that is not finite shows in the scores, which are fewer to look through.
            X = validate_data(
                self, X, accept_sparse="csr", dtype=READ_TYPES, reset=False,
                ensure_all_finite=self._pairs,
            )  # fmt: skip
            coef, intercept = to_host(self.coef_), to_host(self.intercept_)
            scores = decision(X, coef, intercept, count, self._pairs)
            if not np.isfinite(scores).all():
                assert_all_finite(X, input_name="X")
        if count == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        return gpu_part("predicting").like(X)(scores) if there else scores

    def predict(self, X: Any) -> Any:
        """The class with the largest score; of many labels, those with a positive one.

        Labels come as an indicator matrix, sparse if y was.
        """
        scores = self.decision_function(X)
        if self._labels is not None:
            found = (to_host(scores) > 0).astype(np.int64).reshape(-1, len(self.classes_))
            return sparse.csr_matrix(found) if self._labels == "sparse" else found
        if self._on_device(X):
            return gpu_part("predicting").classes_on_device(scores, self.classes_)
        labels: NDArray[Any] = self.classes_[chosen(scores)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy, as in scikit-learn; computed where X is."""
        if self._on_device(X):
            found = gpu_part("predicting").accuracy_on_device(self.predict(X), y, sample_weight)
            return float(found)
        return float(super().score(X, y, sample_weight))

    def _on_device(self, X: Any) -> bool:
        """Whether rows are scored where they are: on a device, or as tensors of a fit on one."""
        fitted_there = is_tensor(getattr(self, "coef_", None))
        return is_device_array(X) or (is_tensor(X) and fitted_there)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """(n, classes), rows of sum 1; with ``probability`` only.

        ``predict`` goes by the scores: where a class's probability is near 0.5, or several are
        alike, the likeliest class may be another.
        """
        check_is_fitted(self, "calibrators_")
        count = len(self.classes_)
        if self._on_device(X):
            predicting = gpu_part("predicting")
            scores = to_host(predicting.scores_on_device(X, self.coef_, self.intercept_))
            found = probabilities(self.calibrators_, scores, count, self._pairs)
            return predicting.like(X)(found)
        X = validate_data(self, X, accept_sparse="csr", dtype=READ_TYPES, reset=False)
        return class_probabilities(
            X, to_host(self.coef_), to_host(self.intercept_), self.calibrators_, count, self._pairs
        )

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix: smaller where most weights are zero."""
        check_is_fitted(self, "coef_")
        self.coef_: Any = sparse.csr_matrix(to_host(self.coef_))
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an array again."""
        check_is_fitted(self, "coef_")
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def export(self, path: Any, format: str = "liblinear", *, overwrite: bool = True) -> None:
        """Write the model for others: ``"liblinear"`` or ``"onnx"``."""
        from pegasos.estimators.stored import to_model  # which imports the estimators
        from pegasos.export import write

        check_is_fitted(self, "coef_")
        write(to_model(self), path, format, overwrite=overwrite)

    def as_sklearn(self) -> Any:
        """A fitted estimator of scikit-learn's own that predicts the same.

        ``sklearn.svm.LinearSVC``; of pairs of classes a ``OneVsOneClassifier``.
        """
        from pegasos.estimators.stored import to_model  # which imports the estimators
        from pegasos.export.sklearn import as_sklearn

        return as_sklearn(to_model(self))

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @contextmanager
    def _naming_columns(self) -> Iterator[None]:
        """Errors of values name the column, where columns have names."""
        try:
            yield
        except NotFiniteError as error:
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise
            raise NotFiniteError(*error.place, name=str(names[error.place[2]])) from None

    def _checked_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """X, y (classes, or an indicator matrix) and the sample weights as (n, 1)."""
        there = on_device(X, self.device)
        if there:
            check_offered("device", self, None)
            gpu_part("predicting")  # which says what to install
            X, y, sample_weight = chunk_arrays(X, y, sample_weight, self.n_jobs)
        elif isinstance(X, Chunks):
            return self._checked_chunks(X, y, sample_weight)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        if there:
            if not sparse.issparse(y) and np.ndim(y) == 2:
                y = np.asarray(to_host(y))  # an indicator matrix is taken column by column
            return X, y, sample_weight
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=READ_TYPES, order="C", multi_output=True,
            ensure_all_finite=False,
        )  # fmt: skip
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X.shape[0])
        return X, y, sample_weight

    def _checked_chunks(self, X: Chunks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Rows that come by blocks, with labels and weights of their own unless given."""
        rows, own_y, own_weight = rows_of(X, self.n_jobs)
        y = own_y if y is None else np.asarray(y)
        if isinstance(rows, Blocks):
            check_offered(Blocks.name, self, y, path=getattr(self, "Cs", None))
        weight = own_weight if sample_weight is None else sample_weight
        if y is None:
            raise ValueError("the chunks have no labels: give y")
        if y.shape != rows.shape[:1]:
            raise ValueError(f"the chunks have {rows.shape[0]} rows, y the shape {y.shape}")
        check_classification_targets(y)
        self.n_features_in_ = rows.shape[1]
        self._forget("feature_names_in_")
        weight = None if weight is None else check_sample_weight(weight, rows.shape[0])
        return rows, y, weight

    def _task(self, training: Training, X: Any, y: Any, weight: Any) -> AnyTask:
        """Rows and the class of each, here or on a device."""
        if on_device(X, self.device):
            rows = self._placed(X, "of_classes", training, X, y, weight)
            return PlacedTask(rows, self.class_weight, self.multi_class)
        classes, codes = checked_classes(column_or_1d(y, warn=True), weight)
        return Task(X, classes, codes, weight, self.class_weight, self.multi_class)

    def _placed(self, X: Any, how: str, *given: Any) -> Placed:
        """The rows on a device, of which the columns and their names are known then."""
        module = importlib.import_module("pegasos.sites.device.placed")  # which needs torch
        rows: Placed = getattr(module, how)(*given, self.device)
        self.n_features_in_ = rows.features
        _check_feature_names(self, None if is_tensor(X) else X, reset=True)
        return rows

    def _training(self, stack: ExitStack, began: float, C: Any, lam: Any) -> Training:
        """The options, checked."""
        self._saving.check()
        return self._options(stack, began, C, lam)

    def _options(self, stack: ExitStack, began: float, C: Any, lam: Any) -> Training:
        """Those that every fit has."""
        training = checked_training(
            C=C, lam=lam, loss=self.loss, solver=self.solver, tol=self.tol,
            intercept=self.intercept, fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling, multi_class=self.multi_class,
            max_iter=self.max_iter, max_time=self.max_time, seed=self._seed(), n_jobs=self.n_jobs,
            callbacks=self.callbacks, began=began,
        )  # fmt: skip
        return replace(training, options=self._watched(stack, training.options))

    def _saved(
        self,
        stack: ExitStack,
        training: Training,
        X: Any,
        y: Any,
        weight: Any,
        arrays: dict[str, Any] | None = None,
    ) -> Training:
        """The training with its checkpoint, if one is asked for; it depends on ``arrays``, too.

        Options that may differ from run to run are left out, and those that ``training`` has.
        """
        if not self._saving.asked:
            return training
        known = vars(training).keys() | vars(training.options).keys() | {"fit_intercept"}
        parameters = self._parameters_but(_MAY_DIFFER | known)
        parameters["device"] = kind_of_device(X, self.device)
        for name, some in (arrays or {}).items():
            parameters[name] = None if some is None else of_arrays(*some)
        return training.saved(
            stack, self._saving, (X, y, weight), parameters, drawn=self._draws_seed
        )

    def _store_calibrators(self, calibrators: list[Calibrator] | None) -> None:
        """Keep them; without any, forget those of an earlier fit."""
        if calibrators is not None:
            self.calibrators_ = calibrators
        else:
            self._forget("calibrators_")

    def _store(
        self,
        outcome: Outcome,
        coef: Any = None,
        proof: Certificate | None = None,
        *,
        warn: bool = True,
    ) -> None:
        """Keep the model and its certificate; ``coef`` where it is not that of ``outcome``."""
        self._forget("_kept")
        self.coef_ = outcome.W[:-1].T if coef is None else coef
        self.intercept_ = outcome.b
        self.n_iter_ = max(1, int(np.ceil(outcome.epochs)))
        self.solver_ = outcome.solver
        self.solver_reason_ = outcome.reason
        self._store_proof(outcome, proof, warn=warn)
