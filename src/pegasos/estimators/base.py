"""What the linear classifiers share: options, scores, and what a fit leaves behind."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.arguments import functions
from pegasos.certificate import Certificate
from pegasos.driver import Outcome
from pegasos.limits import Limits
from pegasos.problem import check_sample_weight
from pegasos.progress import ProgressLine
from pegasos.rows import IN_PLACE
from pegasos.solve import check_loss, check_scaling, check_tol, resolve_intercept
from pegasos.solvers import Solver, by_name
from pegasos.tasks.decision import decision, products, row_blocks
from pegasos.tasks.labels import check_classes_weigh
from pegasos.tasks.probability import Calibrator, method_of, probabilities
from pegasos.tasks.training import Task, Training

READ_TYPES = [*IN_PLACE, np.bool_]  # anything else becomes float64
SCHEMES = ("ovr", "ovo", "crammer_singer")


def _has_probabilities(estimator: Any) -> bool:
    """Whether ``predict_proba`` is there."""
    return method_of(estimator.probability) is not None


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """Options and predictions of ``LinearSVC`` and ``LinearSVCCV``."""

    _labels: Literal["dense", "sparse"] | None = None  # y was an indicator matrix
    _pairs: bool = False  # pairs of classes were trained, and vote

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: (n,) for two classes, positive for the second; (n, classes) for more.

        One-vs-one gives the votes for each class, their ties broken by the sum of its scores.
        """
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=READ_TYPES, reset=False)
        count = len(self.classes_)
        scores = decision(X, self.coef_, self.intercept_, count, self._pairs)
        return scores.ravel() if count == 2 and scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class with the largest score; of many labels, those with a positive one.

        Labels come as an indicator matrix, sparse if y was.
        """
        scores = self.decision_function(X)
        if self._labels is not None:
            found = (scores > 0).astype(np.int64).reshape(-1, len(self.classes_))
            return sparse.csr_matrix(found) if self._labels == "sparse" else found
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, classes), rows of sum 1; with ``probability`` only.

        ``predict`` goes by the scores: where a class's probability is near 0.5, or several are
        alike, the likeliest class may be another.
        """
        check_is_fitted(self, "calibrators_")
        X = validate_data(self, X, accept_sparse="csr", dtype=READ_TYPES, reset=False)
        count, pairs = len(self.classes_), self._pairs
        out = np.empty((X.shape[0], count))
        for lo, hi in row_blocks(X.shape[0], count**2 if pairs else count):
            scores = products(X[lo:hi], self.coef_, self.intercept_)
            out[lo:hi] = probabilities(self.calibrators_, scores, count, pairs)
        return out

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix: smaller where most weights are zero."""
        check_is_fitted(self, "coef_")
        self.coef_: Any = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an array again."""
        check_is_fitted(self, "coef_")
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

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

    def _checked_data(self, X: Any, y: ArrayLike, sample_weight: Any) -> tuple[Any, Any, Any]:
        """X, y (classes, or an indicator matrix) and the sample weights as (n, 1)."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=READ_TYPES, order="C", multi_output=True,
            ensure_all_finite=False,
        )  # fmt: skip
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X.shape[0])
        return X, y, sample_weight

    def _task(self, X: Any, y: Any, weight: NDArray[np.float64] | None) -> Task:
        """Rows and the class of each."""
        classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if weight is not None:
            check_classes_weigh(classes, codes, weight)
        if classes.size < 2:
            raise ValueError(
                "y holds one class; a classifier needs examples of at least two classes"
            )
        return Task(X, classes, codes, weight, self.class_weight, self.multi_class)

    def _training(self, stack: ExitStack, began: float, C: Any, lam: Any) -> Training:
        """The options, checked."""
        solver, limits, intercept = self._checked_options()
        callbacks = functions("callbacks", self.callbacks)
        if self.verbose:
            line = ProgressLine(self.tol, type(self).__name__)
            callbacks += (stack.enter_context(line),)
        return Training(
            solver=solver,
            tol=check_tol(self.tol),
            limits=limits,
            loss=self.loss,
            intercept=intercept,
            intercept_scaling=self.intercept_scaling,
            C=C if lam is None else None,
            lam=lam,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_jobs=self.n_jobs,
            callbacks=callbacks,
            began=began,
        )

    def _checked_options(self) -> tuple[Solver | None, Limits, Any]:
        check_loss(self.loss)
        if self.multi_class not in SCHEMES:
            raise ValueError(
                f"multi_class must be one of {', '.join(SCHEMES)}, got {self.multi_class!r}"
            )
        try:
            limits = Limits(max_time=self.max_time, max_epochs=self.max_iter)
        except ValueError as error:
            raise ValueError(str(error).replace("max_epochs", "max_iter")) from None
        solver = by_name(self.solver)
        check_loss(self.loss, solver)
        if solver is not None:
            if limits.none:
                limits = Limits(max_epochs=solver.default_epochs)
            solver.check_limits(limits)
        if self.multi_class == "crammer_singer":
            self._check_joint()
        intercept: Any = "none"
        if self.fit_intercept:
            intercept = resolve_intercept(self.intercept, solver, self.intercept_scaling)
            if self.intercept == "auto" and self.multi_class == "crammer_singer":
                intercept = "regularized"
        elif self.intercept not in ("auto", "none"):
            raise ValueError(
                f"fit_intercept=False contradicts intercept={self.intercept!r}; drop one of them"
            )
        check_scaling(intercept, self.intercept_scaling)
        return solver, limits, intercept

    def _check_joint(self) -> None:
        """Crammer & Singer's problem has one solver, one loss, and no free intercept."""
        for name, wanted in (("solver", ("auto",)), ("loss", ("hinge",))):
            if getattr(self, name) not in wanted:
                raise ValueError(
                    f"multi_class='crammer_singer' is trained with {name}={wanted[0]!r} only, got "
                    f"{getattr(self, name)!r}"
                )
        if self.intercept == "free":
            raise ValueError(
                "multi_class='crammer_singer' has no free intercept: intercept='regularized' or "
                "'none'"
            )

    def _forget(self, *names: str) -> None:
        """Drop attributes of an earlier fit."""
        for name in names:
            if name in vars(self):
                delattr(self, name)

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
        """Keep the model and its certificate; warn if it is not proven within tol.

        ``coef`` is given where it is not that of ``outcome``; so is ``proof``, the certificate of
        what was trained, where that was changed afterwards.
        """
        self.coef_ = outcome.W[:-1].T if coef is None else coef
        self.intercept_ = outcome.b
        self.n_iter_ = max(1, int(np.ceil(outcome.epochs)))
        self.certificate_ = outcome.certificate
        self.dual_gap_ = outcome.certificate.gap
        self.objective_ = outcome.certificate.primal
        self.history_ = outcome.history
        self.solver_ = outcome.solver
        self.solver_reason_ = outcome.reason
        proof = outcome.certificate if proof is None else proof
        proven = np.all(proof.proves(self.tol))
        self.stop_reason_: str = "converged" if proven else outcome.stop_reason
        if not proven and warn:
            warnings.warn(not_proven(outcome, self.tol), ConvergenceWarning, stacklevel=3)


def not_proven(outcome: Outcome, tol: float) -> str:
    """What to tell the user of a fit that ended before its proof."""
    gap = cast(float, np.max(outcome.certificate.relative_gap))
    if np.isinf(gap):
        known = "nothing is proven about it yet"
    elif gap > 1:
        known = f"its objective is proven to be at most {1 + gap:.3g} times the optimum"
    else:
        known = f"the model is proven to be within {gap:.2%} of it"
    text = (
        f"The fit stopped ({outcome.stop_reason}) before its objective was proven to be within "
        f"tol={tol:g} of the optimum: {known}."
    )
    if gap <= tol:
        return text + " Rounding errors could be as large as tol: scale the features."
    if outcome.stop_reason == "precision":
        text += " More is not to be had in float64: scale the features, or lower C."
    if outcome.stop_reason in ("max_epochs", "max_time"):
        text += " Raise max_iter or max_time, scale the features, or lower C."
    return text
