"""The Gram matrix by rows: float32 ones for steering, exact products for proofs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import UNIT_ROUNDOFF, GaveUp, GiveUp, never
from pegasos.kernel.kernels import Floats, Floats32, Index
from pegasos.state import expect

NOT_SEMIDEFINITE = (
    "the kernel is not positive semidefinite on these rows ({}): there is no optimum to be near "
    "to; change gamma or coef0, or take another kernel"
)
_LOOKED_AT = 512  # rows
_BLOCK_VALUES = 1 << 22  # of K, at a time


class Gram(ABC):
    """K of the training rows."""

    n: int  # its size

    @property
    @abstractmethod
    def diagonal(self) -> Floats:
        """K(x, x) of every row."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far an entry in float64 may be from what it should be, sums of many included."""

    @abstractmethod
    def rows(self, chosen: Index, out: Floats32, place: Index) -> None:
        """Some of its rows, for steering, to their places in ``out``."""

    @abstractmethod
    def some(self, chosen: Index, coef: Floats) -> Floats:
        """Some entries of K coef."""

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        """K coef in float64, from scratch; coef is (n,) or (n, k)."""
        out = np.empty(coef.shape)
        for lo, hi in ranges(0, self.n, max(1, _BLOCK_VALUES // self.n), give_up):
            out[lo:hi] = self.some(np.arange(lo, hi), coef)
        return out

    @abstractmethod
    def take(self, keep: Index) -> Gram:
        """K of some of the rows alone."""

    @abstractmethod
    def part(self, chosen: Index) -> Floats:
        """K of some rows with each other, in float64."""

    def memory(self) -> dict[str, NDArray[Any]]:
        """In what order rows were made that others share: their last bits depend on it."""
        return {}

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Make them in this order."""
        expect(not memory, "rows of K are not shared")


class MatrixGram(Gram):
    """Some rows of a Gram matrix that is there already."""

    def __init__(self, K: NDArray[Any], index: Index | None = None) -> None:
        """All rows without ``index``."""
        self.K, self._whole = K, index is None
        self.index = np.arange(K.shape[0]) if index is None else index
        self.n = int(self.index.size)

    @property
    def diagonal(self) -> Floats:
        return np.ascontiguousarray(np.diagonal(self.K)[self.index], dtype=np.float64)

    @property
    def rounding(self) -> float:
        # Of sums: entries are what they are.
        return roundings(self.n) * UNIT_ROUNDOFF * float(np.abs(self.diagonal).max())

    def rows(self, chosen: Index, out: Floats32, place: Index) -> None:
        out[place] = self._rows(chosen)

    def some(self, chosen: Index, coef: Floats) -> Floats:
        return np.asarray(self._rows(chosen) @ coef, dtype=np.float64)

    def take(self, keep: Index) -> MatrixGram:
        return MatrixGram(self.K, self.index[keep])

    def part(self, chosen: Index) -> Floats:
        index = self.index[chosen]
        return np.asarray(self.K[np.ix_(index, index)], dtype=np.float64)

    def _rows(self, chosen: Index) -> NDArray[Any]:
        rows = self.index[chosen]
        return self.K[rows] if self._whole else self.K[np.ix_(rows, self.index)]


class ShiftedGram(Gram):
    """K + 1: rows with a constant feature, whose weight is the intercept."""

    def __init__(self, gram: Gram) -> None:
        """Of another."""
        self.gram, self.n = gram, gram.n

    @property
    def diagonal(self) -> Floats:
        return self.gram.diagonal + 1

    @property
    def rounding(self) -> float:
        return self.gram.rounding + roundings(self.n) * UNIT_ROUNDOFF

    def rows(self, chosen: Index, out: Floats32, place: Index) -> None:
        self.gram.rows(chosen, out, place)
        for at in place:
            out[at] += 1

    def some(self, chosen: Index, coef: Floats) -> Floats:
        return np.asarray(self.gram.some(chosen, coef) + coef.sum(axis=0))

    def times(self, coef: Floats, give_up: GiveUp = never) -> Floats:
        return np.asarray(self.gram.times(coef, give_up) + coef.sum(axis=0))

    def take(self, keep: Index) -> ShiftedGram:
        return ShiftedGram(self.gram.take(keep))

    def part(self, chosen: Index) -> Floats:
        return self.gram.part(chosen) + 1

    def memory(self) -> dict[str, NDArray[Any]]:
        return self.gram.memory()

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        self.gram.remember(memory)


def check_semidefinite(gram: Gram) -> None:
    """Raise ValueError where some of the rows prove that K is not positive semidefinite.

    The diagonal, and all rows up to 512; beyond, as many at equal distances: a proof against K,
    none for it.
    """
    diagonal = gram.diagonal
    if diagonal.min() < 0:
        at = int(diagonal.argmin())
        raise ValueError(NOT_SEMIDEFINITE.format(f"K(x, x) = {diagonal[at]:.3g} for row {at}"))
    chosen = np.unique(np.linspace(0, gram.n - 1, min(gram.n, _LOOKED_AT)).astype(np.intp))
    part = gram.part(chosen)
    if not np.isfinite(part).all():
        raise ValueError("the kernel has values that are not finite: change degree or coef0")
    expect_semidefinite(np.linalg.eigvalsh((part + part.T) / 2), 1e-5)


def expect_semidefinite(values: NDArray[Any], share: float) -> None:
    """Raise ValueError for eigenvalues, the least first, that are not rounding of 0."""
    if values[0] < -share * max(values[-1], 1e-300):
        raise ValueError(
            NOT_SEMIDEFINITE.format(f"an eigenvalue of {values[0]:.3g} beside {values[-1]:.3g}")
        )


def roundings(n: int) -> float:
    """Of a sum of n terms: partial sums of a tile, then of tiles."""
    return 32 + n / 64


def ranges(begin: int, end: int, step: int, give_up: GiveUp = never) -> Iterator[tuple[int, int]]:
    """From begin to end, ``step`` at a time; raises GaveUp between two of them if asked to."""
    for lo in range(begin, end, step):
        if give_up():
            raise GaveUp
        yield lo, min(end, lo + step)
