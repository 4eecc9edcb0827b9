"""The problem as the host knows it: sizes and sums, while rows and labels are on a device."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.gpu.arrays import sent
from pegasos.gpu.rows import DeviceRows
from pegasos.problem import Intercept, Loss
from pegasos.remote import RemoteProblem
from pegasos.rows import Rows


@dataclass(frozen=True)
class DeviceProblem(RemoteProblem):
    """Lanes over rows on a device."""

    _: KW_ONLY
    y: Tensor  # (K, n) int8: -1, 0 (the row is not in this lane), +1
    weights: Tensor | None  # (1, n) or (K, n) float64
    kept: Tensor | None  # (all lanes, n) the duals of the last certificates, if they are wanted

    @property
    def here(self) -> DeviceRows:
        """The rows, for what only those on a device have."""
        return cast(DeviceRows, self.rows)

    @property
    def speed(self) -> float:
        """A GPU's, against a core."""
        return 1000.0 if self.y.is_cuda else 1.0

    @property
    def class_costs(self) -> tuple[Floats, Floats]:
        """(K,) sums of c over y = +1, and over y = -1."""
        up, down = _weigh(self.y, self.weights)
        return self.positive * up, self.negative * down

    def device_costs(self, lo: int = 0, hi: int | None = None) -> Tensor:
        """c of rows lo..hi-1, (K, hi - lo), or broadcast to it; 1 outside of a lane."""
        y, device = self.y[:, lo:hi], self.y.device
        up = sent(self.positive, device)[:, None]
        if self.weights is None and np.array_equal(self.positive, self.negative):
            return up.expand(-1, y.shape[1])
        down = sent(self.negative, device)[:, None]
        costs = torch.where(y > 0, up, down)
        if self.weights is not None:
            costs = costs * self.weights[:, lo:hi]
        return torch.where(y != 0, costs, 1.0)

    def take(self, lanes: NDArray[np.intp], threads: int | None = None) -> DeviceProblem:  # noqa: ARG002
        """The problem of some of the lanes."""
        at = sent(np.asarray(lanes), self.y.device)
        weights = self.weights
        if weights is not None and len(weights) > 1:
            weights = weights[at]
        return self.taken(lanes, y=self.y[at], weights=weights)


def device_problem(
    rows: DeviceRows,
    y: Tensor,
    weights: Tensor | None,
    *,
    positive: Floats,
    negative: Floats,
    s: Any,
    intercept: Intercept,
    loss: Loss,
    bias: float,
    keep_duals: bool = False,
) -> DeviceProblem:
    """The lanes with labels (K, n); ``s`` is a function of their total weights.

    Nothing is checked: labels are 0 where the weight is.
    """
    up, down = _weigh(y, weights)
    total = up + down
    if not np.isfinite(total).all():
        raise ValueError("sample_weight is too large: its sum overflows float64; scale it down")
    rows_of_lanes = torch.count_nonzero(y, dim=1).cpu().numpy()
    for side, weight in ((y > 0, positive), (y < 0, negative)):
        if not weight.all():  # rows that cost nothing are in no lane
            free = sent(weight == 0, y.device)[:, None]
            y = torch.where(side & free, 0, y).to(torch.int8)
    nothing = cast(Any, None)
    return DeviceProblem(
        rows=cast(Rows, rows),
        labels=nothing,
        weight=None,
        positive=positive,
        negative=negative,
        s=s(total),
        total_weight=total,
        intercept=intercept,
        loss=loss,
        threads=1,
        core=nothing,
        lane_rows=rows_of_lanes,
        cost=positive * up + negative * down,
        y=y,
        weights=weights,
        scaling=bias,
        ids=np.arange(len(y)),
        kept=torch.zeros(y.shape, dtype=torch.float64, device=y.device) if keep_duals else None,
    )


def _weigh(y: Tensor, weights: Tensor | None) -> tuple[Floats, Floats]:
    """(K,) sums of the weights of y = +1 and -1."""
    if weights is None:
        sides = torch.count_nonzero(y > 0, dim=1), torch.count_nonzero(y < 0, dim=1)
    else:
        sides = ((y > 0) * weights).sum(1), ((y < 0) * weights).sum(1)
    up, down = (side.double().cpu().numpy() for side in sides)
    return up, down
