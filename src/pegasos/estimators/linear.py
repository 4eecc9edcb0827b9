"""LinearSVC: scikit-learn's estimator, with a certificate."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.arguments import functions
from pegasos.driver import Outcome, run
from pegasos.estimators.labels import check_classes_weigh, class_weights, one_vs_rest
from pegasos.limits import Limits
from pegasos.problem import Problem, check_sample_weight, make_problem
from pegasos.progress import ProgressLine
from pegasos.rows import IN_PLACE
from pegasos.solve import check_loss, check_scaling, check_tol, resolve_intercept
from pegasos.solvers import InteriorPoint, Solver, by_name, choice_of
from pegasos.solvers.auto import TINY_VALUES

_READ_TYPES = [*IN_PLACE, np.bool_]  # anything else becomes float64
_PREDICT_BYTES = 1 << 24  # float64 bytes of X converted at a time

# Tiny problems are solved to this by InteriorPoint whatever tol says: it costs milliseconds, and
# results then agree to nearly all digits.
_TINY_TOL = 1e-10


class LinearSVC(ClassifierMixin, BaseEstimator):
    """Linear support vector classification, proven to be within ``tol`` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w.x_i + b))``; several classes are trained
    one against the rest, all in the same passes over the data.

    Parameters
    ----------
    C : weight of the losses, as in scikit-learn. Ignored if ``lam`` is given.
    lam : regularization per example instead of C: ``lam/2 |w|^2 + mean loss``.
    loss : ``"hinge"``, or ``"squared_hinge"`` (exact solvers only).
    penalty : ``"l2"``; there is no other here.
    solver : ``"auto"``, which takes one of the exact solvers, or several in turn: ``"dual"`` (many
        features), ``"newton"`` (many more rows than features), ``"interior"`` (any C, up to a few
        thousand features); or one of the papers': ``"pegasos"``, ``"sgdr"``, ``"sgds"``,
        ``"sgdm"``, or a configured solver such as ``pegasos.Pegasos(batch_size=100)``.
    tol : the fit ends when the objective is proven to be within this relative distance of the
        best possible.
    intercept : ``"none"``, ``"regularized"`` (penalised with w, through a constant feature
        ``intercept_scaling``), ``"free"`` (not penalised; exact solvers), or ``"auto"``: free for
        the exact solvers, regularized for the stochastic ones or if ``intercept_scaling`` is given.
    fit_intercept : False is ``intercept="none"``.
    multi_class : ``"ovr"``.
    class_weight : dict, ``"balanced"`` or None, as in scikit-learn.
    max_iter : passes over the data after which to stop anyway. None: 1000 for the stochastic
        solvers; no limit for the exact ones, which end when ``tol`` is proven.
    max_time : seconds after which to stop anyway.
    warm_start : start from the previous fit's duals, if the data have the same rows and classes.
        ``dual`` does; ``auto`` does where it starts with ``dual``.
    n_jobs : threads; -1 is all cores, None as many as are left to this process, for data that
        repay them. The same ``random_state`` and number of threads give the same bits.
    callbacks : called with each ``pegasos.Record``; one that returns True stops the fit.
    verbose : 1 shows a progress line on a terminal.

    Ctrl-C ends a fit with its last certified model. In a loop of fits, such as a grid search, press
    it twice within a second to end the loop.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_iter_ : passes over the data.
    certificate_ : the proof: ``primal``, ``dual``, ``gap``, ``relative_gap``; floats for two
        classes, one entry per class for more.
    dual_gap_, objective_ : its gap and primal, per example: the objective above divided by C and
        the sum of the sample weights.
    history_ : the certificates taken on the way.
    stop_reason_ : converged, precision (float64 has no more digits to give), max_epochs, max_time,
        interrupted or callback.
    solver_, solver_reason_ : the solver that was (last) at work, and why.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        penalty: Literal["l2"] = "l2",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "none", "regularized", "free"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        multi_class: Literal["ovr"] = "ovr",
        class_weight: Any = None,
        max_iter: float | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self.C = C
        self.lam = lam
        self.loss = loss
        self.penalty = penalty
        self.solver = solver
        self.tol = tol
        self.intercept = intercept
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X (n, d) and the classes y (n,)."""
        began = time.perf_counter()
        solver, limits, intercept = self._checked_options()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=_READ_TYPES, order="C",
            ensure_all_finite=False,
        )  # fmt: skip
        check_classification_targets(y)
        classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, codes.size)
            check_classes_weigh(classes, codes, sample_weight)
        weights = class_weights(self.class_weight, classes, codes, sample_weight)
        labels, positive, negative = one_vs_rest(codes, weights)
        problem = make_problem(
            X,
            labels,
            lam=self.lam,
            C=self.C if self.lam is None else None,
            intercept=intercept,
            intercept_scaling=self.intercept_scaling,
            sample_weight=sample_weight,
            positive=positive,
            negative=negative,
            loss=self.loss,
            n_jobs=self.n_jobs,
        )
        choice = choice_of(solver, problem, check_tol(self.tol))
        with ExitStack() as stack:
            callbacks = functions("callbacks", self.callbacks)
            if self.verbose:
                callbacks += (stack.enter_context(ProgressLine(self.tol, "LinearSVC")),)
            outcome = run(
                problem,
                choice,
                tol=self._working_tol(problem, choice.solver),
                limits=limits,
                seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
                callbacks=callbacks,
                scalar=len(classes) == 2,
                start_duals=self._previous_duals(classes, (problem.n, problem.lanes)),
                began=began,
            )
        self._store(classes, outcome)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: (n,) for two classes, positive for the second; (n, classes) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_READ_TYPES, reset=False)
        scores = _products(X, self.coef_) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix: smaller where most weights are zero."""
        check_is_fitted(self)
        self.coef_: Any = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an array again."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked_options(self) -> tuple[Solver | None, Limits, Any]:
        check_loss(self.loss)
        if self.penalty != "l2":
            raise ValueError(
                f"penalty must be 'l2', got {self.penalty!r}; L1 penalties are not offered"
            )
        if self.multi_class != "ovr":
            raise ValueError(f"multi_class must be 'ovr', got {self.multi_class!r}")
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
            if self.warm_start and not solver.warm_starts:
                raise ValueError(f"solver {solver.name!r} would ignore warm_start=True")
        intercept: Any = "none"
        if self.fit_intercept:
            intercept = resolve_intercept(self.intercept, solver, self.intercept_scaling)
        elif self.intercept not in ("auto", "none"):
            raise ValueError(
                f"fit_intercept=False contradicts intercept={self.intercept!r}; drop one of them"
            )
        check_scaling(intercept, self.intercept_scaling)
        return solver, limits, intercept

    def _working_tol(self, problem: Problem, solver: Solver) -> float:
        tol = check_tol(self.tol)
        values = problem.n * problem.rows.row_size * problem.lanes
        tiny = values <= TINY_VALUES and isinstance(solver, InteriorPoint)
        return min(tol, _TINY_TOL) if tiny else tol

    def _previous_duals(
        self, classes: NDArray[Any], shape: tuple[int, int]
    ) -> NDArray[np.float64] | None:
        if not self.warm_start or not hasattr(self, "_duals"):
            return None
        fits = np.array_equal(classes, self.classes_) and self._duals.shape == shape
        return self._duals if fits else None

    def _store(self, classes: NDArray[Any], outcome: Outcome) -> None:
        self.classes_ = classes
        self.coef_ = outcome.W[:-1].T
        self.intercept_ = outcome.b
        self.n_iter_ = max(1, int(np.ceil(outcome.epochs)))
        self.certificate_ = outcome.certificate
        self.dual_gap_ = outcome.certificate.gap
        self.objective_ = outcome.certificate.primal
        self.history_ = outcome.history
        self.solver_ = outcome.solver
        self.solver_reason_ = outcome.reason
        gap = np.max(outcome.certificate.relative_gap)
        proven = np.all(outcome.certificate.proves(self.tol))
        self.stop_reason_ = "converged" if proven else outcome.stop_reason
        if self.warm_start:
            self._duals = outcome.duals
        elif hasattr(self, "_duals"):
            del self._duals
        if not proven:
            warnings.warn(self._not_proven(outcome, gap), ConvergenceWarning, stacklevel=3)

    def _not_proven(self, outcome: Outcome, gap: float) -> str:
        if np.isinf(gap):
            known = "nothing is proven about it yet"
        elif gap > 1:
            known = f"its objective is proven to be at most {1 + gap:.3g} times the optimum"
        else:
            known = f"the model is proven to be within {gap:.2%} of it"
        text = (
            f"The fit stopped ({outcome.stop_reason}) before its objective was proven to be within "
            f"tol={self.tol:g} of the optimum: {known}."
        )
        if gap <= self.tol:
            return text + " Rounding errors could be as large as tol: scale the features."
        if outcome.stop_reason == "precision":
            text += " More is not to be had in float64: scale the features, or lower C."
        if outcome.stop_reason in ("max_epochs", "max_time"):
            text += " Raise max_iter or max_time, scale the features, or lower C."
        return text


def _products(X: Any, coef: Any) -> NDArray[np.float64]:
    """X @ coef.T in float64, converting X a block of rows at a time."""
    transposed = coef.T
    if sparse.issparse(X) or sparse.issparse(coef):
        out = X @ transposed
        return np.asarray(out.toarray() if sparse.issparse(out) else out, dtype=np.float64)
    out = np.empty((X.shape[0], coef.shape[0]))
    step = max(1, _PREDICT_BYTES // (8 * X.shape[1]))
    for lo in range(0, X.shape[0], step):
        np.matmul(X[lo : lo + step], transposed, out=out[lo : lo + step])
    return out
