"""Certificates of models whose rows are on a device: the sums of ``GapSums``, all in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.certificate import Certificate, Floats, GapSums, certificate
from pegasos.gpu.intercepts import best_intercepts
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import products, sums

_SUMMED = 4096  # rows that are added up first: so many roundings, and as many as there are such


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
        margins[:, lo:hi] = products(X, weights, exact=True)
        here, y = duals[:, lo:hi], problem.y[:, lo:hi]
        if negative is None:
            positive += sums(X, here * y, exact=True)
        else:
            both = torch.cat([torch.where(y > 0, here, 0.0), torch.where(y < 0, here, 0.0)])
            found = sums(X, both, exact=True)
            positive += found[:K]
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


def _sums(problem: DeviceProblem, margins: Tensor, a: Tensor) -> Floats:
    """(K, 11): the sums over rows of ``_core.GAP_SUMS``."""
    y, c, squared = problem.y, problem.device_costs(), problem.loss == "squared_hinge"
    inside = y != 0
    norm = problem.here.norms.sqrt()
    slack = 1 - y * margins
    lost = inside & ~(slack <= 0)
    slope = torch.where(inside, c, 0.0)
    if squared:
        slope = torch.where(lost, 2 * c * slack, 0.0)
    up = torch.where(y > 0, a, 0.0)
    down = torch.where(y < 0, a, 0.0)
    nothing = torch.zeros(problem.lanes, dtype=torch.float64, device=y.device)
    columns = {
        "loss": _total(torch.where(lost, c * slack * slack if squared else c * slack, 0.0)),
        "dual_positive": _total(up),
        "dual_negative": _total(down),
        "square_positive": _total(up / c * up / 4) if squared else nothing,
        "square_negative": _total(down / c * down / 4) if squared else nothing,
        "slope": _total(slope),
        "slope_norm": _total(slope * norm),
        "cost_norm": _total(torch.where(inside, c * norm, 0.0)) if squared else nothing,
        "dual_norm": _total(a * norm),
        "support": torch.count_nonzero(a, dim=1).double(),
        "blocks": nothing + _SUMMED + problem.n / _SUMMED + 1,
    }
    found = torch.stack([columns[name] for name in _core.GAP_SUMS], dim=1)
    return np.asarray(found.cpu().numpy())


def _total(values: Tensor) -> Tensor:
    """(K,) sums: of few thousand at first, then of those, so that the roundings can be counted."""
    K, n = values.shape
    whole = n // _SUMMED * _SUMMED
    parts = values[:, :whole].reshape(K, -1, _SUMMED).sum(2)
    return parts.sum(1) + values[:, whole:].sum(1)


def _padded(problem: DeviceProblem, U: Tensor) -> Floats:
    out = np.zeros(problem.weights_shape)
    out[:-1, : problem.lanes] = U.T.cpu().numpy()
    return out


def _at(name: str) -> int:
    return int(_core.GAP_SUMS.index(name))
