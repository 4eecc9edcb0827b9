"""Lanes over rows on a device, as a problem that any solver takes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.losses import Loss
from pegasos.problem import Intercept, Problem
from pegasos.sites.device.arrays import sent
from pegasos.sites.device.lanes import Lanes, sides_of
from pegasos.sites.device.rows import DeviceRows
from pegasos.sites.device.site import DeviceSite


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
    keep_duals: bool = False,
) -> Problem:
    """The lanes with labels (K, n); ``s`` is a function of their total weights.

    Nothing is checked: labels are 0 where the weight is.
    """
    up, down = sides_of(y, weights)
    total = up + down
    if not np.isfinite(total).all():
        raise ValueError("sample_weight is too large: its sum overflows float64; scale it down")
    K, lane_rows = len(y), torch.count_nonzero(y, dim=1).cpu().numpy()
    for side, weight in ((y > 0, positive), (y < 0, negative)):
        if not weight.all():  # rows that cost nothing are in no lane
            free = sent(weight == 0, y.device)[:, None]
            y = torch.where(side & free, 0, y).to(torch.int8)
    kept = torch.zeros(y.shape, dtype=torch.float64, device=y.device) if keep_duals else None
    sides = positive * up, negative * down
    site = DeviceSite(Lanes(y, weights, kept, np.arange(K), sides), rows.resident)
    return Problem(
        rows=rows, labels=np.zeros((0, K), dtype=np.int8), weight=None, positive=positive,
        negative=negative, s=s(total), total_weight=total, intercept=intercept, loss=loss,
        threads=1, core=cast(Any, None), lane_rows=lane_rows, cost=sides[0] + sides[1], site=site,
    )  # fmt: skip
