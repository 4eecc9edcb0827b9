"""What a report tells of a model, whatever made it, and of rows, wherever they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from pegasos.certificate import Certificate, Floats
from pegasos.model.linear import LinearModel
from pegasos.util import sparse
from pegasos.wording import class_name

_SHARED = (
    "scheme", "parameters", "training", "data", "certificate", "history", "path", "coef",
    "features",
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """A model without its file or estimator."""

    kind: str  # what it is called: LinearSVC, SVC
    classes: list[str]
    scheme: str
    parameters: Mapping[str, Any]
    training: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)  # of the rows it was trained on
    certificate: Certificate | None = None
    certificate_of: str = ""  # what it is of, where that is not plain
    history: Mapping[str, Any] = field(default_factory=dict)
    path: Mapping[str, Any] = field(default_factory=dict)
    coef: Any = None  # (lanes, d), if features have weights
    features: int = 0
    names: Sequence[str] | None = None  # of the features
    first: int = 1  # the number of the first feature, where there are no names
    calibrated: bool = False
    steps: tuple[str, ...] = ()
    origin: str = ""  # the file it came from

    @property
    def labels(self) -> bool:
        """Whether rows may have several labels."""
        return self.scheme == "labels"

    @property
    def binary(self) -> bool:
        """Whether there are two classes, and so one score."""
        return not self.labels and len(self.classes) == 2

    def feature(self, at: int) -> str:
        """The name of a feature, or its number."""
        return self.names[at] if self.names is not None else str(at + self.first)

    def lane_names(self) -> list[str]:
        """What each weight vector speaks for, where positive."""
        if self.binary and (self.coef is None or self.coef.shape[0] == 1):
            return self.classes[1:]
        if self.scheme == "ovo":
            return [f"{b} not {a}" for a, b in combinations(self.classes, 2)]
        return self.classes

    def weights(self, lane: int) -> Floats:
        """The weights of a lane."""
        row = self.coef[[lane]]
        found: Floats = (row.toarray() if sparse.issparse(row) else row)[0]
        return found

    def direction(self, true: int, rival: int) -> Floats:
        """Weights of what speaks for ``rival`` and against ``true``."""
        if self.binary and self.coef.shape[0] == 1:
            return self.weights(0) if rival == 1 else -self.weights(0)
        if self.scheme == "ovo":
            pairs = list(combinations(range(len(self.classes)), 2))
            lane = pairs.index((min(true, rival), max(true, rival)))
            return self.weights(lane) if rival > true else -self.weights(lane)
        return self.weights(rival) - self.weights(true)


@dataclass(frozen=True)
class Rows:
    """Where the rows came from."""

    path: str = ""  # the file, if there is one
    trained: bool | None = None  # whether the model was trained on them; None: not known
    digest: str = ""  # SHA-256 of the file, or CRC-32 of the rows
    weights: str = ""  # where sample weights came from
    skipped: int = 0  # lines that were left out
    notes: tuple[str, ...] = ()


def about_model(model: LinearModel, *, origin: str = "", **changes: Any) -> About:
    """The same of a linear model; ``changes`` are fields of ``About``."""
    given: dict[str, Any] = {name: getattr(model, name) for name in _SHARED} | {
        "kind": "linear model",
        "classes": [class_name(value) for value in model.classes],
        "names": model.feature_names,
        "first": 0 if model.data.get("first_index") == 0 else 1,
        "calibrated": model.calibrators is not None,
        "steps": tuple(step.kind for step in model.steps),
        "origin": origin,
    }
    return About(**given | changes)
