"""A site of a stranger's: rows in a Python list of Python objects, handed over some at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from pegasos.sites import Blocks


@dataclass(frozen=True)
class Row:
    """One example: what its features are, but for those that are 0."""

    values: dict[int, float]


class ListRows(Blocks):
    """Parts of at most ``most`` rows."""

    name: ClassVar[str] = "list"
    where: ClassVar[str] = "in a Python list"
    exact_norms = True

    def __init__(self, rows: list[Row], features: int, *, dense: bool, most: int = 48) -> None:
        """Parts become arrays if ``dense``, else CSR matrices."""
        self.list, self.features, self.arrays, self.most = rows, features, dense, most

    @classmethod
    def of(cls, X, **options):
        """The rows of an array or matrix."""
        csr = sparse.csr_array(X)
        pairs = zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
        rows = [
            Row(dict(zip(csr.indices[lo:hi].tolist(), csr.data[lo:hi].tolist(), strict=True)))
            for lo, hi in pairs
        ]
        return cls(rows, X.shape[1], dense=not sparse.issparse(X), **options)

    @property
    def shape(self):
        """Rows and features."""
        return len(self.list), self.features

    @property
    def of_arrays(self):
        """Whether parts are arrays."""
        return self.arrays

    @property
    def stored(self):
        """Values and bytes of a row, on average, and values of the longest."""
        sizes = [self.features if self.arrays else len(row.values) for row in self.list]
        return float(np.mean(sizes)), 12.0 * float(np.mean(sizes)), max(sizes)

    def parts(self):
        """The rows of each part."""
        n = len(self.list)
        return [(lo, min(n, lo + self.most)) for lo in range(0, n, self.most)]

    def block(self, lo, hi, workers, only=None):  # noqa: ARG002 - all rows, on one thread
        """The rows of a part."""
        rows = [sorted(row.values.items()) for row in self.list[lo:hi]]
        ends = np.cumsum([0, *map(len, rows)])
        features, values = (np.array([pair[k] for row in rows for pair in row]) for k in (0, 1))
        found = sparse.csr_array((values, features, ends), shape=(hi - lo, self.features))
        return found.toarray() if self.arrays else found

    def norm_bounds(self):
        """|x|^2 of every row."""
        return np.array([sum(v * v for v in row.values.values()) for row in self.list])
