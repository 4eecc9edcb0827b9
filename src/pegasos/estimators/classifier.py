"""What all classifiers share, linear ones and those with kernels."""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from pegasos.certificate import Certificate
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome
from pegasos.run.progress import ProgressLine
from pegasos.tasks.probability import method_of
from pegasos.tasks.training import not_proven

if TYPE_CHECKING:
    from pegasos.report import Report


def has_probabilities(estimator: Any) -> bool:
    """Whether ``predict_proba`` is there."""
    return method_of(estimator.probability) is not None


def users_level() -> int:
    """The ``stacklevel`` of a warning that is to point at the call from outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pegasos."):
        frame, level = frame.f_back, level + 1
    return level


def warn_of_no_probabilities() -> None:
    """Tell that a fit was stopped before it was calibrated."""
    warnings.warn(
        "The fit was stopped (Ctrl-C or max_time) before the models of all folds were trained: "
        "there are no probabilities, and predict_proba raises.",
        ConvergenceWarning,
        stacklevel=users_level(),
    )


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier that may have ``predict_proba``."""

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def report(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        title: str | None = None,
        feature_names: Any = None,
    ) -> Report:
        """A page about this model on rows X with labels y; notebooks show it.

        ``report.save("report.html")`` writes it, ``report.html`` is its text. ``feature_names``
        are those of a data frame unless given: of texts, the vectorizer's
        ``get_feature_names_out()``.
        """
        from pegasos.estimators.reports import report_of  # which imports the estimators

        return report_of(
            self, X, y, sample_weight=sample_weight, title=title, feature_names=feature_names
        )

    @property
    def _saving(self) -> Saving:
        """What is asked of checkpoints."""
        return Saving(self.checkpoint, self.checkpoint_every, self.resume)

    @property
    def _draws_seed(self) -> bool:
        """Whether no seed was given, so that a fit that is resumed keeps the one it had."""
        return not isinstance(self.random_state, int | np.integer)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _watched(self, stack: ExitStack, options: RunOptions) -> RunOptions:
        """The same; with ``verbose``, a progress line for as long as ``stack``."""
        if not self.verbose:
            return options
        line = stack.enter_context(ProgressLine(self.tol, type(self).__name__))
        return replace(options, callbacks=(*options.callbacks, line))

    def _parameters_but(self, names: set[str]) -> dict[str, Any]:
        """What a checkpoint depends on."""
        given = self.get_params(deep=False)
        return {name: given[name] for name in sorted(given.keys() - names)}

    def _store_proof(
        self, outcome: Outcome, trained: Certificate | None = None, *, warn: bool = True
    ) -> None:
        """Keep the certificate; warn if it does not prove ``tol``.

        ``trained`` is the certificate of what was trained, where that was changed afterwards.
        """
        proof = outcome.certificate
        self.certificate_, self.history_ = proof, outcome.history
        self.dual_gap_, self.objective_ = proof.gap, proof.primal
        proven = np.all((trained or proof).proves(self.tol))
        self.stop_reason_: str = "converged" if proven else outcome.stop_reason
        if not proven and warn:
            words = not_proven(proof, outcome.stop_reason, self.tol)
            warnings.warn(words, ConvergenceWarning, stacklevel=users_level())

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Keep each parameter under its own name; ``given`` are the ``locals()`` of __init__."""
        self.__dict__.update({name: value for name, value in given.items() if name != "self"})

    def _forget(self, *names: str) -> None:
        """Drop attributes of an earlier fit."""
        for name in names:
            if name in vars(self):
                delattr(self, name)
