"""Kernels by name: products of rows, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.util import sparse
from pegasos.util.arguments import number

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Index = NDArray[np.intp]
NAMES = ("linear", "rbf", "poly", "sigmoid")
_OFF_CENTRE = 10.0  # times the spread of rows
_LARGEST = 1e30  # K(x, x): sums of float32 values have to be finite


@dataclass(frozen=True)
class Kernel:
    """K(x, z): x.z, exp(-gamma |x - z|^2), (gamma x.z + coef0)^degree, tanh(gamma x.z + coef0).

    ``function`` is a user's own instead: it takes two blocks of rows and returns their matrix.
    """

    name: str = "rbf"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0
    function: Callable[[Any, Any], Any] | None = None

    @property
    def certain(self) -> bool:
        """Whether it is positive semidefinite for any rows."""
        if self.function is not None or self.name == "sigmoid":
            return False
        return self.name != "poly" or (self.coef0 >= 0 and float(self.degree).is_integer())

    @property
    def core(self) -> _core.Mercer:
        """The core's, of one that has a name."""
        return _core.Mercer(self.name, self.gamma, self.degree, self.coef0)

    def block(self, A: Any, B: Any) -> Floats:
        """The matrix (rows of A, rows of B)."""
        if self.function is not None:
            found = np.asarray(self.function(A, B), dtype=np.float64)
            if found.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    f"kernel must return ({A.shape[0]}, {B.shape[0]}), got shape {found.shape}"
                )
            if not np.isfinite(found).all():
                raise ValueError("kernel returned values that are not finite")
            return found
        if sparse.issparse(A):
            inner = np.ascontiguousarray((A.astype(np.float64) @ B.T).toarray())
        else:
            inner = np.asarray(A, dtype=np.float64) @ np.asarray(B, dtype=np.float64).T
        self.core.values(inner, squared_norms(A), squared_norms(B), 1)
        return inner

    def diagonal(self, X: Any) -> Floats:
        """K(x, x) of every row."""
        if self.function is not None:
            return np.array([float(np.asarray(self.function(X[i : i + 1], X[i : i + 1])).item())
                             for i in range(X.shape[0])])  # fmt: skip
        norms = squared_norms(X)
        if self.name == "rbf":
            return np.ones(norms.size)
        found = norms[None, :].copy()
        self.core.values(found, np.zeros(1), norms, 1)  # the norms are for rbf alone
        if not found.max() < _LARGEST:
            raise ValueError(
                f"the {self.name} kernel is too large for float32: {found.max():.3g} at row "
                f"{int(found.argmax())}; scale the features, or lower gamma, degree or coef0"
            )
        return np.asarray(found[0])


def squared_norms(X: Any) -> Floats:
    """|x|^2 of every row."""
    if sparse.issparse(X):
        squares = X.data.astype(np.float64) ** 2
        sums = np.add.reduceat(np.append(squares, 0.0), X.indptr[:-1])
        return np.asarray(np.where(np.diff(X.indptr) > 0, sums, 0.0))
    wide = np.asarray(X, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", wide, wide))


def centre_of(kernel: Kernel | None, X: Any) -> Floats | None:
    """The mean of dense rows that are far from the origin, for rbf: distances do not need it.

    Less it they keep their digits. None where it does not matter, and rows stay as they are.
    """
    if kernel is None or kernel.name != "rbf" or sparse.issparse(X):
        return None
    centre: Floats = X.mean(axis=0, dtype=np.float64)
    spread = np.abs(X - centre).max()
    return centre if np.abs(centre).max() > _OFF_CENTRE * spread else None


def centred(X: Any, centre: Floats | None) -> Any:
    """X less that."""
    if centre is None:
        return X
    return (X.toarray() if sparse.issparse(X) else X) - centre


def gamma_of(gamma: Any, X: Any, weight: Floats) -> float:
    """scikit-learn's: ``"scale"`` is 1 / (features x variance of X), ``"auto"`` 1 / features.

    Rows count by their weights (n,) in the variance: a weight of 2 is the row twice here too.
    """
    d = X.shape[1]
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / float(d)
        if gamma != "scale":
            raise ValueError(f"gamma must be 'scale', 'auto' or a number, got {gamma!r}")
        share = weight / (weight.sum() * d)
        mean = float(share @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel())
        if sparse.issparse(X):
            variance = float(share @ squared_norms(X)) - mean**2
        else:
            variance = float(share @ squared_norms(np.asarray(X, dtype=np.float64) - mean))
        return 1.0 / (d * variance) if variance > 0 else 1.0
    if not (np.isfinite(number("gamma", gamma)) and gamma >= 0):
        raise ValueError(f"gamma must be finite and not negative, got {gamma}")
    return float(gamma)
