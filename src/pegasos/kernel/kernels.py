"""Kernels by name: products of rows, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import sparse
from pegasos.arguments import number
from pegasos.rows import products

Floats = NDArray[np.float64]
NAMES = ("linear", "rbf", "poly", "sigmoid")


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

    def block(
        self, A: Any, B: Any, dtype: Any = np.float64, norms: Floats | None = None
    ) -> NDArray[Any]:
        """The matrix (rows of A, rows of B); float32 is for steering only.

        ``norms`` are the squared ones of B, where they are known.
        """
        if self.function is not None:
            found = np.asarray(self.function(A, B), dtype=dtype)
            if found.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    f"kernel must return ({A.shape[0]}, {B.shape[0]}), got shape {found.shape}"
                )
            return found
        right = squared_norms(B) if norms is None else norms
        return self.of_products(inner_products(A, B, dtype), squared_norms(A), right)

    def of_products(self, inner: NDArray[Any], left: Floats, right: Floats) -> NDArray[Any]:
        """Kernel values in place of products x.z; ``left``, ``right`` are squared norms."""
        kind = inner.dtype.type
        if self.name == "linear":
            return inner
        if self.name == "rbf":
            inner *= kind(2)
            inner -= right.astype(kind)[None, :]
            inner -= left.astype(kind)[:, None]
            np.minimum(inner, kind(0), out=inner)  # a distance is not negative
            inner *= kind(self.gamma)
            np.exp(inner, out=inner)
            return inner
        inner *= kind(self.gamma)
        inner += kind(self.coef0)
        if self.name == "sigmoid":
            np.tanh(inner, out=inner)
        else:
            np.power(inner, kind(self.degree), out=inner)
        return inner

    def diagonal(self, X: Any) -> Floats:
        """K(x, x) of every row."""
        if self.function is not None:
            return np.array([float(np.asarray(self.function(X[i : i + 1], X[i : i + 1])).item())
                             for i in range(X.shape[0])])  # fmt: skip
        norms = squared_norms(X)
        if self.name == "rbf":
            return np.ones(norms.size)
        return self.of_products(norms[:, None].copy(), norms, norms)[:, 0]


def inner_products(A: Any, B: Any, dtype: Any) -> NDArray[Any]:
    """A B' of dense or sparse rows."""
    if sparse.issparse(B):
        dense = A.toarray() if sparse.issparse(A) else A
        return np.ascontiguousarray(products(B, np.asarray(dense, np.float64)).T, dtype=dtype)
    if sparse.issparse(A):
        return np.asarray((A @ np.asarray(B, np.float64).T), dtype=dtype)
    return np.asarray(np.asarray(A, dtype=dtype) @ np.asarray(B, dtype=dtype).T)


def squared_norms(X: Any) -> Floats:
    """|x|^2 of every row."""
    if sparse.issparse(X):
        squares = X.data.astype(np.float64) ** 2
        sums = np.add.reduceat(np.append(squares, 0.0), X.indptr[:-1])
        return np.asarray(np.where(np.diff(X.indptr) > 0, sums, 0.0))
    wide = np.asarray(X, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", wide, wide))


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
        sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        mean = float(share @ sums)
        if sparse.issparse(X):
            variance = float(share @ squared_norms(X)) - mean**2
        else:
            variance = float(share @ squared_norms(np.asarray(X, dtype=np.float64) - mean))
        return 1.0 / (d * variance) if variance > 0 else 1.0
    if not (np.isfinite(number("gamma", gamma)) and gamma >= 0):
        raise ValueError(f"gamma must be finite and not negative, got {gamma}")
    return float(gamma)
