"""The objective in plain NumPy, float64: what every peer is judged by."""

import numpy as np

_BLOCK_VALUES = 1 << 22


def primal(X, y, w, lam):
    """lam/2 |w|^2 + mean hinge loss, a block of rows at a time."""
    step = max(1, _BLOCK_VALUES // X.shape[1]) if isinstance(X, np.ndarray) else X.shape[0]
    w = np.asarray(w, np.float64)
    loss = 0.0
    for lo in range(0, X.shape[0], step):
        margins = y[lo : lo + step] * (X[lo : lo + step] @ w)
        loss += np.maximum(0.0, 1.0 - margins).sum()
    return float(lam / 2 * (w @ w) + loss / y.size)
