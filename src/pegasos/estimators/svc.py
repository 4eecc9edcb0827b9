"""SVC: support vector machines with kernels, each with a certificate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from pegasos.certificate import Floats
from pegasos.estimators.approximation import Approximation, approximation
from pegasos.estimators.approximation import scores as scores_of
from pegasos.estimators.calibration import from_scores, stratified
from pegasos.estimators.classifier import (
    Classifier,
    has_probabilities,
    warn_of_no_probabilities,
)
from pegasos.estimators.kernel_options import check_options, kernel_of, solver_of
from pegasos.kernel.kernels import centre_of, centred
from pegasos.kernel.layout import lane_coef, layout, sign_of
from pegasos.kernel.points import Points
from pegasos.kernel.tasks import KernelTask
from pegasos.run.interrupt import Interruption
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.solve import check_tol, saved_options
from pegasos.tasks.decision import chosen, counted_votes
from pegasos.tasks.lanes import checked_classes, class_weights
from pegasos.tasks.probability import method_of, probabilities
from pegasos.tasks.training import Task
from pegasos.util.arguments import check_sample_weight, functions
from pegasos.util.classes import Codes

_TYPES = (np.float64, np.float32)
_MAY_DIFFER = {
    "random_state", "max_iter", "max_time", "verbose", "callbacks", "tol", "n_jobs",
    "checkpoint", "checkpoint_every", "resume", "decision_function_shape",
}  # fmt: skip


class SVC(Classifier):
    """Support vector classification with a kernel, proven to be within ``tol`` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w.phi(x_i) + b))``; of several classes, for
    each pair, and pairs vote, or for each class against the rest.

    Parameters
    ----------
    C : weight of the losses.
    kernel : ``"rbf"``, ``"linear"``, ``"poly"``, ``"sigmoid"``, ``"precomputed"`` (X is then the
        matrix), or a function of two blocks of rows that returns their matrix. Of the last three,
        and of odd ``poly`` ones, 512 rows are looked at: those that are not positive semidefinite
        there are refused. The proof is for kernels that are.
    gamma, degree, coef0 : as in scikit-learn.
    solver : ``"dual"`` (exact: SMO over a cache of rows), ``"pegasos"`` (the Pegasos paper's own,
        stochastic, for a few digits), a ``pegasos.KernelPegasos(batch_size=...)``, or ``"auto"``,
        which is the exact one.
    tol : the fit ends when the objective is proven to be within this relative distance of the
        best possible.
    intercept : ``"free"``, ``"regularized"`` (a constant feature: K + 1), ``"none"``, or
        ``"auto"``: free, but regularized for ``"pegasos"``, which does not train a free one.
    class_weight : dict, ``"balanced"`` or None, as in scikit-learn.
    multi_class : ``"ovo"``, or ``"ovr"``.
    approximation : ``"nystroem"`` or ``"fourier"`` (rbf only): for many rows, ``n_components``
        features whose products approximate the kernel, and the linear solvers on them. The
        features are made a block of rows at a time. The proof is then of the approximated problem,
        not of the kernel's own. None: the kernel itself. (As steps of a pipeline before a
        ``LinearSVC``, scikit-learn's ``Nystroem`` and ``RBFSampler`` do the same in memory.)
    n_components : number of those features; for Nystroem's, rows the kernel is evaluated with.
    cache_size : megabytes for rows of the kernel matrix.
    max_iter, max_time : steps and seconds after which to stop anyway, of each pair and of all.
    random_state : seed of the stochastic solver.
    decision_function_shape : ``"ovr"`` or ``"ovo"``, as in scikit-learn; of pairs.
    probability : as in ``LinearSVC``: True, ``"sigmoid"`` or ``"isotonic"`` trains five more
        models and adds ``predict_proba``.
    n_jobs : threads; None uses the cores where that pays.
    callbacks : called with each ``pegasos.Record``; one that returns True stops the fit.
    verbose : 1 shows a progress line on a terminal.
    checkpoint, checkpoint_every, resume : as in ``LinearSVC``. On one thread a fit that is resumed
        ends with the same bits; rows of the kernel's matrix are computed again where it goes on.

    Ctrl-C ends a fit with its last certified model.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, classes_, n_iter_ : as in
        scikit-learn; of ``multi_class="ovr"``, ``dual_coef_`` has a row for each class.
    certificate_ : the proof: ``primal``, ``dual``, ``gap``, ``relative_gap``; floats for two
        classes, else one entry per pair (or class).
    certificate_of_ : the problem that the proof is of, in words.
    class_weight_ : the weight of each class.
    coef_, map_ : with ``approximation``, weights of its features and the map to them, instead of
        ``support_``, ``support_vectors_``, ``dual_coef_`` and ``n_support_``.
    history_, stop_reason_ : as in ``LinearSVC``.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        solver: Any = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "free", "regularized", "none"] = "auto",
        class_weight: Any = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        approximation: Literal["nystroem", "fourier"] | None = None,
        n_components: int = 1000,
        cache_size: float = 1000,
        max_iter: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: Any = False,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self._set_parameters(locals())

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X (n, d), or a kernel matrix (n, n), and the classes y (n,)."""
        began = time.perf_counter()
        check_options(self)
        self._saving.check()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_TYPES)
        check_classification_targets(y)
        weight = np.ones((X.shape[0], 1))
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X.shape[0])
        classes, codes = checked_classes(np.asarray(y), weight)
        self.class_weight_ = class_weights(self.class_weight, classes, codes, weight)
        if not self.class_weight_.all():
            zero = classes[int(np.argmin(self.class_weight_))]
            raise ValueError(f"class_weight is zero for class {zero}: leave its rows out of X")
        self._kernel = kernel_of(self, X, weight[:, 0])
        self._centre = centre_of(self._kernel, X)
        rows = centred(X, self._centre)
        with ExitStack() as stack:
            stack.enter_context(threadpool_limits(1, user_api="blas"))  # the threads are ours
            options = saved_options(
                stack, self._saving, self._options(stack, began),
                (X, y, sample_weight, self.n_jobs), self._parameters_but(_MAY_DIFFER),
                drawn=self._draws_seed,
            )  # fmt: skip
            self.classes_ = classes
            if self.approximation is not None:
                assert self._kernel is not None
                task = Task(rows, classes, codes, weight, self.class_weight, self.multi_class)
                made = approximation(self, self._kernel, task, options)
                self._store_approximation(made)
                self._calibrate(codes, weight[:, 0], made.held_out)
                return self
            solver, intercept = solver_of(self)
            exact = KernelTask(
                X=rows, kernel=self._kernel, codes=codes, classes=classes.size,
                scheme=self.multi_class, C=self.C, cost=weight[:, 0] * self.class_weight_[codes],
                weight=weight[:, 0], intercept=intercept, solver=solver, n_jobs=self.n_jobs,
                options=options,
            )  # fmt: skip
            self._store(X, exact)
            self._calibrate(codes, weight[:, 0], exact.held_out)
        return self

    def _options(self, stack: ExitStack, began: float) -> RunOptions:
        """Those of its runs."""
        limits = Limits(max_time=self.max_time, max_steps=self.max_iter)
        if limits.none and self.approximation is None:
            limits = Limits(max_epochs=solver_of(self)[0].default_epochs)
        options = RunOptions(
            tol=check_tol(self.tol),
            limits=limits,
            seed=self._seed(),
            callbacks=functions("callbacks", self.callbacks),
            began=began,
            interruption=stack.enter_context(Interruption()),
            keep_duals=False,
        )
        return self._watched(stack, options)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes, positive for the second; for more as in scikit-learn."""
        check_is_fitted(self, "classes_")
        if self.decision_function_shape == "ovo" and len(self._pairs) > 1:
            return -self._scores(X)
        return self._class_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: of several, that with the most votes, or the largest score."""
        places = chosen(self._class_scores(X))
        found: NDArray[Any] = self.classes_[places]
        return found

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, classes), rows of sum 1; ``predict`` does not go by them."""
        check_is_fitted(self, "classes_")
        if self._calibrators is None:
            raise ValueError(
                "there are no probabilities: the fit was stopped before its calibration ended"
            )
        pairs = bool(self._pairs)
        return probabilities(self._calibrators, self._scores(X), self.classes_.size, pairs)

    def _store(self, X: Any, task: KernelTask) -> None:
        """Train, and keep scikit-learn's attributes."""
        lanes = task.lanes()
        found = task.train(lanes)
        self._forget("map_", "coef_")
        self._pairs = [lane.pair for lane in lanes if lane.pair is not None]
        laid = layout(lanes, found, task.codes, task.classes)
        self.support_, self.n_support_ = laid.support, laid.n_support
        self.dual_coef_, self.intercept_ = laid.dual_coef, laid.intercept
        shown = self.support_[:0] if self._kernel is None else self.support_
        self.support_vectors_ = X[shown]
        self._support = self.support_vectors_ if self._centre is None else task.X[shown]
        self.shape_fit_ = X.shape
        self.n_iter_ = np.array(found.steps, dtype=np.int32)
        self._store_proof(found.outcome)
        self.certificate_of_ = "the kernel's own problem"

    def _store_approximation(self, made: Approximation) -> None:
        outcome = made.fit()
        self._forget("support_", "support_vectors_", "dual_coef_", "n_support_")
        self._pairs = made.task.pairs
        self.map_, self.coef_, self.intercept_ = made.map, outcome.W[:-1].T, outcome.b
        self.n_iter_ = np.array([max(1, int(np.ceil(outcome.epochs)))], dtype=np.int32)
        self._store_proof(outcome)
        self.certificate_of_ = (
            f"the problem with {made.map.size} {self.approximation} features in place of the "
            "kernel, not the kernel's own"
        )

    def _calibrate(
        self,
        codes: Codes,
        weight: Floats,
        held_out: Callable[[str, NDArray[np.intp], NDArray[np.intp]], Floats | None],
    ) -> None:
        """Probabilities from scores of rows held out, of which a model was trained without."""
        self._calibrators = None
        method = method_of(self.probability)
        if method is None:
            return
        scores = np.empty((codes.size, self.intercept_.size))
        for number, (train, test) in enumerate(stratified(codes)):
            found = held_out(f"calibration-{number}", train, test)
            if found is None:
                warn_of_no_probabilities()
                return
            scores[test] = found
        two = self.classes_.size == 2
        self._calibrators = from_scores((scores, codes, weight), method, self._pairs, two)

    def _class_scores(self, X: Any) -> Floats:
        """As those of linear models: (n,) for two classes; (n, classes), of pairs the votes."""
        scores = self._scores(X)
        if self.classes_.size == 2:
            return scores[:, 0]
        return counted_votes(scores, self.classes_.size) if self._pairs else scores

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """(n, lanes), positive for the second class of a pair, or for the class."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, accept_sparse="csr", dtype=_TYPES, reset=False)
        X = centred(X, self._centre)
        with threadpool_limits(1, user_api="blas"):
            if hasattr(self, "map_"):
                return scores_of(self.map_, X, self.coef_.T, self.intercept_, self.n_jobs)
            coef = lane_coef(self.dual_coef_, self.n_support_, self._pairs)
            if self._kernel is None:
                scores = X[:, self.support_] @ coef
            else:
                scores = Points(self._kernel, X, self.n_jobs).scores(self._support, coef)
        sign = sign_of(bool(self._pairs), self.classes_.size)
        return np.asarray(scores + sign * self.intercept_)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome; a precomputed matrix is cut in both directions."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
