"""Predictions counted against labels, and written as text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import sparse
from pegasos.cli.say import class_name
from pegasos.data.dataset import Data
from pegasos.model import LinearModel


class Tally:
    """Rows by their class and the class that was predicted."""

    def __init__(self, model: LinearModel) -> None:
        """Nothing counted."""
        self.model = model
        self.names = [class_name(value) for value in model.classes]
        self._code = {name: code for code, name in enumerate(self.names)}
        self.counts = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        zeros = np.zeros(len(self.names), dtype=np.int64)
        self.of_label = {name: zeros.copy() for name in ("rows", "said", "both")}
        self.rows = self.labelled = self.right = self.unknown = self.widest = self.skipped = 0

    def add(self, block: Data, chosen: Any) -> None:
        """Count a block; ``chosen`` are codes of classes, or an indicator matrix."""
        self.rows += block.n
        self.skipped += block.bad_count
        if block.X is not None:
            self.widest = max(self.widest, block.X.shape[1])
        if block.y is None:
            return
        self.labelled += block.n
        if self.model.scheme == "labels":
            self._add_labels(block, chosen)
            return
        if block.y.ndim == 2:
            raise ValueError("the data have several labels a row, the model has classes")
        values, place = np.unique(block.y, return_inverse=True)
        codes = np.array([self._code.get(class_name(v), -1) for v in values], dtype=np.intp)[place]
        known = codes >= 0
        self.unknown += int(np.count_nonzero(~known))
        self.right += int(np.count_nonzero(codes == chosen))
        np.add.at(self.counts, (codes[known], chosen[known]), 1)

    def _add_labels(self, block: Data, chosen: Any) -> None:
        """All labels of a row have to be right."""
        names = block.label_names if block.label_names is not None else range(block.y.shape[1])
        columns = [self._code.get(class_name(name), -1) for name in names]
        truth = sparse.coo_matrix(block.y)
        kept = np.array(columns, dtype=np.intp)[truth.col]
        self.unknown += int(np.count_nonzero(kept < 0))
        inside = kept >= 0
        same = sparse.csr_matrix(
            (np.ones(int(inside.sum()), dtype=np.int64), (truth.row[inside], kept[inside])),
            shape=chosen.shape,
        )
        wrong = np.diff((same != chosen).tocsr().indptr) > 0
        wrong[truth.row[~inside]] = True
        self.right += int(np.count_nonzero(~wrong))
        hits = same.multiply(chosen)
        for name, one in (("both", hits), ("rows", same), ("said", chosen)):
            self.of_label[name] += np.asarray(one.sum(axis=0)).ravel().astype(np.int64)

    @property
    def accuracy(self) -> float:
        """The share of rows that are right."""
        return self.right / max(1, self.labelled)

    def table(self) -> list[dict[str, Any]]:
        """The confusion matrix, or of labels their counts: each with its precision and recall."""
        rows = []
        for k, name in enumerate(self.names):
            row: dict[str, Any] = {"class": name}
            if self.model.scheme == "labels":
                row |= {what: int(count[k]) for what, count in self.of_label.items()}
                hits, actual, said = row["both"], row["rows"], row["said"]
            else:
                hits, actual = self.counts[k, k], self.counts[k].sum()
                said = self.counts[:, k].sum()
                row |= {
                    f"as {other}": int(c)
                    for other, c in zip(self.names, self.counts[k], strict=True)
                }
            row["precision"] = float(hits / said) if said else 0.0
            row["recall"] = float(hits / actual) if actual else 0.0
            rows.append(row)
        return rows


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


def text_of_numbers(values: NDArray[np.float64]) -> bytes:
    """Numbers a line, tabs between them; they read back as the same bits."""
    if values.ndim == 1:
        return "".join([f"{value!r}\n" for value in values.tolist()]).encode()
    return "".join(["\t".join(map(repr, row)) + "\n" for row in values.tolist()]).encode()
