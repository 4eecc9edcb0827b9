"""LinearSVCCV: the C of a LinearSVC by cross-validation, every fit of it certified."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from pegasos.estimators.base import LinearClassifier, is_indicator
from pegasos.estimators.calibration import calibrate, from_scores
from pegasos.estimators.classifier import users_level
from pegasos.estimators.linear import model_of
from pegasos.losses import Loss
from pegasos.sites.placed import Folds
from pegasos.solvers import Solver
from pegasos.tasks.cross_validation import cross_validate
from pegasos.tasks.path import Path, Score, Walk
from pegasos.tasks.probability import Calibrator, method_of
from pegasos.tasks.training import AnyTask, Task, Training, train
from pegasos.util.arguments import floats, whole

_PATH_TIME = 0.8  # of max_time: the rest is for the fit on all rows


class LinearSVCCV(LinearClassifier):
    """``LinearSVC`` with C chosen by cross-validation.

    Every fold is trained at every C to a certified ``tol``, each C from the duals of the one
    before, folds side by side on the same X; then all rows at the best C.

    Parameters
    ----------
    Cs : values of C; a number of them is that many from 1e-4 to 1e4, evenly in their logarithms.
    cv : folds, as in scikit-learn: a number (stratified), a splitter, or pairs of train and test
        rows.
    scoring : a name, a scorer or a function (estimator, X, y) as in scikit-learn; None is accuracy.
        It is given models without ``predict_proba``, and sample weights if it takes them.
    refit : False leaves the fit on all rows out, and with it predictions.
    rule : ``"best"`` mean score, or ``"one_se"``: the smallest C within one standard error of it.
    patience : stop after so many C in a row with scores more than a standard error below the best
        so far; the larger ones are then NaN in ``scores_``. None tries all.
    loss, solver, tol, intercept, fit_intercept, intercept_scaling, multi_class, class_weight,
    probability, max_iter, max_time, random_state, n_jobs, callbacks, verbose, checkpoint,
    checkpoint_every, resume, device : as in ``LinearSVC``;
        ``"balanced"`` weights are those of a fold's own rows, ``max_time`` is for all fits, and
        probabilities come from the folds' models at C_.

    Attributes
    ----------
    C_, best_score_, best_index_ : the chosen C, its mean score, its place in ``Cs_``.
    scores_ : (Cs, folds) scores of the rows held out.
    path_ : what was met along C: ``scores``, ``certificate`` (Cs, folds, lanes), ``epochs``,
        ``seconds``, ``coef``, ``intercept``.
    cv_results_ : the same as a dict of columns like GridSearchCV's, for ``pandas.DataFrame``.
    coef_, intercept_, certificate_, history_, stop_reason_, ... : of the fit on all rows at C_, as
        in ``LinearSVC``.
    """

    def __init__(
        self,
        *,
        Cs: Any = 10,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        rule: Literal["best", "one_se"] = "best",
        patience: int | None = None,
        loss: str | Loss = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        intercept: Literal["auto", "none", "regularized", "free"] = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        multi_class: Literal["ovr", "ovo", "crammer_singer"] = "ovr",
        class_weight: Any = None,
        probability: bool | Literal["sigmoid", "isotonic"] = False,
        max_iter: float | None = None,
        max_time: float | None = None,
        random_state: Any = None,
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
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose C and train on X (n, d) and the classes y (n,).

        ``sample_weight`` weighs rows in the fits and in the scores. ``params`` go to the splitter
        and the scorer, where metadata routing is enabled and they ask for them.
        """
        began = time.perf_counter()
        self._check_rule()
        if self.patience is not None:
            whole("patience", self.patience)
        Cs = strengths(self.Cs)
        routed = self._routed(sample_weight, params)
        with ExitStack() as stack, self._naming_columns():
            training = self._training(stack, began, 1.0, None)
            X, y, weight = self._checked_data(X, y, sample_weight)
            if is_indicator(y):
                raise ValueError("LinearSVCCV takes classes, not labels: fit one for each column")
            task = self._task(training, X, y, weight)
            codes = task.codes
            assert codes is not None
            labels = task.classes[codes]
            rows = X if isinstance(task, Task) else np.broadcast_to(np.zeros(1), (labels.size, 1))
            splitter = check_cv(self.cv, labels, classifier=True)
            folds = [
                (np.arange(codes.size)[train_rows], np.arange(codes.size)[test_rows])
                for train_rows, test_rows in splitter.split(rows, labels, **routed.splitter.split)
            ]
            if not folds:
                raise ValueError("cv yields no folds; a generator can be used only once")
            depends = {"cv": [rows for fold in folds for rows in fold]}
            training = self._saved(stack, training, X, y, weight, depends)
            score = None
            if isinstance(task, Task):
                score = self._scoring(task, labels, folds, routed.scorer.score)
            self._pick(training, task, Cs, folds, score)
        return self

    def _pick(
        self,
        training: Training,
        task: AnyTask,
        Cs: NDArray[np.float64],
        folds: Folds,
        score: Score | None = None,
    ) -> None:
        """Choose C and train with it, wherever the rows are, and keep what comes of it."""
        some, limits = training.of("path"), training.options.limits
        if limits.max_time is not None:
            limits = replace(limits, max_time=_PATH_TIME * limits.max_time)
        some = replace(some, options=replace(some.options, limits=limits))
        path = cross_validate(Walk(some, task, Cs, folds, score, self.patience))
        if task.error is not None:
            self.path_, self.Cs_, self.scores_ = path, path.C, path.scores
            return
        if not np.isfinite(path.mean).any():
            raise _no_scores(path)
        self._warn_of(path)
        best = path.best(self.rule)
        final = replace(training, C=float(path.C[best]))
        name = f"best-{final.C:.17g}"  # where the path was cut short, C may change later
        outcome = train(final.of(name), task) if self._refits(path) else None
        self._store_path(path, best)
        self.classes_, self._pairs, self._labels = task.classes, bool(task.pairs), None
        if outcome is not None:
            self._store(task.returned(outcome), warn=task.error is None)
            self._store_calibrators(self._calibrators(training, task, folds))

    def _refits(self, path: Path) -> bool:  # noqa: ARG002 - a cluster looks at how it ended
        return bool(self.refit)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score by ``scoring``."""
        if self.scoring in (None, "accuracy") and self._on_device(X):
            return super().score(X, y, sample_weight)
        scorer = get_scorer(self.scoring or "accuracy")
        return float(scorer(self, X, y, **_weights_for(scorer, sample_weight)))

    def get_metadata_routing(self) -> MetadataRouter:
        """``fit`` asks for its own metadata, and passes some to the splitter and the scorer."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                # Not an iterable of splits: looking at it would use it up.
                splitter=self.cv if hasattr(self.cv, "split") else check_cv(classifier=True),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=get_scorer(self.scoring or "accuracy"),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )

    def _check_rule(self) -> None:
        if self.rule not in ("best", "one_se"):
            raise ValueError(f"rule must be 'best' or 'one_se', got {self.rule!r}")

    def _store_path(self, path: Path, best: int) -> None:
        self._forget(
            "coef_", "intercept_", "calibrators_", "certificate_", "history_", "objective_",
            "dual_gap_", "n_iter_", "stop_reason_", "solver_", "solver_reason_",
        )  # fmt: skip
        self.path_, self.Cs_, self.scores_ = path, path.C, path.scores
        self.best_index_, self.C_ = best, float(path.C[best])
        self.best_score_ = float(path.mean[best])
        self.cv_results_ = _results(path)

    def _warn_of(self, path: Path) -> None:
        proven = path.certificate.proves(self.tol) | np.isnan(path.certificate.primal)
        count = np.count_nonzero(~proven.all(axis=2))
        if count:
            warnings.warn(
                f"{count} of {path.scores.size} fits of the cross-validation ended before they "
                f"were proven to be within tol={self.tol:g} of the optimum; path_.certificate has "
                "what is proven. Raise max_iter or max_time, scale the features, or leave large "
                "C out.",
                ConvergenceWarning,
                stacklevel=users_level(),
            )

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Bunch:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        if params:
            raise ValueError(
                f"fit got {', '.join(params)}: enable metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)) to pass them on"
            )
        given = _weights_for(get_scorer(self.scoring or "accuracy"), sample_weight)
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=given))

    def _scoring(
        self, task: Task, labels: NDArray[Any], folds: list[Any], given: dict[str, Any]
    ) -> Score:
        scorer = get_scorer(self.scoring or "accuracy")
        held_out: dict[int, Any] = {}

        def score(fold: int, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> float:
            test = folds[fold][1]
            if fold not in held_out:
                held_out[fold] = task.X[test]
            model = model_of(task, coef, intercept)
            metadata = _rows_of(given, test, labels.size)
            if self.scoring in (None, "accuracy") and not metadata:
                # The scorer's number, without its checks, which can take longer than the fit.
                return float(np.mean(model.predict(held_out[fold]) == labels[test]))
            return float(scorer(model, held_out[fold], labels[test], **metadata))

        return score

    def _calibrators(
        self, training: Training, task: AnyTask, folds: Folds
    ) -> list[Calibrator] | None:
        method = method_of(self.probability)
        if method is None:
            return None
        coef, intercept = self.path_.coef, self.path_.intercept
        if coef is None or intercept is None:  # they were too many to keep
            return calibrate(training, task, method, self.C_, folds)
        k = self.best_index_
        held_out = task.held_out(folds, coef[k], intercept[k])
        return from_scores(held_out, method, task.pairs, task.binary)


def _weights_for(scorer: Any, sample_weight: Any) -> dict[str, Any]:
    """Sample weights for a scorer that takes them; a function (estimator, X, y) need not."""
    if sample_weight is None:
        return {}
    parameters = inspect.signature(scorer).parameters.values()
    takes = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    return {"sample_weight": sample_weight} if takes else {}


def _no_scores(path: Path) -> BaseException:
    """Why there is no C to choose."""
    if path.ended == "interrupted":
        return KeyboardInterrupt("the fit was stopped before all folds of one C were scored")
    if path.ended is not None:
        return ValueError(
            f"the fit was stopped ({path.ended}) before all folds of one C were scored"
        )
    c, fold = np.argwhere(~np.isfinite(path.scores))[0]
    return ValueError(
        f"scoring gave {path.scores[c, fold]} for fold {fold} at C={path.C[c]:g}; there is no C "
        "whose scores are all finite: choose another scorer or other folds"
    )


def _rows_of(given: dict[str, Any], rows: NDArray[np.intp], n: int) -> dict[str, Any]:
    """Metadata of some of the rows: what has one entry per row is cut, the rest passed on."""
    cut = {name: np.asarray(value) for name, value in given.items() if value is not None}
    return {name: v[rows] if v.shape[:1] == (n,) else given[name] for name, v in cut.items()}


def _results(path: Path) -> dict[str, Any]:
    mean = path.mean
    results: dict[str, Any] = {
        "mean_fit_time": path.seconds.mean(axis=1),
        "std_fit_time": path.seconds.std(axis=1),
        "param_C": np.ma.MaskedArray(path.C, mask=np.zeros(path.C.size, dtype=bool)),
        "params": [{"C": float(C)} for C in path.C],
    }
    for fold, column in enumerate(path.scores.T):
        results[f"split{fold}_test_score"] = column
    results["mean_test_score"] = mean
    results["std_test_score"] = path.scores.std(axis=1)
    ranks = rankdata(-np.where(np.isnan(mean), -np.inf, mean), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results["max_relative_gap"] = path.certificate.relative_gap.max(axis=(1, 2))
    return results


def strengths(given: Any) -> NDArray[np.float64]:
    """The values of C, increasing."""
    if np.ndim(given) == 0:
        return np.logspace(-4, 4, whole("Cs, where it is no list of values,", given))
    Cs = floats("Cs", given)
    if Cs.ndim != 1 or not Cs.size or not (np.isfinite(Cs) & (Cs > 0)).all():
        raise ValueError(f"Cs must be positive numbers, got {given!r}")
    return np.unique(Cs)
