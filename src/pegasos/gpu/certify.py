"""Certificates of models whose rows are on a device: the sums of ``GapSums``, all in float64."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.certificate import Certificate, Floats, GapSums, certificate
from pegasos.gpu.arrays import sent
from pegasos.gpu.formulas import Fixed, formulas_for
from pegasos.gpu.intercepts import best_intercepts
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import products_and_sums

SUMS = (
    "loss", "dual_positive", "dual_negative", "square_positive", "square_negative", "slope",
    "slope_norm", "cost_norm", "dual_norm", "support",
)  # fmt: skip
"""Of ``formulas.gap_sums``, by their names in ``_core.GAP_SUMS``."""


class Read(NamedTuple):
    """What a certificate takes from one read of the rows."""

    margins: Tensor  # (K, n) w.x
    sums: Tensor  # (K, d) of a y x; with a free b (2 K, d): of a x where y = +1, and where it is -1


def certify_on_device(
    problem: DeviceProblem, W: Floats, duals: Tensor, read: Read | None = None
) -> tuple[Certificate, Floats]:
    """The certificate of W, padded as in ``Problem.weights_shape``, and (K, n) duals; its b.

    Duals of rows that are not in a lane are 0. ``read``: what is known of the rows already.
    """
    K, free = problem.lanes, problem.intercept == "free"
    device = problem.y.device
    margins, sums = _read(problem, W, duals) if read is None else read
    if free:
        b = best_intercepts(problem, margins)
    else:
        b = problem.bias * W[-1, :K]
    total = _sums(problem, margins + sent(b, device)[:, None], duals)
    U_positive, U_negative = _padded(problem, sums[:K]), None
    if free:
        U_negative = _padded(problem, sums[K:])
    else:
        signed = total[:, _at("dual_positive")] - total[:, _at("dual_negative")]
        U_positive[-1, :K] = problem.bias * signed
    return certificate(problem, W, b, GapSums(total, U_positive, U_negative)), b


def _read(problem: DeviceProblem, W: Floats, duals: Tensor) -> Read:
    """The margins of W, and the sums of the duals."""
    K, device = problem.lanes, problem.y.device
    weights = sent(W[:-1, :K].T, device).contiguous()
    margins = torch.empty(problem.y.shape, dtype=torch.float64, device=device)
    total: Tensor | None = None
    for lo, hi, X in problem.here.visit():
        here, y = duals[:, lo:hi], problem.y[:, lo:hi]
        if problem.intercept == "free":
            factors = torch.cat([torch.where(y > 0, here, 0.0), torch.where(y < 0, here, 0.0)])
        else:
            factors = here * y
        margins[:, lo:hi], found = products_and_sums(X, weights, factors)
        total = found if total is None else total + found
    return Read(margins, cast(Tensor, total))


def _sums(problem: DeviceProblem, margins: Tensor, duals: Tensor) -> Floats:
    """(K, 11): the sums over rows of ``_core.GAP_SUMS``."""
    fixed = Fixed(problem.y, problem.device_costs(), problem.loss == "squared_hinge")
    look = formulas_for(margins, "certify").gap_sums
    sums, added = look(margins, duals, problem.here.norms, fixed)
    columns = dict(zip(SUMS, sums, strict=True)) | {"blocks": torch.full_like(sums[0], added)}
    found = torch.stack([columns[name] for name in _core.GAP_SUMS], dim=1)
    return np.asarray(found.cpu().numpy())


def _padded(problem: DeviceProblem, U: Tensor) -> Floats:
    out = np.zeros(problem.weights_shape)
    out[:-1, : problem.lanes] = U.T.cpu().numpy()
    return out


def _at(name: str) -> int:
    return int(_core.GAP_SUMS.index(name))
