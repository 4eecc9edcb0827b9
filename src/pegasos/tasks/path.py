"""Cross-validation over a path of C: what it is asked, what it gives, and which schedule it has.

Rows in memory and on disk have a run for each fold and C (``tasks.apart``); elsewhere the fits of
many folds are lanes of one run (``tasks.together``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.sites.placed import Folds
from pegasos.tasks.training import AnyTask, Training

Score = Callable[[int, Floats, Floats], float]
"""The score of a fold by its number, coefficients (lanes, d) and intercepts (lanes,)."""

_KEPT_BYTES = 1 << 28  # of coefficients


@dataclass(frozen=True)
class Walk:
    """What is asked: every fold (train, test) is trained and scored at every C.

    ``patience``: stop after so many C in a row with scores more than a standard error below the
    best. ``keep_models`` keeps the coefficients whatever they take. Without ``score`` nothing is
    scored here; rows that are elsewhere are scored there by their accuracy.
    """

    training: Training
    task: AnyTask
    Cs: Floats  # which increase
    folds: Folds
    score: Score | None = None
    patience: int | None = None
    keep_models: bool = False

    def path(self) -> Path:
        """A path of which nothing is known yet."""
        task, Cs = self.task, self.Cs
        return Path.begin(Cs, len(self.folds), task.lanes, task.features, keep=self.keep_models)


@dataclass(frozen=True, kw_only=True)
class Path:
    """What cross-validation met along C; arrays begin with (Cs, folds).

    ``certificate`` has (Cs, folds, lanes), with NaN where nothing was trained; ``seconds`` are
    those of the fits. ``coef`` (Cs, folds, lanes, d) and ``intercept`` are None if they would take
    more than 256 MB.
    """

    C: Floats
    scores: Floats
    certificate: Certificate
    epochs: Floats
    seconds: Floats
    coef: Floats | None = field(repr=False)
    intercept: Floats | None = field(repr=False)
    ended: str | None = None  # what left some of it out: interrupted, callback or max_time

    @classmethod
    def begin(cls, Cs: Floats, folds: int, lanes: int, features: int, *, keep: bool) -> Path:
        """Nothing is known yet; arrays are written to. ``keep`` the models whatever they take."""
        shape, size = (Cs.size, folds), (Cs.size, folds, lanes)
        kept = keep or 8 * np.prod(size) * (features + 1) <= _KEPT_BYTES
        return cls(
            C=Cs,
            scores=np.full(shape, np.nan),
            certificate=Certificate(*np.full((3, *size), np.nan)),
            epochs=np.zeros(shape),
            seconds=np.zeros(shape),
            coef=np.zeros((*size, features)) if kept else None,
            intercept=np.zeros(size) if kept else None,
        )

    def prove(self, at: Any, part: Certificate) -> None:
        """Take note of certificates, at any index of (C, fold, lane)."""
        for name in ("primal", "dual", "rounding"):
            getattr(self.certificate, name)[at] = getattr(part, name)

    def keep(self, cell: tuple[int, int], W: Floats, b: Floats) -> None:
        """Keep a model, W (d + 1, lanes), if models are kept."""
        if self.coef is not None and self.intercept is not None:
            self.coef[cell], self.intercept[cell] = W[:-1].T, b

    def first(self, count: int) -> Path:
        """That of the first values of C."""
        return replace(self, C=self.C[:count], scores=self.scores[:count])

    def __len__(self) -> int:
        """The number of values of C."""
        return int(self.C.size)

    @property
    def mean(self) -> Floats:
        """The mean score of each C."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def error(self) -> Floats:
        """The standard error of each mean."""
        folds = self.scores.shape[1]
        return np.asarray(self.scores.std(axis=1, ddof=min(1, folds - 1)) / np.sqrt(folds))

    def best(self, rule: str = "best") -> int:
        """The place of the C with the best mean score, the smallest of equals.

        ``"one_se"`` is the smallest C whose mean is within one standard error of the best.
        """
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean)
        best = int(np.argmax(mean))
        if rule == "one_se":
            return int(np.flatnonzero(mean >= mean[best] - self.error[best])[0])
        return best

    def kept(self, chosen: int, scoring: str) -> dict[str, Any]:
        """What files keep of it: a mean score and its error for each C, and which was chosen."""
        return {
            "C": self.C.tolist(),
            "mean": self.mean.tolist(),
            "error": self.error.tolist(),
            "chosen": chosen,
            "scoring": scoring,
            "folds": int(self.scores.shape[1]),
        }
