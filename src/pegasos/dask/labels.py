"""From the y of a part to the labels of its lanes, on the worker that holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.sites.cluster.part import Part
from pegasos.sites.cluster.part_duals import padded
from pegasos.sites.merge import Reply
from pegasos.tasks.labels import one_vs_rest


def signs(part: Part) -> NDArray[np.int8]:
    """Those that y holds, of every lane."""
    labels = np.asarray(part.y)
    bad = np.argwhere(~np.isin(labels, (-1, 0, 1)))
    if bad.size:
        raise ValueError(f"y must hold -1, 0 and +1, got {labels[tuple(bad[0])]!r}")
    return labels.astype(np.int8)


@dataclass(frozen=True)
class OneVsRest:
    """Each class against the rest; with ``folds``, without each of them, one after the other."""

    classes: NDArray[Any]
    folds: int = 0
    seed: int = 0  # of the folds

    def __call__(self, part: Part) -> NDArray[np.int8]:
        """The labels of a part."""
        codes = np.searchsorted(self.classes, part.y)
        labels, _, _ = one_vs_rest(codes, np.ones(self.classes.size))
        if not self.folds:
            return labels
        fold = self.fold_of_rows(codes, part.chunks)
        return np.concatenate(
            [np.where(fold[:, None] == k, 0, labels) for k in range(self.folds)], axis=1
        ).astype(np.int8)

    def fold_of_rows(
        self, codes: NDArray[np.intp], chunks: list[tuple[int, int]]
    ) -> NDArray[np.intp]:
        """The fold that holds a row out: the rows of a class in a chunk are dealt to all of them.

        Chunks begin with different folds, and what they deal depends on nothing but their number.
        """
        fold, first = np.empty(codes.size, dtype=np.intp), 0
        for number, size in chunks:
            rng = np.random.default_rng([self.seed, number])
            order = first + rng.permutation(size)
            start = rng.integers(self.folds)
            for code in range(self.classes.size):
                rows = order[codes[order] == code]
                fold[rows] = (np.arange(rows.size) + start + code) % self.folds
            first += size
        return fold

    def score(self, part: Part, W: Floats, b: Floats) -> Reply:
        """Of every fold: the weight of the rows held out, and of those that its model has right."""
        assert part.rows is not None
        z = part.rows.products(padded(W), W.shape[1], part.threads) + b
        codes = np.searchsorted(self.classes, part.y)
        fold = self.fold_of_rows(codes, part.chunks)
        weight = np.ones(part.n) if part.weight is None else part.weight[:, 0]
        out = np.zeros((2, self.folds))
        for k, scores in enumerate(np.split(z, self.folds, axis=1)):
            held = fold == k
            one = scores.shape[1] == 1
            guess = (scores[:, 0] > 0).astype(np.intp) if one else scores.argmax(axis=1)
            out[0, k] = weight[held].sum()
            out[1, k] = weight[held & (guess == codes)].sum()
        return {"held_out": ("sum", out)}
