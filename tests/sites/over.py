"""``over``: a test runs over cells, pairwise; all of them are for `make test-all`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest
from tests.sites.cells import INTERCEPTS, LANES, LOSSES, SOLVERS, STORAGES, Cell
from tests.sites.places import PLACES, Place

AXES: dict[str, Any] = {
    "place": PLACES, "solver": SOLVERS, "loss": LOSSES, "intercept": INTERCEPTS,
    "storage": STORAGES, "lanes": LANES,
}  # fmt: skip


def over(
    where: Callable[[Place, Cell], bool] = lambda *_: True, *, quick: bool = False, **fixed: Any
) -> Any:
    """Run a test over the cells that are trained and offered, and are ``where`` it applies.

    Axes in ``fixed`` have these values only; ``quick`` tests always run over all cells.
    """
    every = [cell for cell in cells(**fixed) if where(PLACES[cell.place], cell)]
    few = set(every if quick else pairwise(every))
    marked = [
        pytest.param(cell, marks=() if cell in few else pytest.mark.slow, id=str(cell))
        for cell in every
    ]
    return pytest.mark.parametrize("cell", marked)


def cells(**fixed: Any) -> list[Cell]:
    """All that the solvers train and the places offer."""
    axes = AXES | fixed
    made = (Cell(**dict(zip(axes, values, strict=True))) for values in product(*axes.values()))
    return [one for one in made if one.trains() and PLACES[one.place].offers(one)]


def pairwise(every: list[Cell]) -> list[Cell]:
    """Few of the cells, in which any two values that go together do so at least once."""
    pairs = {cell: set(combinations(vars(cell).items(), 2)) for cell in every}
    missing = set().union(*pairs.values())
    chosen = []
    while missing:
        best = max(every, key=lambda cell: len(pairs[cell] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return chosen
