"""The data of the experiments: real from ``PEGASOS_DATA``, otherwise generated and named stand-in.

Every function takes ``rows``: the first so many only. What was loaded is kept for the next one.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import datasets
from benchmarks.datasets.dense_500k import make_dense
from pegasos.data.synthetic import make_news

REAL, SUBSET, STAND_IN = "real", "real, a subset", "stand-in"


@dataclass(frozen=True, eq=False)
class Data:
    """Rows and labels, and what they are."""

    title: str
    kind: str
    X: Any
    y: np.ndarray  # int8 in {-1, +1}, or classes

    def about(self):
        """What goes into a result."""
        n, d = self.X.shape
        return {"title": self.title, "kind": self.kind, "rows": n, "features": d}

    def first(self, rows):
        """The first so many rows; None is all of them."""
        if rows is None or rows >= self.y.size:
            return self
        return Data(self.title, self.kind, self.X[:rows], self.y[:rows])

    def split(self, share=0.13):
        """All but the last rows, and the last ``share`` of them, in the order they have."""
        at = round(self.y.size * (1 - share))
        return (
            Data(self.title, self.kind, self.X[:at], self.y[:at]),
            Data(self.title, self.kind, self.X[at:], self.y[at:]),
        )


def rcv1(rows=None):
    """RCV1, CCAT against the rest: 27,613 of the 804,414 documents."""
    found = _real("rcv1", "RCV1 CCAT", SUBSET)
    return (found or _news("RCV1-shaped", rows or 27_613, 47_236)).first(rows)


def reuters(rows=804_414):
    """Documents of RCV1's shape, as many as the sources had: always generated."""
    return _news("RCV1-shaped", rows, 47_236)


def astro_ph(rows=62_369):
    """Abstracts of physics papers, by shape: always generated."""
    return _news("astro-ph-shaped", rows, 99_757)


def covertype(rows=None, positive=1):
    """Covertype, a class against the rest, columns in [0, 1]."""
    found = _covertype()
    if found is None:
        return _dense("covertype-shaped", rows or 581_012, 54)
    y = datasets.signs(found.y == positive)
    return Data(found.title, found.kind, found.X, y).first(rows)


def adult(rows=None):
    """a9a."""
    found = _real("a9a", "a9a", REAL)
    return (found or _binary("a9a-shaped", rows or 32_561, 123, 14)).first(rows)


def web(rows=None):
    """w8a."""
    found = _real("w8a", "w8a", REAL)
    return (found or _binary("w8a-shaped", rows or 49_749, 300, 12)).first(rows)


def fashion(rows=None):
    """Fashion-MNIST, ten classes: the part to train on, and the one to test on."""
    return tuple(part.first(rows) for part in _fashion(rows))


@cache
def _real(name, title, kind):
    try:
        return Data(title, kind, *datasets.module(name).load())
    except datasets.MissingError:
        return None


@cache
def _covertype():
    module = datasets.module("covtype")
    try:
        return Data("covertype", REAL, *module.load_classes())
    except datasets.MissingError:
        return None


@cache
def _fashion(rows):
    module = datasets.module("fashion_mnist")
    try:
        return tuple(
            Data(f"Fashion-MNIST, {part}", REAL, *module.load_classes(file))
            for part, file in (("train", "train"), ("test", "t10k"))
        )
    except datasets.MissingError:
        return _images(rows or 60_000), _images(rows or 10_000, first=1)


@cache
def _news(title, rows, features):
    X, y = make_news(rows, features)
    return Data(title, STAND_IN, datasets.as_csr(X.data, X.indices, X.indptr, X.shape), y)


@cache
def _dense(title, rows, features):
    X, y = make_dense(rows, features)
    X -= X.min(axis=0)
    X /= X.max(axis=0)
    return Data(title, STAND_IN, X, y)


@cache
def _binary(title, rows, features, per_row):
    """Rows of zeros and ones, some features far more frequent; a noisy linear rule."""
    rng = np.random.default_rng(0)
    rate = 1 / (1 + np.arange(features))
    rate = np.minimum(0.9, rate * per_row / rate.sum())
    X = (rng.random((rows, features)) < rate).astype(np.float32)
    score = (X - rate) @ rng.standard_normal(features)
    y = datasets.signs(score + 0.5 * rng.standard_normal(rows) > np.quantile(score, 0.75))
    sparse = csr_matrix(X)
    return Data(
        title, STAND_IN, datasets.as_csr(sparse.data, sparse.indices, sparse.indptr, X.shape), y
    )


@cache
def _images(rows, first=0):
    """Ten classes of 28 x 28 pictures in [0, 1]: a blurred pattern each, and noise."""
    rng = np.random.default_rng(0)
    coarse = rng.random((10, 7, 7))
    patterns = np.kron(coarse, np.ones((4, 4))).reshape(10, 784)
    rng = np.random.default_rng((1, first))
    classes = rng.integers(0, 10, rows)
    other = rng.integers(0, 10, rows)  # what makes classes alike
    share = 0.55 * rng.random((rows, 1))
    X = (1 - share) * patterns[classes] + share * patterns[other]
    X += 0.3 * rng.standard_normal(X.shape)
    X = np.clip(X, 0, 1).astype(np.float32)
    title = "Fashion-MNIST-shaped, test" if first else "Fashion-MNIST-shaped, train"
    return Data(title, STAND_IN, X, classes.astype(np.uint8))
