"""The Gram matrix by rows: float32 ones for steering, exact products for proofs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import UNIT_ROUNDOFF, GaveUp, GiveUp, never
from pegasos.kernel.kernels import Floats, Kernel
from pegasos.kernel.points import Points, roundings

NOT_SEMIDEFINITE = (
    "the kernel is not positive semidefinite on these rows ({}): there is no optimum to be near "
    "to; change gamma or coef0, or take another kernel"
)
_LOOKED_AT = 512  # rows
_BLOCK_VALUES = 1 << 22  # of K, at a time


class Gram(Protocol):
    """K of the training rows."""

    @property
    def n(self) -> int:
        """Its size."""

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Some of its rows, for steering, to their places in ``out``."""

    def diagonal(self) -> Floats:
        """Its diagonal."""

    def rounding(self) -> float:
        """How far an entry in float64 may be from what it should be, sums of many included."""

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""

    def some(self, chosen: NDArray[np.intp], coef: Floats) -> Floats:
        """Some entries of K coef."""

    def take(self, keep: NDArray[np.intp]) -> Gram:
        """K of some of the rows alone."""

    def part(self, chosen: NDArray[np.intp]) -> Floats:
        """K of some rows with each other."""

    def memory(self) -> dict[str, NDArray[Any]]:
        """In what order rows were made that others share: their last bits depend on it."""

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Make them in this order."""


class Unshared:
    """Rows that are made for one problem alone."""

    def memory(self) -> dict[str, NDArray[Any]]:
        """Nothing."""
        return {}

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """There is nothing to remember."""


class KernelGram(Unshared):
    """K of a kernel and rows X."""

    def __init__(self, kernel: Kernel, X: Any, n_jobs: int | None = None) -> None:
        """Nothing is computed yet."""
        self.points = Points(kernel, X, n_jobs)
        self.n = self.points.n

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        self.points.rows(chosen, out, place)

    def diagonal(self) -> Floats:
        """Its diagonal."""
        return self.points.diagonal

    def rounding(self) -> float:
        """How far an entry in float64 may be from what it should be, sums of many included."""
        return self.points.rounding

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""
        return self.points.scores(self.points.X, coef, give_up)

    def some(self, chosen: NDArray[np.intp], coef: Floats) -> Floats:
        """Some entries of K coef."""
        return self._of(chosen).scores(self.points.X, coef)

    def take(self, keep: NDArray[np.intp]) -> KernelGram:
        """K of some of the rows alone."""
        return KernelGram(self.points.kernel, self.points.X[keep], self.points.n_jobs)

    def part(self, chosen: NDArray[np.intp]) -> Floats:
        """K of some rows with each other."""
        some = self.points.X[chosen]
        return self.points.kernel.block(some, some)

    def _of(self, chosen: NDArray[np.intp]) -> Points:
        return Points(self.points.kernel, self.points.X[chosen], self.points.n_jobs)


class MatrixGram(Unshared):
    """Some rows of a Gram matrix that is there already."""

    def __init__(self, K: NDArray[Any], index: NDArray[np.intp] | None = None) -> None:
        """All rows without ``index``."""
        self.K = K
        self.index = np.arange(K.shape[0]) if index is None else index
        self.n = int(self.index.size)
        self._whole = index is None

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        out[place] = self._block(self.index[chosen])

    def diagonal(self) -> Floats:
        """Its diagonal."""
        return np.ascontiguousarray(np.diagonal(self.K)[self.index], dtype=np.float64)

    def rounding(self) -> float:
        """How far sums of entries may be from what they should be: those themselves are given."""
        return roundings(self.n) * UNIT_ROUNDOFF * float(np.abs(self.diagonal()).max())

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""
        out = np.empty(coef.shape)
        step = max(1, _BLOCK_VALUES // self.n)
        for lo in range(0, self.n, step):
            if give_up():
                raise GaveUp
            out[lo : lo + step] = self._block(self.index[lo : lo + step]) @ coef
        return out

    def some(self, chosen: NDArray[np.intp], coef: Floats) -> Floats:
        """Some entries of K coef."""
        return np.asarray(self._block(self.index[chosen]) @ coef, dtype=np.float64)

    def take(self, keep: NDArray[np.intp]) -> MatrixGram:
        """K of some of the rows alone."""
        return MatrixGram(self.K, self.index[keep])

    def part(self, chosen: NDArray[np.intp]) -> Floats:
        """K of some rows with each other."""
        index = self.index[chosen]
        return np.asarray(self.K[np.ix_(index, index)], dtype=np.float64)

    def _block(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.K[rows] if self._whole else self.K[np.ix_(rows, self.index)]


class ShiftedGram:
    """K + 1: rows with a constant feature, whose weight is the intercept."""

    def __init__(self, gram: Gram) -> None:
        """Of another."""
        self.gram, self.n = gram, gram.n

    def rows(
        self, chosen: NDArray[np.intp], out: NDArray[np.float32], place: NDArray[np.intp]
    ) -> None:
        """Some of its rows, for steering, to their places in ``out``."""
        self.gram.rows(chosen, out, place)
        for at in place:
            out[at] += 1

    def diagonal(self) -> Floats:
        """Its diagonal."""
        return self.gram.diagonal() + 1

    def rounding(self) -> float:
        """How far an entry in float64 may be from what it should be, sums of many included."""
        return self.gram.rounding() + roundings(self.n) * UNIT_ROUNDOFF

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""
        return np.asarray(self.gram.times(coef, give_up) + coef.sum(axis=0))

    def some(self, chosen: NDArray[np.intp], coef: Floats) -> Floats:
        """Some entries of K coef."""
        return np.asarray(self.gram.some(chosen, coef) + coef.sum(axis=0))

    def take(self, keep: NDArray[np.intp]) -> ShiftedGram:
        """K of some of the rows alone."""
        return ShiftedGram(self.gram.take(keep))

    def part(self, chosen: NDArray[np.intp]) -> Floats:
        """K of some rows with each other."""
        return self.gram.part(chosen) + 1

    def memory(self) -> dict[str, NDArray[Any]]:
        """That of the other."""
        return self.gram.memory()

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Make rows of the other in this order."""
        self.gram.remember(memory)


def check_semidefinite(gram: Gram) -> None:
    """Raise ValueError where some of the rows prove that K is not positive semidefinite.

    The diagonal, and all rows up to 512; beyond, as many at equal distances: a proof against K,
    none for it.
    """
    diagonal = gram.diagonal()
    if diagonal.min() < 0:
        at = int(diagonal.argmin())
        raise ValueError(NOT_SEMIDEFINITE.format(f"K(x, x) = {diagonal[at]:.3g} for row {at}"))
    chosen = np.unique(np.linspace(0, gram.n - 1, min(gram.n, _LOOKED_AT)).astype(np.intp))
    part = gram.part(chosen)
    if not np.isfinite(part).all():
        raise ValueError("the kernel has values that are not finite: change degree or coef0")
    values = np.linalg.eigvalsh((part + part.T) / 2)
    if values[0] < -1e-5 * max(abs(values[-1]), 1e-300):
        raise ValueError(
            NOT_SEMIDEFINITE.format(f"an eigenvalue of {values[0]:.3g} beside {values[-1]:.3g}")
        )
