"""What a device keeps of the lanes of a problem: labels, weights, and the duals that users want."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.sites.device.arrays import host, sent
from pegasos.sites.device.formulas import Fixed
from pegasos.sites.device.losses import LOSSES
from pegasos.sites.device.rows import DeviceRows
from pegasos.sites.method import Floats

if TYPE_CHECKING:
    from pegasos.problem import Problem


@dataclass(frozen=True, eq=False)
class Lanes:
    """The lanes of a problem, or some of them; ``ids`` are their numbers among all."""

    y: Tensor  # (K, n) int8: -1, 0 (the row is not in this lane), +1
    weights: Tensor | None  # (1, n) or (K, n) float64
    kept: Tensor | None  # (all lanes, n) the duals of the last certificates, if they are wanted
    ids: NDArray[np.intp]
    sides: tuple[Floats, Floats]  # (K,) sums of c over y = +1, and over y = -1

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.y.device

    def take(self, lanes: NDArray[np.intp]) -> Lanes:
        """Some of them."""
        at = sent(np.asarray(lanes), self.device)
        weights = self.weights
        if weights is not None and len(weights) > 1:
            weights = weights[at]
        up, down = self.sides
        sides = up[lanes], down[lanes]
        return replace(self, y=self.y[at], weights=weights, ids=self.ids[lanes], sides=sides)


class Read(NamedTuple):
    """What a certificate takes from one read of the rows."""

    margins: Tensor  # (K, n) w.x
    sums: Tensor  # (K, d) of a y x; with a free b (2 K, d): of a x where y = +1, and where it is -1


@dataclass(frozen=True, eq=False)
class Duals:
    """Feasible duals (K, n), 0 for rows that are not in a lane, and what was read with them."""

    values: Tensor
    read: Read | None = None

    def __call__(self, lo: int, hi: int) -> Floats:
        """Those of rows lo..hi-1, as a certificate on this machine takes them."""
        return host(self.values[:, lo:hi].T)


def lanes_of(problem: Problem) -> Lanes:
    """Those of a problem on a device."""
    return cast(Lanes, cast(Any, problem.site).lanes)


def rows_of(problem: Problem) -> DeviceRows:
    """The rows, for what only those on a device have."""
    return cast(DeviceRows, problem.rows)


def fixed_of(problem: Problem, lo: int = 0, hi: int | None = None) -> Fixed:
    """Labels, costs and the loss of rows lo..hi-1; the loss is asked for nowhere else."""
    loss = LOSSES[problem.loss.name]
    return Fixed(lanes_of(problem).y[:, lo:hi], costs_of(problem, lo, hi), loss)


def costs_of(problem: Problem, lo: int = 0, hi: int | None = None) -> Tensor:
    """c of rows lo..hi-1, (K, hi - lo), or broadcast to it; 1 outside of a lane."""
    lanes = lanes_of(problem)
    y, device = lanes.y[:, lo:hi], lanes.device
    up = sent(problem.positive, device)[:, None]
    if lanes.weights is None and np.array_equal(problem.positive, problem.negative):
        return up.expand(-1, y.shape[1])
    down = sent(problem.negative, device)[:, None]
    costs = torch.where(y > 0, up, down)
    if lanes.weights is not None:
        costs = costs * lanes.weights[:, lo:hi]
    return torch.where(y != 0, costs, 1.0)


def sides_of(y: Tensor, weights: Tensor | None) -> tuple[Floats, Floats]:
    """(K,) sums of the weights of y = +1 and -1."""
    if weights is None:
        sides = torch.count_nonzero(y > 0, dim=1), torch.count_nonzero(y < 0, dim=1)
    else:
        sides = ((y > 0) * weights).sum(1), ((y < 0) * weights).sum(1)
    up, down = (side.double().cpu().numpy() for side in sides)
    return up, down
