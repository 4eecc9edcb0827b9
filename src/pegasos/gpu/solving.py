"""The problem of ``pegasos.solve`` with rows on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.losses import Loss
from pegasos.problem import Intercept, Problem
from pegasos.run.outcome import Outcome
from pegasos.sites.device.arrays import returned_like
from pegasos.sites.device.labels import check_sides, signs_of, weights_of
from pegasos.sites.device.lanes import lanes_of
from pegasos.sites.device.rows import rows_on_device
from pegasos.sites.device.site import device_problem
from pegasos.util.arguments import check_scaling_range, regularization


def problem_on_device(
    X: Any,
    y: Any,
    sample_weight: Any,
    device: Any,
    *,
    lam: Any,
    C: Any,
    loss: Loss,
    intercept: Intercept,
    intercept_scaling: float,
) -> tuple[Problem, bool]:
    """The lanes, and whether y was one binary problem."""
    bias = check_scaling_range(intercept_scaling) if intercept == "regularized" else 0.0
    rows, here = rows_on_device(X, device, bias)
    labels, single = signs_of(y, rows.n, here)
    weight = weights_of(sample_weight, rows.n, here)
    if weight is not None:
        labels = labels * (weight > 0)
    check_sides(labels)
    ones = np.ones(len(labels))
    problem = device_problem(
        rows, labels, weight, positive=ones, negative=ones,
        s=lambda total: regularization(lam, C, total), intercept=intercept, loss=loss,
        keep_duals=True,
    )  # fmt: skip
    return problem, single


def returned(X: Any, problem: Problem, outcome: Outcome) -> Outcome:
    """The outcome with arrays like X, and the duals that stayed on the device."""
    return returned_like(X, outcome, lanes_of(problem).kept)
