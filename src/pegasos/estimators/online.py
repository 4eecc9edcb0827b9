"""``LinearSVC.partial_fit``: rows that come in batches and are then gone."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pegasos.data.dataset import Chunks
from pegasos.estimators.base import READ_TYPES, LinearClassifier
from pegasos.estimators.classifier import users_level
from pegasos.losses import Hinge, Loss
from pegasos.sites import Blocks
from pegasos.tasks.lanes import class_weights
from pegasos.tasks.offered import refusal
from pegasos.tasks.online import Online
from pegasos.tasks.options import check_strength
from pegasos.util.arguments import check_sample_weight, check_scaling_range
from pegasos.util.devices import to_host

_PROVEN = (
    "certificate_", "dual_gap_", "objective_", "history_", "stop_reason_", "solver_",
    "solver_reason_", "_kept",
)  # fmt: skip

OF_OTHER_FITS = (
    "_online", "t_", "_rows", "_duals", "pruning_", "best_epoch_", "best_validation_score_",
)  # fmt: skip
"""What is left of fits of other kinds."""


class PartialFit(LinearClassifier):
    """What a linear classifier needs for it."""

    classes_: NDArray[Any]
    _online: Online
    _rows: int  # that a fit was trained on

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
        far). An ``"auto"`` intercept is regularized.

        It goes on from the last ``partial_fit``, or from ``fit``, whose rows count as steps; else
        it begins at w = 0. Once ``classes`` are declared, a label that is none of them is an error.
        If they never are, a new label starts a class at w = 0, and a warning names it.

        There is no ``certificate_``: a proof needs the rows. There is no ``partial_fit`` either
        with options that it would ignore (other solvers, losses and schemes); the error says which.
        """
        if isinstance(X, Chunks | Blocks):
            raise ValueError(refusal("partial_fit", Blocks.name))
        check_strength(self.C, self.lam)
        begun, fitted = hasattr(self, "_online"), hasattr(self, "coef_")
        if fitted and not begun:
            self._check_goes_on()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=READ_TYPES, order="C", reset=not fitted
        )
        check_classification_targets(y)
        known, declared = self._known(np.unique(y), classes)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X.shape[0])[:, 0]
        codes = np.searchsorted(known, np.asarray(y))
        shares = class_weights(self.class_weight, known, codes, weight)
        if not begun:
            intercept = self.fit_intercept and self.intercept != "none"
            bias = check_scaling_range(self.intercept_scaling) if intercept else 0.0
            at_first = self.classes_ if fitted else known
            online = Online(self.lam, self.C, bias, self.average, X.shape[1], at_first)
            if fitted:
                online.go_on(to_host(self.coef_), to_host(self.intercept_), self._rows)
            self._forget(*OF_OTHER_FITS, *_PROVEN)
            self._online = online
        self._online.know(known)
        self._online.declared = declared
        self._online.present(X, codes, weight, shares)
        self.classes_, self._labels, self._pairs = known, None, False
        self.coef_, self.intercept_ = self._online.weights()
        self.t_ = int(self._online.rows)
        self.n_iter_ = 1
        return self

    def _check_goes_on(self) -> None:
        """Raise if there is a fit, and no steps that could have led to it."""
        anew = "sklearn.base.clone(model).partial_fit begins anew"
        if self._labels is not None or self._pairs:
            kind = "pairs of classes" if self._pairs else "labels"
            raise ValueError(f"partial_fit does not go on from a fit of {kind}; {anew}")
        if "_rows" not in vars(self):
            raise ValueError(
                "partial_fit cannot go on from this fit: nothing says how many rows it had, which "
                f"steps depend on; {anew}"
            )

    def _known(self, found: NDArray[Any], classes: ArrayLike | None) -> tuple[NDArray[Any], bool]:
        """The classes from now on, ``found`` in a batch or before; whether they were declared."""
        before: NDArray[Any] | None = None
        declared = False
        if "_online" in vars(self):
            before, declared = self._online.classes, self._online.declared
        elif hasattr(self, "classes_"):
            before = self.classes_
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if declared and not np.array_equal(given, self._online.classes):
                raise ValueError(
                    f"classes were declared as {_listed(before)} before, and are {_listed(given)} "
                    "here"
                )
            before = given if before is None else np.union1d(before, given)
            declared = True
        if before is None:
            return found, declared
        new = np.setdiff1d(found, before)
        if new.size and declared:
            raise ValueError(
                f"y holds class {new[0]}, which is not among the declared classes {_listed(before)}"
            )
        for one in new:
            warnings.warn(
                f"y holds class {one}, which is new: it starts at w = 0. To have mistyped labels "
                "refused, declare all classes at the first partial_fit (classes=...)",
                stacklevel=users_level(),
            )
        return np.union1d(before, found), declared

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


def _listed(classes: Any) -> str:
    """The classes, or the first of many."""
    names = [str(one) for one in classes[:10]]
    return ", ".join([*names, "..."] if len(classes) > 10 else names)


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
