"""What a run consists of: named arrays, which its solver declares as fields.

From the fields follow how a state begins, what it is without lanes that left, and what is refused
of a file. A checksum proves that a file is as it was written, not that it makes sense, and the core
trusts lists and cursors: so all are looked at once, before a run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos.certificate import Floats, GiveUp, feature_blocks, never

_MOST = 1 << 60  # of any counter

Axis = int | None | Literal["rows", "lanes", "weights", "padded"]
"""A number; any length; rows; lanes; features and the constant one; lanes, padded."""

Arrays = dict[str, NDArray[Any]]

Sizes = Mapping[str, int]
"""How long axes are. Rows are not among them where they are elsewhere: their arrays are there."""


class Field(NamedTuple):
    """An array of a state: what lanes that leave take with them, its axes say.

    It starts as zeros, or with what is broadcast to it; a function gets the last axis's length.
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: type[np.generic] = np.float64
    check: Callable[[State, str], None] | None = None  # raises ValueError for what no run has
    start: float | Sequence[float] | Callable[[int], NDArray[Any]] | None = None
    least: int | None = 0  # of signed integers; None: any will do

    def shape(self, sizes: Sizes, found: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Its lengths; any are as ``found``, 0 at first."""
        lengths = [sizes[axis] if isinstance(axis, str) else axis for axis in self.axes]
        known = (*found, *[0] * len(lengths))
        return tuple([known[i] if size is None else size for i, size in enumerate(lengths)])


SEED = Field("seed", (1,), np.uint64)
COUNTS = Field("cursor", (2,), np.int64)  # rows visited, and steps taken


@dataclass(frozen=True)
class State:
    """The arrays of a run, written in place as it advances, and what they are declared as."""

    arrays: dict[str, NDArray[Any]]
    fields: tuple[Field, ...]
    there: Any = None  # what a site keeps of the run, where not all of it is here

    @classmethod
    def begin(
        cls, sizes: Sizes, fields: Iterable[Field], there: Any = None, **values: ArrayLike
    ) -> State:
        """That of a run that starts; arrays among the values become the state's own."""
        here = _here(sizes, fields)
        assert values.keys() <= {field.name for field in here}
        arrays: dict[str, NDArray[Any]] = {}
        for field in here:
            shape = field.shape(sizes)
            start = values.get(field.name, field.start)
            if callable(start):
                start = start(shape[-1])
            array = None if start is None else np.asarray(start, field.dtype)
            if array is None or array.shape != shape:
                padded, value = field.axes[-1] == "padded", array
                array = weight_zeros(shape) if padded else np.zeros(shape, field.dtype)
                if value is not None:
                    array[...] = value
            arrays[field.name] = array
        return cls(arrays, here, there)

    @classmethod
    def resume(
        cls, sizes: Sizes, fields: Iterable[Field], arrays: dict[str, NDArray[Any]]
    ) -> State:
        """That of arrays that were read from a file; ValueError if they can be no run's."""
        here = _here(sizes, fields)
        for name in arrays.keys() - {field.name for field in here}:
            raise ValueError(f"no such run has {name}")
        for field in here:
            expect(field.name in arrays, f"{field.name} is missing")
            array, dtype = arrays[field.name], np.dtype(field.dtype)
            shape = field.shape(sizes, array.shape)
            expect(
                array.dtype == dtype and array.shape == shape,
                f"{field.name} has the type {array.dtype} and the shape {array.shape}, "
                f"not {dtype} and {shape}",
            )
            if dtype.kind == "i" and array.size and field.least is not None:
                right = field.least <= array.min() and array.max() < _MOST
                expect(right, f"{field.name} is out of range")
        state = cls(arrays, here)
        for field in here:
            if field.check is not None:
                field.check(state, field.name)
        return state

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The array of that name."""
        return self.arrays[name]

    @property
    def seen(self) -> int:
        """Rows visited so far."""
        return int(self.arrays["cursor"].flat[0])

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.arrays["cursor"].flat[1])

    def take(self, lanes: NDArray[np.intp], padded: int, give_up: GiveUp = never) -> State:
        """The state of some of the lanes, with weights of ``padded`` columns."""
        arrays = dict(self.arrays)
        for field in self.fields:
            if "lanes" in field.axes:
                arrays[field.name] = np.take(self[field.name], lanes, field.axes.index("lanes"))
            elif field.axes[-1] == "padded":
                wide = weight_zeros((len(self[field.name]), padded))
                for lo, hi in feature_blocks(wide, give_up):
                    wide[lo:hi, : lanes.size] = self[field.name][lo:hi, lanes]
                arrays[field.name] = wide
        return replace(self, arrays=arrays)


def _here(sizes: Sizes, fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple([field for field in fields if "rows" in sizes or "rows" not in field.axes])


def named(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays under names that begin so."""
    return {prefix + name: array for name, array in arrays.items()}


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin so, without that beginning."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def weight_zeros(shape: tuple[int, ...]) -> Floats:
    """Zeros that begin with a cache line: eight lanes, of a multiple of eight, fill one each."""
    size = shape[0] * shape[1]
    buffer = np.zeros(size + 8)
    first = -buffer.ctypes.data % 64 // 8
    return buffer[first : first + size].reshape(shape)


def expect(true: Any, what: str) -> None:
    """Raise ValueError for what cannot be."""
    if not true:
        raise ValueError(what)


# Checks of values.
def below(count: int) -> Callable[[State, str], None]:
    """Numbers of so many rows."""
    return lambda state, name: expect(
        (state[name] < count).all(), f"{name} has rows that there are not"
    )


def permutation(state: State, name: str) -> None:
    """Each number once."""
    array = state[name]
    expect(np.array_equal(np.sort(array), np.arange(array.size)), f"{name} is no order of rows")


def equal_to(values: ArrayLike) -> Callable[[State, str], None]:
    """What does not change in a run."""
    return lambda state, name: expect(np.array_equal(state[name], values), f"{name} has changed")
