"""A validation set of the user's: every record is scored, and the best model kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.run.history import Record
from pegasos.run.outcome import Outcome


class Validation:
    """A monitor that keeps the best model, and a callback that stops when no better one comes."""

    def __init__(self, score: Callable[[Floats, Floats], float], patience: int | None) -> None:
        """``score`` takes coefficients (lanes, d) and intercepts (lanes,)."""
        self.score, self.patience = score, patience
        self.best: tuple[float, Floats, Floats] | None = None
        self.record: Record | None = None
        self.since, self.stopped = 0, False

    def __call__(self, W: Floats, b: Floats) -> float:
        """The score of a model; the first of equals is the best."""
        score = self.score(W[:-1].T, b)
        self.since += 1
        if self.best is None or score > self.best[0]:
            self.best, self.since, self.record = (score, W.copy(), b.copy()), 0, None
        return score

    def stop(self, record: Record) -> bool:
        """Whether it is time to: a callback."""
        if self.record is None:
            self.record = record  # the best model's
        self.stopped = self.patience is not None and self.since >= self.patience
        return self.stopped

    def arrays(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        if self.best is None or self.record is None:
            return {}
        score, W, b = self.best
        return {"W": W, "b": b, "numbers": np.array([score, self.since, self.record.examples])}

    def restore(self, arrays: dict[str, Any], records: Sequence[Record]) -> None:
        """Go on from there."""
        if arrays:
            score, since, examples = arrays["numbers"].tolist()
            self.best, self.since = (score, arrays["W"], arrays["b"]), int(since)
            self.record = next(record for record in records if record.examples == examples)

    def chosen(self, outcome: Outcome) -> Outcome:
        """The best model, in place of the last."""
        if self.best is None or self.record is None:
            return outcome
        _, W, b = self.best
        return replace(outcome, W=W, b=b, certificate=self.record.certificate)


def checked_set(eval_set: Any) -> tuple[Any, Any]:
    """``eval_set`` as (X, y); a list of one such pair is accepted too."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise ValueError("eval_set must be a pair (X, y)")
    return eval_set[0], eval_set[1]
