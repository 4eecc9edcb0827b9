"""``LinearSVC.partial_fit``: rows that come in batches and are then gone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pegasos.data.dataset import Chunks
from pegasos.estimators.base import READ_TYPES, LinearClassifier
from pegasos.losses import Hinge, Loss
from pegasos.sites import Blocks
from pegasos.tasks.lanes import class_weights
from pegasos.tasks.offered import refusal
from pegasos.tasks.online import Online
from pegasos.util.arguments import check_sample_weight, check_scaling_range, number

_PROVEN = (
    "certificate_", "dual_gap_", "objective_", "history_", "stop_reason_", "solver_",
    "solver_reason_", "_kept",
)  # fmt: skip

OF_OTHER_FITS = ("_online", "t_", "_duals", "pruning_", "best_epoch_", "best_validation_score_")
"""What is left of fits of other kinds."""


class PartialFit(LinearClassifier):
    """What a linear classifier needs for it."""

    _online: Online

    @available_if(lambda model: ignored(model) is None)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """One step of SGD for each row, in order; the rows are then forgotten.

        The steps are those of ``solver="sgds"``. With ``lam`` and classes that are known from the
        start it makes no difference how rows are cut into batches; with C, lam is 1/(C rows so
        far). ``classes`` may be declared at the first call; others may appear later, and start at
        w = 0. An ``"auto"`` intercept is regularized.
        Begins at w = 0, or goes on from the last ``partial_fit``. There is no ``certificate_``:
        a proof needs the rows. There is no ``partial_fit`` either with options that it would ignore
        (other solvers, losses and schemes); the error says which.
        """
        if isinstance(X, Chunks | Blocks):
            raise ValueError(refusal("partial_fit", Blocks.name))
        first = not hasattr(self, "_online")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=READ_TYPES, order="C", reset=first
        )
        check_classification_targets(y)
        for name, value in (("C", self.C), ("lam", self.lam)):
            if value is not None and not 0 < number(name, value) < np.inf:
                raise ValueError(f"{name} must be finite and positive, got {value}")
        known = np.unique(y) if classes is None else np.unique(np.asarray(classes))
        if classes is not None and not np.isin(y, known).all():
            other = np.setdiff1d(y, known)[0]
            raise ValueError(f"y holds class {other}, which is not among those given by classes")
        if not first:
            known = np.union1d(self._online.classes, known)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X.shape[0])[:, 0]
        codes = np.searchsorted(known, np.asarray(y))
        shares = class_weights(self.class_weight, known, codes, weight)
        if first:
            self._forget(*OF_OTHER_FITS, *_PROVEN)
            intercept = self.fit_intercept and self.intercept != "none"
            bias = check_scaling_range(self.intercept_scaling) if intercept else 0.0
            self._online = Online(self.lam, self.C, bias, self.average, X.shape[1], known)
        self._online.know(known)
        self._online.present(X, codes, weight, shares)
        self.classes_, self._labels, self._pairs = known, None, False
        self.coef_, self.intercept_ = self._online.weights()
        self.t_ = int(self._online.rows)
        self.n_iter_ = 1
        return self

    def __getattr__(self, name: str) -> Any:
        """Say why there is no proof after ``partial_fit``."""
        if name in _PROVEN and "_online" in vars(self):
            raise AttributeError(
                f"there is no {name} after partial_fit: it needs the rows, and they are gone; use "
                "fit, or pegasos.certify on rows that you have"
            )
        if name == "partial_fit":
            raise AttributeError(f"there is no partial_fit: {ignored(self)}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def ignored(model: Any) -> str | None:
    """What options ``partial_fit`` would ignore; None if it takes all."""
    if model._elsewhere is not None:
        return refusal("partial_fit", "cluster")
    for name, allowed in (
        ("loss", (Hinge.name,)),
        ("penalty", ("l2",)),
        ("solver", ("auto", "sgds", "sgdr")),
        ("multi_class", ("ovr",)),
        ("intercept", ("auto", "regularized", "none")),
    ):
        given = getattr(model, name)
        if isinstance(given, Loss):
            given = given.name
        if given not in allowed:
            return f"it is SGD on the hinge loss: {name} must be one of {allowed}, got {given!r}"
    if model.device is not None:
        return refusal("partial_fit", "device")
    if isinstance(model.class_weight, str):
        return f"class_weight {model.class_weight!r} needs all rows: give a dict"
    if model.probability:
        return "probability needs rows to hold out"
    if model.checkpoint is not None or model.resume is not None:
        return "checkpoints are for fit: save the model between two batches"
    return None
