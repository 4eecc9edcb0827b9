"""A trained linear model by itself: what is saved to files, and predicts without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.data.dataset import Data
from pegasos.steps import Step
from pegasos.tasks.decision import chosen, decision
from pegasos.tasks.probability import Calibrator, class_probabilities
from pegasos.util import sparse

Scheme = Literal["ovr", "ovo", "crammer_singer", "labels"]
"""What the lanes are: classes (one lane for two), pairs of classes, all classes, or labels."""


@dataclass(frozen=True)
class LinearModel:
    """Weights and what belongs to them."""

    coef: Any  # (lanes, d): an array, or CSR
    intercept: Floats  # (lanes,)
    classes: NDArray[Any]  # numbers or strings; of labels, their names
    scheme: Scheme = "ovr"
    certificate: Certificate | None = None  # None: a model from elsewhere
    parameters: Mapping[str, Any] = field(default_factory=dict)  # C, lam, loss, intercept, tol, ...
    training: Mapping[str, Any] = field(default_factory=dict)  # stop_reason, solver, epochs, ...
    data: Mapping[str, Any] = field(default_factory=dict)  # fingerprint of the training rows
    history: Mapping[str, Any] = field(default_factory=dict)  # ``History.kept``
    path: Mapping[str, Any] = field(default_factory=dict)  # ``Path.kept``, if C was chosen by one
    feature_names: tuple[str, ...] | None = None
    calibrators: tuple[Calibrator, ...] | None = None  # one per lane, for probabilities
    steps: tuple[Step, ...] = ()  # what rows go through first

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.coef.shape[1])

    @property
    def lanes(self) -> int:
        """The number of weight vectors."""
        return int(self.coef.shape[0])

    def prepared(self, data: Data) -> Data:
        """Rows after all steps, their columns in the model's order where both have names."""
        data = self._ordered(data)
        for step in self.steps:
            data = step.apply(data)
        return data

    def _ordered(self, data: Data) -> Data:
        """By name: a table may have its columns in another order than the one trained on."""
        known, names = self.feature_names, data.feature_names
        if data.X is None or known is None or names is None or names == known:
            return data
        place = {name: at for at, name in enumerate(names)}
        missing = [name for name in known if name not in place]
        if missing:
            raise ValueError(
                f"there is no column {missing[0]!r}, which the model was trained on: there are "
                f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
            )
        if len(place) < len(names) or len(set(known)) < len(known):
            raise ValueError("columns are not in the model's order, and some share a name")
        X = data.X[:, [place[name] for name in known]]
        return replace(data, X=X, feature_names=known)

    def scores(self, X: Any) -> Floats:
        """As ``LinearSVC.decision_function``: (n,) for two classes, else (n, classes)."""
        count, pairs = self.classes.size, self.scheme == "ovo"
        scores = decision(X, self.coef, self.intercept, count, pairs)
        return scores.ravel() if self.scheme != "labels" and scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class of each row; of labels, an indicator matrix in CSR."""
        found = self.chosen_codes(self.scores(X))
        return found if self.scheme == "labels" else self.classes[found]

    def chosen_codes(self, scores: Floats) -> Any:
        """What scores stand for: places in ``classes``; of labels, the indicator matrix."""
        if self.scheme == "labels":
            return sparse.csr_matrix(scores > 0, dtype=np.int64)
        return chosen(scores)

    def probabilities(self, X: Any) -> Floats:
        """(n, classes), rows of sum 1; raises ValueError without calibrators."""
        if self.calibrators is None:
            raise ValueError("the model has no probabilities: train it with probability")
        pairs = self.scheme == "ovo"
        return class_probabilities(
            X, self.coef, self.intercept, self.calibrators, self.classes.size, pairs
        )
