"""``pegasos.solve`` with rows on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.losses import Loss
from pegasos.problem import Intercept
from pegasos.run.driver import run
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Outcome
from pegasos.sites.device.labels import check_sides, signs_of, weights_of
from pegasos.sites.device.lanes import lanes_of
from pegasos.sites.device.loading import rows_on_device
from pegasos.sites.device.problem import device_problem
from pegasos.sites.device.results import returned_like
from pegasos.solvers import Solver, choice_of
from pegasos.util.arguments import check_scaling_range, regularization


def solve_on_device(
    X: Any,
    y: Any,
    sample_weight: Any,
    device: Any,
    *,
    lam: Any,
    C: Any,
    solver: Solver | None,
    loss: Loss,
    intercept: Intercept,
    intercept_scaling: float,
    options: RunOptions,
) -> tuple[Outcome, bool]:
    """The outcome, its arrays like X, and whether y was one binary problem."""
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
    outcome = run(problem, choice_of(solver, problem, options.tol), replace(options, scalar=single))
    return returned_like(X, outcome, lanes_of(problem).kept), single
