"""Generated dense data: 500,000 x 100, correlated features, a few per cent of labels wrong.

Features have variance 1 and share FACTORS common factors, so that their correlations reach both
high and low. A label is the sign of a linear function plus noise: no w gets them all right.
"""

import math

import numpy as np

from benchmarks.datasets import signs

TITLE = "dense, 500,000 rows"
TASK = "the sign of a noisy linear function"
GENERATED = True

FACTORS = 20
COMMON = 0.8  # share of a feature's variance that comes from the factors
WRONG = 0.05  # share of labels on the wrong side of the noiseless function
BLOCK = 50_000  # rows drawn at once; bounds the memory


def make_dense(n_rows=500_000, n_features=100, *, seed=0):
    """X, (n_rows, n_features) float32, and y in {-1, +1}."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((FACTORS, n_features))
    loadings *= math.sqrt(COMMON) / np.linalg.norm(loadings, axis=0)
    w = rng.standard_normal(n_features)
    # The score's variance, and the noise that turns the sign of WRONG of the Gaussian scores.
    deviation = math.sqrt(np.sum((loadings @ w) ** 2) + (1 - COMMON) * w @ w)
    noise = deviation * math.tan(math.pi * WRONG)
    X, y = np.empty((n_rows, n_features), np.float32), np.empty(n_rows, np.int8)
    for lo in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - lo)
        own = math.sqrt(1 - COMMON) * rng.standard_normal((size, n_features))
        rows = rng.standard_normal((size, FACTORS)) @ loadings + own
        X[lo : lo + size] = rows
        y[lo : lo + size] = signs(rows @ w + noise * rng.standard_normal(size) > 0)
    return X, y


def load():
    return make_dense()
