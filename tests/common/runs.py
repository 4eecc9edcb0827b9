"""A small run that takes a few hundred epochs, for tests that end one on its way; and pauses."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

from tests.common.toys import toy

_DATA = toy(200, 6, seed=1)
X, Y = _DATA.X, _DATA.Y[:, 0]
OPTIONS = {"C": 10.0, "solver": "dual", "tol": 1e-9, "seed": 3}

S = TypeVar("S")


def pausing(solver: S, rows: Callable[[], int]) -> S:
    """The solver, which pauses after so many rows, however long the driver's slices are."""

    class Pausing(type(solver)):  # type: ignore[misc]
        def advance(self, *arguments: Any, **budget: Any) -> Any:
            return super().advance(*arguments, **budget | {"work": rows()})

    found = copy(solver)
    object.__setattr__(found, "__class__", Pausing)
    return found
