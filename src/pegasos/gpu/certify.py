"""Certificates of models whose rows are on a device: the sums of ``GapSums``, all in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.certificate import Certificate, Floats, GapSums, certificate
from pegasos.gpu.formulas import Fixed, formulas_for
from pegasos.gpu.intercepts import best_intercepts
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import products_and_sums

SUMS = (
    "loss", "dual_positive", "dual_negative", "square_positive", "square_negative", "slope",
    "slope_norm", "cost_norm", "dual_norm", "support",
)  # fmt: skip
"""Of ``formulas.gap_sums``, by their names in ``_core.GAP_SUMS``."""


def certify_on_device(
    problem: DeviceProblem, W: Floats, duals: Tensor
) -> tuple[Certificate, Floats]:
    """The certificate of W, padded as in ``Problem.weights_shape``, and (K, n) duals; its b.

    Duals of rows that are not in a lane are 0.
    """
    K, d = problem.lanes, problem.rows.d
    device, free = problem.y.device, problem.intercept == "free"
    weights = torch.from_numpy(np.ascontiguousarray(W[:-1, :K].T)).to(device)
    margins = torch.empty(problem.y.shape, dtype=torch.float64, device=device)
    positive = torch.zeros((K, d), dtype=torch.float64, device=device)
    negative = torch.zeros_like(positive) if free else None
    for lo, hi, X in problem.here.visit():
        here, y = duals[:, lo:hi], problem.y[:, lo:hi]
        if negative is None:
            factors = here * y
        else:
            factors = torch.cat([torch.where(y > 0, here, 0.0), torch.where(y < 0, here, 0.0)])
        margins[:, lo:hi], found = products_and_sums(X, weights, factors)
        positive += found[:K]
        if negative is not None:
            negative += found[K:]
    if free:
        b = best_intercepts(problem, margins)
    else:
        b = problem.bias * W[-1, :K]
    margins += torch.from_numpy(b).to(device)[:, None]
    total = _sums(problem, margins, duals)
    U_positive, U_negative = _padded(problem, positive), None
    if negative is not None:
        U_negative = _padded(problem, negative)
    else:
        signed = total[:, _at("dual_positive")] - total[:, _at("dual_negative")]
        U_positive[-1, :K] = problem.bias * signed
    return certificate(problem, W, b, GapSums(total, U_positive, U_negative)), b


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
