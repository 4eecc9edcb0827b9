"""Small data, by seed, in memory and by blocks."""

from functools import cache

import numpy as np
from scipy import sparse

from pegasos.data.dataset import Chunks, Data

N, LANES = 1280, 3
FEATURES = {"dense": 12, "csr": 60}
SAMPLED = 17_408, 30  # rows and features of which Newton begins with a sixteenth of the rows
SITES = ("memory", "disk")
ALIGNED = tuple(range(0, N + 1, 256))  # blocks that begin where samples of rows do
UNEVEN = (0, 100, 101, 700, 1100, N)


class Blocks(Chunks):
    """Rows by blocks that end at ``ends``, sparse ones each as wide as its rows; reads count."""

    def __init__(self, X, y, weight=None, ends=UNEVEN):
        self.X, self.y, self.weight, self.ends, self.reads = X, y, weight, ends, 0

    @property
    def n_blocks(self):
        return len(self.ends) - 1

    def read(self, number):
        self.reads += 1
        rows = slice(self.ends[number], self.ends[number + 1])
        X = self.X[rows]
        if sparse.issparse(X) and X.nnz:
            X = X[:, : int(X.indices.max()) + 1]
        return Data(X, self.y[rows], None if self.weight is None else self.weight[rows])

    def check_used(self):
        """Raise unless blocks were read to be trained on, and not only to be looked at."""
        if self.reads < 2 * self.n_blocks:
            raise RuntimeError(f"{self.reads} reads of {self.n_blocks} blocks: the fit took all")


class Toy:
    """Overlapping classes: X, the signs of one lane and of several, classes, and weights."""

    def __init__(self, rows, n, d, kind):
        rng = np.random.default_rng(n + d)
        X = rng.standard_normal((n, d)) + 0.3
        if rows == "csr":
            X *= rng.random((n, d)) < np.linspace(0.02, 0.5, d)  # features rare and frequent
        scores = X @ rng.standard_normal((d, LANES)) + rng.standard_normal((n, LANES))
        self.signs = np.where(scores > np.median(scores, axis=0), 1, -1).astype(np.int8)
        self.y = self.signs[:, 0]
        self.classes = np.argmax(scores, axis=1)
        self.weight = rng.uniform(0.5, 2.0, n)
        self.weight[7::50] = 0.0  # as if the row were not there
        X = (10 * np.abs(X) if np.dtype(kind).kind in "iu" else X).astype(kind)
        self.X = sparse.csr_matrix(X) if rows == "csr" else X

    def labels(self, lanes):
        return self.y if lanes == "one lane" else self.signs


@cache
def toy(rows="dense", n=N, d=None, kind="float64"):
    return Toy(rows, n, d or FEATURES[rows], kind)
