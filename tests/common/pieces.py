"""Chunks for tests, as a user would bring them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from pegasos.data.dataset import Chunks, Data


class Uneven(Chunks):
    """Blocks of any sizes and number types, sparse ones each as wide as its rows."""

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        ends: Sequence[int] = (0, 100, 101, 700, 1500, 3000),
        kinds: Sequence[Any] | None = None,
    ) -> None:
        """Blocks end at ``ends``; ``kinds`` are their types of numbers."""
        self.X, self.y, self.weight, self.ends, self.kinds = X, y, weight, ends, kinds
        self.reads = 0

    @property
    def n_blocks(self) -> int:
        """How many there are."""
        return len(self.ends) - 1

    def read(self, number: int) -> Data:
        """One of them."""
        self.reads += 1
        part = slice(self.ends[number], self.ends[number + 1])
        X = self.X[part] if self.kinds is None else self.X[part].astype(self.kinds[number])
        if sparse.issparse(X) and X.nnz:
            X = X[:, : int(X.indices.max()) + 1]
        return Data(X, self.y[part], None if self.weight is None else self.weight[part])
