"""Predictions counted against labels, and written as text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pegasos.certificate import Floats
from pegasos.cli.say import class_name
from pegasos.data.dataset import Data
from pegasos.model.linear import LinearModel
from pegasos.report import Scored, about_model
from pegasos.util import sparse


class Tally:
    """Rows that were predicted; those with labels are counted by the class predicted."""

    def __init__(self, model: LinearModel) -> None:
        """Nothing counted."""
        self.model = model
        self.scored = Scored(about_model(model), most=0)
        self.rows = self.widest = self.skipped = 0

    def add(self, block: Data, scores: Floats) -> None:
        """Count a block."""
        self.rows += block.n
        self.skipped += block.bad_count
        if block.X is not None:
            self.widest = max(self.widest, block.X.shape[1])
        if block.y is not None:
            self.scored.add(scores, block.y, label_names=block.label_names)

    def table(self) -> list[dict[str, Any]]:
        """The confusion matrix, or of labels their counts: each with its precision and recall."""
        per, names = self.scored.per_class, self.scored.about.classes
        if self.scored.about.labels:
            counts = {"rows": per.rows, "said": per.said, "both": per.hits}
        else:
            counts = {f"as {name}": self.scored.counts[:, k] for k, name in enumerate(names)}
        return [
            {"class": name}
            | {what: int(count[k]) for what, count in counts.items()}
            | {"precision": float(per.precision[k]), "recall": float(per.recall[k])}
            for k, name in enumerate(names)
        ]


def text_of_classes(model: LinearModel, chosen: Any) -> bytes:
    """A class a line; of labels, those of a row with commas."""
    names = [class_name(value).encode() for value in model.classes]
    if model.scheme != "labels":
        ends = [name + b"\n" for name in names]
        return b"".join([ends[code] for code in chosen.tolist()])
    indicator = sparse.csr_matrix(chosen)
    found = indicator.indices.tolist()
    starts = indicator.indptr.tolist()
    return b"".join(
        b",".join([names[j] for j in found[lo:hi]]) + b"\n" for lo, hi in pairwise(starts)
    )


def text_of_numbers(values: Floats) -> bytes:
    """Numbers a line, tabs between them; they read back as the same bits."""
    if values.ndim == 1:
        return "".join([f"{value!r}\n" for value in values.tolist()]).encode()
    return "".join(["\t".join(map(repr, row)) + "\n" for row in values.tolist()]).encode()
