"""LinearSVC: scikit-learn's estimator, with a certificate."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from pegasos.estimators.base import is_indicator
from pegasos.estimators.calibration import calibrate
from pegasos.estimators.online import OF_OTHER_FITS, PartialFit
from pegasos.estimators.validation import Validation, checked_set
from pegasos.losses import Loss
from pegasos.run.outcome import Outcome
from pegasos.solvers import DualCoordinate, InteriorPoint, Solver
from pegasos.tasks.multilabel import train_labels
from pegasos.tasks.offered import ignores_warm_start
from pegasos.tasks.probability import method_of
from pegasos.tasks.training import AnyTask, Task, Training, train
from pegasos.util.arguments import number, whole
from pegasos.util.devices import on_device


class LinearSVC(PartialFit):
    """Linear support vector classification, proven to be within ``tol`` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w.x_i + b))``.

    Parameters
    ----------
    C : weight of the losses, as in scikit-learn; it stays 1 if ``lam`` is given.
    lam : regularization per example instead of C: ``lam/2 |w|^2 + mean loss``.
    loss : ``"hinge"``, or ``"squared_hinge"`` (exact solvers only); or one of ``pegasos.losses``.
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
    multi_class : of more than two classes, ``"ovr"`` trains each against the rest; ``"ovo"`` each
        pair of classes, on the rows of the two, which then vote (``coef_`` has a row for each pair
        i < j in order; positive is for j);
        ``"crammer_singer"`` all classes as one problem, with one certificate, whose ``"auto"``
        intercept is regularized.
    class_weight : dict, ``"balanced"`` or None, as in scikit-learn; of labels, for each by itself,
        a dict with the weights of 0 and 1.
    prune : weights smaller than this in size become 0, where y is an indicator matrix; the
        certificate is that of the pruned model, and ``pruning_`` says what it cost.
    probability : ``"sigmoid"`` or ``"isotonic"`` adds ``predict_proba``: five more models are
        trained, each without a fifth of the rows, and Platt's sigmoid or an isotonic curve is
        fitted to the scores of the rows held out. True takes the sigmoid below 1,000 rows.
        ``predict`` stays the sign of the score: the sigmoid's 0.5 may fall elsewhere.
    max_iter : passes over the data after which to stop anyway. None: 1000 for the stochastic
        solvers; no limit for the exact ones, which end when ``tol`` is proven.
    max_time : seconds after which to stop anyway.
    n_iter_no_change : with an ``eval_set``, passes without a better score after which to stop; None
        goes on until ``tol`` is proven.
    warm_start : start from the previous fit's duals, if the data have the same rows and classes.
        ``dual`` does; ``auto`` does where it starts with ``dual``.
    average : the model of ``partial_fit`` is the mean of w over its steps.
    n_jobs : threads; -1 is all cores, None as many as are left to this process, for data that
        repay them. The same ``random_state`` and number of threads give the same bits.
    callbacks : called with each ``pegasos.Record``; one that returns True stops the fit.
    verbose : 1 shows a progress line on a terminal.
    checkpoint : a folder to save the fit in every ``checkpoint_every`` seconds (60), and when it
        is interrupted or a limit ends it.
    resume : a checkpoint to go on from, to the same bits as if nothing had happened; it is saved
        there, too, unless ``checkpoint`` is another one. ``max_iter`` and ``max_time`` may differ,
        the latter counts from now on; for other data or parameters the error says what differs.
        If both paths are the same, and nothing is there yet, the fit begins.

    Ctrl-C ends a fit with its last certified model. In a loop of fits, such as a grid search, press
    it twice within a second to end the loop.

    device : ``"cuda"``, or another torch device, to train there (extra ``gpu``); None is where X
        is. Arrays of torch or CuPy that are on a device are trained on in place, and ``coef_``,
        scores and predictions are then arrays like X.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_iter_ : passes over the data, of the problem that took the most.
    certificate_ : the proof: ``primal``, ``dual``, ``gap``, ``relative_gap``; floats for two
        classes and for ``"crammer_singer"``, else one entry per class, pair or label.
    dual_gap_, objective_ : its gap and primal, per example: the objective above divided by C and
        the sum of the sample weights.
    history_ : the certificates taken on the way.
    stop_reason_ : converged, precision (float64 has no more digits to give), max_epochs, max_time,
        interrupted, callback or early_stopping.
    best_epoch_, best_validation_score_ : of the model that an ``eval_set`` chose.
    solver_, solver_reason_ : the solver that was (last) at work, and why.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        loss: str | Loss = "hinge",
        penalty: Literal["l2"] = "l2",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "none", "regularized", "free"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        multi_class: Literal["ovr", "ovo", "crammer_singer"] = "ovr",
        class_weight: Any = None,
        prune: float | None = None,
        probability: bool | Literal["sigmoid", "isotonic"] = False,
        max_iter: float | None = None,
        max_time: float | None = None,
        n_iter_no_change: int | None = 5,
        random_state: Any = None,
        warm_start: bool = False,
        average: bool = False,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
        resume: str | os.PathLike[str] | None = None,
        device: Any = None,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self._set_parameters(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Any = None,
    ) -> Self:
        """Train on X (n, d) and the classes y (n,), or labels y (n, labels) of zeros and ones.

        X may be ``pegasos.data.chunks``: rows on disk, with labels and weights of their own, that
        are read a block at a time.

        Labels, dense or sparse, are trained each by itself, in blocks that fit memory; ``coef_`` is
        then sparse where that is smaller.

        ``eval_set`` (X, y) is scored (accuracy) at every pass; the model with the best score is
        kept, with its certificate, and the fit ends when ``n_iter_no_change`` passes brought none.
        """
        began = time.perf_counter()
        with ExitStack() as stack, self._naming_columns():
            training = self._training(stack, began, self.C, self.lam)
            method = method_of(self.probability)
            if self.penalty != "l2":
                raise ValueError(
                    f"penalty must be 'l2', got {self.penalty!r}; L1 penalties are not offered"
                )
            if self.warm_start and (reason := ignores_warm_start(training.solver)):
                raise ValueError(reason)
            X, y, weight = self._checked_data(X, y, sample_weight)
            if is_indicator(y):
                if eval_set is not None:
                    raise ValueError("eval_set is for classes: y is an indicator matrix of labels")
                training = self._saved(stack, training, X, y, weight)
                return self._fit_labels(training, X, y, weight)
            if self.prune is not None:
                raise ValueError("prune is for labels: y as an indicator matrix")
            task = self._task(training, X, y, weight)
            duals = self._previous_duals(task)
            held_out = None if eval_set is None else checked_set(eval_set)
            options = replace(training.options, keep_duals=self.warm_start)
            training = replace(training, options=options)
            depends = {"start": duals, "eval_set": held_out}
            training = self._saved(stack, training, X, y, weight, depends)
            self._learn(training, task, method, held_out, duals)
        return self

    def _learn(
        self,
        training: Training,
        task: AnyTask,
        method: str | None,
        held_out: tuple[Any, Any] | None = None,
        duals: Any = None,
    ) -> None:
        """Train on classes, wherever their rows are, and keep what comes of it."""
        outcome, validation = self._validated(training, task, held_out, duals)
        self._forget(*OF_OTHER_FITS)
        self.classes_, self._labels, self._pairs = task.classes, None, bool(task.pairs)
        if self.warm_start:
            self._duals = self._duals_of(task, outcome)
        if validation is None or validation.best is None or validation.record is None:
            self._store(task.returned(outcome), warn=task.error is None)
        else:
            # What the scores chose was not to be proven within tol.
            self._store(task.returned(validation.chosen(outcome)), warn=False)
            self.best_epoch_ = validation.record.epoch
            self.best_validation_score_ = validation.best[0]
            if validation.stopped:
                self.stop_reason_ = "early_stopping"
        if isinstance(task, Task):
            weight = task.sample_weight
            self._rows = task.codes.size if weight is None else int(np.count_nonzero(weight))
        self._store_calibrators(None)
        stopped = self.stop_reason_ in ("interrupted", "callback", "cluster_failed")
        if method is not None and not stopped:
            self._store_calibrators(calibrate(training, task, method, self.C))

    def _duals_of(self, task: AnyTask, outcome: Outcome) -> Any:
        """What the next fit may start from."""
        return outcome.duals if task.pairs else [outcome.duals]

    def _validated(
        self, training: Training, task: AnyTask, held_out: tuple[Any, Any] | None, duals: Any
    ) -> tuple[Outcome, Validation | None]:
        """Train with an eye on the validation set, if there is one."""
        if held_out is None:
            return train(training, task, duals), None
        if task.pairs and isinstance(task, Task):
            raise ValueError(
                "eval_set needs lanes that are trained together: not multi_class='ovo'"
            )
        X, y = held_out
        names = getattr(self, "feature_names_in_", None)

        def score(coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> float:
            return float(model_of(task, coef, intercept, names).score(X, y))

        patience = self.n_iter_no_change
        validation = Validation(
            score, None if patience is None else whole("n_iter_no_change", patience)
        )
        if training.solver is None and not task.binary and not task.joint:
            # One that brings all classes along at every pass.
            walks = isinstance(task, Task) or task.rows.walks
            brought = DualCoordinate() if walks else InteriorPoint()
            training = replace(training, solver=brought)
        options = replace(
            training.options,
            callbacks=(validation.stop, *training.options.callbacks),
            monitor=validation,
            record_every=1.0,
        )
        outcome = train(replace(training, options=options), task, duals)
        return outcome, validation

    def _fit_labels(self, training: Training, X: Any, y: Any, weight: Any) -> Self:
        """Train a model for each column of an indicator matrix."""
        for name, plain in (("multi_class", "ovr"), ("probability", False), ("warm_start", False)):
            if getattr(self, name) != plain:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for classes: y is an indicator matrix of "
                    "labels, each of which is trained against the rest"
                )
        prune = self.prune
        if prune is not None and not (np.isfinite(number("prune", prune)) and prune > 0):
            raise ValueError(f"prune must be positive or None, got {prune}")
        indicator = y.tocsc() if sparse.issparse(y) else y
        values = np.unique(y.data if sparse.issparse(y) else y)
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"an indicator matrix of labels holds 0 and 1, got {values[:5]}")
        if on_device(X, self.device):
            X = self._placed(X, "of_labels", training, X, *indicator.shape[::-1], weight)
            weight = X.weights_here
        labels = train_labels(training, X, indicator, weight, self.class_weight, prune)
        self._forget(*OF_OTHER_FITS)
        self.classes_, self._pairs = np.arange(y.shape[1]), False
        self._labels = "sparse" if sparse.issparse(y) else "dense"
        self._store_calibrators(None)
        proof = labels.outcome.certificate
        if labels.pruning is not None:
            self.pruning_ = labels.pruning
            proof = replace(proof, primal=labels.pruning.primal)
        self._store(labels.outcome, labels.coef, proof)
        return self

    def __sklearn_tags__(self) -> Any:
        """Several labels per row are welcome, each against the rest."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class == "ovr"
        return tags

    def _previous_duals(self, task: AnyTask) -> list[NDArray[np.float64]] | None:
        """The duals of the previous fit, if they are of the same shape."""
        if not self.warm_start or not hasattr(self, "_duals") or task.codes is None:
            return None
        shapes = [(task.codes.size, task.lanes)]
        if task.pairs:
            counts = np.bincount(task.codes)
            shapes = [(counts[i] + counts[j], 1) for i, j in task.pairs]
        same = np.array_equal(task.classes, self.classes_)
        return self._duals if same and [a.shape for a in self._duals] == shapes else None


def model_of(
    task: AnyTask, coef: NDArray[np.float64], intercept: NDArray[np.float64], names: Any = None
) -> LinearSVC:
    """A fitted model of coefficients (lanes, d), for scorers; ``names`` are those of features."""
    model = LinearSVC()
    model.classes_, model.coef_, model.intercept_ = task.classes, coef, intercept
    model.n_features_in_, model._pairs = task.features, bool(task.pairs)
    if names is not None:
        model.feature_names_in_ = names
    return model
