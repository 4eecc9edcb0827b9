"""What parts reply, and how the replies of several become one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.sites.method import COMBINE, Merge

Reply = dict[str, tuple[Merge | Literal["each"], Any]]
"""By name: how values are merged (``"sum"``, ``"min"``, ``"max"``, ``"each"``), and the value."""


class Thin:
    """An array of which little is not zero: places and values. Sums may be arrays again."""

    def __init__(
        self, shape: tuple[int, ...], places: NDArray[np.int64], values: NDArray[Any]
    ) -> None:
        """Places are those of the flat array, in order."""
        self.shape, self.places, self.values = shape, places, values

    def dense(self) -> NDArray[Any]:
        """The array."""
        out = np.zeros(self.shape, dtype=self.values.dtype)
        out.reshape(-1)[self.places] = self.values
        return out

    def __add__(self, other: Any) -> Any:
        """The sum, thin if both are."""
        if not isinstance(other, Thin):
            out = np.array(other)
            out.reshape(-1)[self.places] += self.values
            return out
        places = np.concatenate([self.places, other.places])
        places, at = np.unique(places, return_inverse=True)
        values = np.bincount(at, np.concatenate([self.values, other.values]), places.size)
        return thin(Thin(self.shape, places, values.astype(self.values.dtype)))


def thin(array: Any) -> Any:
    """The array, as a thin one if that is smaller."""
    if isinstance(array, Thin):
        size = int(np.prod(array.shape)) * array.values.itemsize
        smaller = array.places.nbytes + array.values.nbytes < size
        return array if smaller else array.dense()
    places = np.flatnonzero(array)
    if places.nbytes + places.size * array.itemsize >= array.nbytes:
        return array
    return Thin(array.shape, places, array.reshape(-1)[places])


def dense(array: Any) -> NDArray[Any]:
    """The array itself."""
    return array.dense() if isinstance(array, Thin) else np.asarray(array)


def merge(total: Reply, reply: Reply) -> Reply:
    """Add ``reply`` to ``total``, which is changed."""
    for name, (how, value) in reply.items():
        if name not in total:
            total[name] = (how, dict(value) if how == "each" else value)
        elif how == "each":
            total[name][1].update(value)
        elif how == "sum":
            first, second = total[name][1], value
            if isinstance(second, Thin):  # it knows how to be added to an array
                first, second = second, first
            total[name] = (how, first + second)
        else:
            total[name] = (how, COMBINE[how](total[name][1], value))
    return total


def merged(*replies: tuple[Reply, list[str]]) -> tuple[Reply, list[str]]:
    """Those of several workers, as one of them: a node of a tree."""
    total: Reply = {}
    missing: list[str] = []
    for reply, absent in replies:
        merge(total, reply)
        missing += absent
    return total, missing
