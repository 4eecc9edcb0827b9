"""Certificates of models whose rows are on a device: the sums of ``GapSums``, all in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.certificate import GapSums
from pegasos.sites.device.arrays import sent
from pegasos.sites.device.formulas import formulas_for
from pegasos.sites.device.intercepts import best_intercepts
from pegasos.sites.device.lanes import Read, fixed_of, lanes_of, rows_of
from pegasos.sites.device.products import products_and_sums
from pegasos.sites.method import Floats

if TYPE_CHECKING:
    from pegasos.problem import Problem

SUMS = (
    "loss", "dual_positive", "dual_negative", "square_positive", "square_negative", "slope",
    "slope_norm", "cost_norm", "dual_norm", "support",
)  # fmt: skip
"""Of ``formulas.gap_sums``, by their names in ``_core.GAP_SUMS``."""


def gap_sums(
    problem: Problem, W: Floats, duals: Tensor, read: Read | None = None
) -> tuple[GapSums, Floats]:
    """The sums for W, padded as in ``Problem.weights_shape``, and (K, n) duals; its b.

    Duals of rows that are not in a lane are 0. ``read``: what is known of the rows already.
    """
    K, free = problem.lanes, problem.intercept == "free"
    device = lanes_of(problem).device
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
    return GapSums(total, U_positive, U_negative), b


def _read(problem: Problem, W: Floats, duals: Tensor) -> Read:
    """The margins of W, and the sums of the duals."""
    every = lanes_of(problem).y
    weights = sent(W[:-1, : problem.lanes].T, every.device).contiguous()
    margins = torch.empty(every.shape, dtype=torch.float64, device=every.device)
    total: Tensor | None = None
    for lo, hi, X in rows_of(problem).visit():
        here, y = duals[:, lo:hi], every[:, lo:hi]
        if problem.intercept == "free":
            factors = torch.cat([torch.where(y > 0, here, 0.0), torch.where(y < 0, here, 0.0)])
        else:
            factors = here * y
        margins[:, lo:hi], found = products_and_sums(X, weights, factors)
        total = found if total is None else total + found
    return Read(margins, cast(Tensor, total))


def _sums(problem: Problem, margins: Tensor, duals: Tensor) -> Floats:
    """(K, 15): the sums over rows of ``_core.GAP_SUMS``. Offsets are 1: those beyond it are 0."""
    look = formulas_for(margins, "certify").gap_sums
    sums, added = look(margins, duals, rows_of(problem).norms, fixed_of(problem))
    columns = dict(zip(SUMS, sums, strict=True)) | {"blocks": torch.full_like(sums[0], added)}
    nothing = torch.zeros_like(sums[0])
    found = torch.stack([columns.get(name, nothing) for name in _core.GAP_SUMS], dim=1)
    return np.asarray(found.cpu().numpy())


def _padded(problem: Problem, U: Tensor) -> Floats:
    out = np.zeros(problem.weights_shape)
    out[:-1, : problem.lanes] = U.T.cpu().numpy()
    return out


def _at(name: str) -> int:
    return int(_core.GAP_SUMS.index(name))
