"""The Gram matrix by rows: a float32 cache for steering, exact products for proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.kernel.kernels import Floats, Kernel, squared_norms

_BLOCK_VALUES = 1 << 22  # of K, at a time
_LOOKED_AT = 512  # rows


class Gram(Protocol):
    """K of the training rows."""

    @property
    def n(self) -> int:
        """Its size."""

    def rows(self, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of its rows, for steering."""

    def diagonal(self) -> Floats:
        """Its diagonal."""

    def times(self, coef: Floats) -> Floats:
        """K coef in float64, from scratch."""


class KernelGram:
    """K of a kernel and rows X."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        """Nothing is computed yet but norms."""
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        self._norms = None if kernel.function is not None else squared_norms(X)

    def rows(self, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of its rows, for steering."""
        return self.kernel.block(self.X[chosen], self.X, np.float32, self._norms)

    def diagonal(self) -> Floats:
        """Its diagonal."""
        return self.kernel.diagonal(self.X)

    def times(self, coef: Floats) -> Floats:
        """K coef in float64, from scratch."""
        return kernel_scores(self.kernel, self.X, self.X, coef)


@dataclass(frozen=True)
class MatrixGram:
    """A Gram matrix that is there already."""

    K: NDArray[Any]

    @property
    def n(self) -> int:
        """Its size."""
        return int(self.K.shape[0])

    def rows(self, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of its rows, for steering."""
        return np.ascontiguousarray(self.K[chosen], dtype=np.float32)

    def diagonal(self) -> Floats:
        """Its diagonal."""
        return np.ascontiguousarray(np.diagonal(self.K), dtype=np.float64)

    def times(self, coef: Floats) -> Floats:
        """K coef in float64, from scratch."""
        return np.asarray(self.K @ coef, dtype=np.float64)


def kernel_scores(kernel: Kernel, rows: Any, support: Any, coef: Floats) -> Floats:
    """K(rows, support) coef in float64, by blocks; coef is (support,) or (support, k)."""
    used = np.flatnonzero(coef if coef.ndim == 1 else np.any(coef, axis=1))
    support, coef = support[used], coef[used]
    out = np.zeros((rows.shape[0], *coef.shape[1:]))
    if not used.size:
        return out
    norms = squared_norms(support) if kernel.function is None else None
    step = max(1, _BLOCK_VALUES // used.size)
    for lo in range(0, rows.shape[0], step):
        out[lo : lo + step] = kernel.block(rows[lo : lo + step], support, norms=norms) @ coef
    return out


def check_semidefinite(gram: Gram) -> None:
    """Raise ValueError where some of the rows prove that K is not positive semidefinite.

    All of them, up to 512; beyond, as many at equal distances: a proof against K, none for it.
    """
    chosen = np.unique(np.linspace(0, gram.n - 1, min(gram.n, _LOOKED_AT)).astype(np.intp))
    part = gram.rows(chosen)[:, chosen].astype(np.float64)
    values = np.linalg.eigvalsh((part + part.T) / 2)
    if values[0] < -1e-5 * max(abs(values[-1]), 1e-300):
        raise ValueError(
            "the kernel is not positive semidefinite on these rows (an eigenvalue of "
            f"{values[0]:.3g} beside one of {values[-1]:.3g}): there is no optimum to be near to; "
            "change gamma or coef0, or take another kernel"
        )


class Cache:
    """Rows of K, as many as memory allows; the least recently used make room."""

    def __init__(self, gram: Gram, megabytes: float) -> None:
        """Room for at least four rows: half of them may be replaced, and a step needs two."""
        n = gram.n
        self.gram = gram
        self.places = int(min(n, max(4, megabytes * 1e6 / (4 * n))))
        self.rows = np.empty((self.places, n), dtype=np.float32)
        self.place = np.full(n, -1, dtype=np.int32)
        self.used = np.zeros(self.places, dtype=np.int64)
        self.owner = np.full(self.places, -1, dtype=np.intp)
        self.clock, self.filled, self.computed = 0, 0, 0

    def fetch(self, chosen: NDArray[np.intp]) -> None:
        """Have these rows, none of which is there."""
        chosen = chosen[: max(1, self.places // 2)]
        if self.filled + chosen.size <= self.places:
            at = np.arange(self.filled, self.filled + chosen.size)
            self.filled += chosen.size
        else:
            at = np.argpartition(self.used, chosen.size - 1)[: chosen.size]
            gone = self.owner[at]
            self.place[gone[gone >= 0]] = -1
        self.rows[at] = self.gram.rows(chosen)
        self.computed += chosen.size
        self.owner[at], self.place[chosen] = chosen, at
        self.clock += 1
        self.used[at] = self.clock
