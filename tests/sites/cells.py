"""What is trained in the conformance suite: solvers, losses, intercepts, rows and lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from tests.common import reference
from tests.common.toys import toy

import pegasos
from pegasos.solvers import Solver

SOLVERS: dict[str, Solver] = {
    "dual": pegasos.DualCoordinate(),
    "newton": pegasos.Newton(),
    "interior": pegasos.InteriorPoint(),
    "sgds": pegasos.SGDS(),
    "sgdm": pegasos.SGDM(multiplicity=3),
    "sgdr": pegasos.SGDR(),
    "pegasos": pegasos.Pegasos(),
    "batches": pegasos.Pegasos(batch_size=8, sampling="permute"),
}
LOSSES = {"hinge": 1, "squared_hinge": 2}  # the power of the slack, for brute force
INTERCEPTS = ("none", "regularized", "free")
STORAGES = ("dense", "sparse")
LANES = (1, 3)

ROWS, FEATURES = 160, 6
C = 1.0


@dataclass(frozen=True)
class Cell:
    """One of each."""

    place: str
    solver: str
    loss: str = "hinge"
    intercept: str = "regularized"
    storage: str = "dense"
    lanes: int = 1

    def __str__(self) -> str:
        names = self.place, self.solver, self.loss, self.intercept, self.storage
        return "-".join((*names, f"{self.lanes}"))

    @property
    def config(self) -> Solver:
        return SOLVERS[self.solver]

    @property
    def tol(self) -> float:
        return 1e-5 if self.config.exact else 0.1

    @property
    def rows(self) -> Rows:
        return rows_of(self.storage, self.lanes)

    @property
    def options(self) -> dict[str, Any]:
        """What all doors take."""
        return {"C": C, "loss": self.loss, "intercept": self.intercept}

    @property
    def run(self) -> dict[str, Any]:
        """The same, to train."""
        return self.options | {"solver": self.config, "seed": 3}

    def trains(self) -> bool:
        """Whether the solver trains that, wherever the rows are."""
        return self.loss in self.config.losses and self.intercept in self.config.intercepts


@dataclass(frozen=True)
class Rows:
    """Rows, labels (n, K) and sample weights."""

    X: Any
    Y: Any
    weight: Any


@lru_cache
def rows_of(storage: str, lanes: int) -> Rows:
    """Some rows have weight 0; with several lanes some are not in all of them."""
    data = toy(ROWS, FEATURES, lanes, seed=lanes, absent=0.2 if lanes > 1 else 0.0)
    weight = np.where(data.weight < 0.4, 0.0, data.weight)
    weight[:2] = 1.0
    return Rows(data.X if storage == "dense" else data.csr(), data.Y, weight)


@lru_cache
def optima(loss: str, intercept: str, lanes: int) -> Any:
    """The objective of each lane, by brute force."""
    rows, free = rows_of("dense", lanes), intercept == "free"
    X = rows.X
    if intercept == "regularized":
        X = np.hstack([X, np.ones((ROWS, 1))])
    found = []
    for k in range(lanes):
        y = np.where(rows.weight > 0, rows.Y[:, k], 0)
        a, b = reference.optimum(X, y, rows.weight, 1 / C, free=free, power=LOSSES[loss])
        N = (rows.weight * (y != 0)).sum()
        c = rows.weight * (y != 0)
        w = C * (a * y) @ X
        power, b = LOSSES[loss], b if free else 0.0
        found.append(reference.primal(X, y, c, 1 / C, N, w, b, power=power))
    return np.array(found)
