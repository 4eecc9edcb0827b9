"""Fits of the estimators with rows on a device: classes become lanes that are trained together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.driver import run
from pegasos.gpu.labels import classes_of, weights_of
from pegasos.gpu.problem import device_problem
from pegasos.outcome import Outcome
from pegasos.problem import Problem, check_scaling_range, regularization
from pegasos.sites.device.loading import rows_on_device
from pegasos.sites.device.rows import DeviceRows
from pegasos.solvers import choice_of
from pegasos.tasks.labels import class_weights
from pegasos.tasks.training import Training


@dataclass(frozen=True)
class DeviceTask:
    """What is to be learned: rows on a device, and the class of each."""

    rows: DeviceRows
    classes: NDArray[Any]
    codes: Tensor  # (n,) into classes
    weight: Tensor | None  # (1, n)
    class_weight: Any

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def lanes(self) -> int:
        """Binary problems."""
        return 1 if self.binary else len(self.classes)

    def signs(self, some: Tensor | None = None) -> Tensor:
        """(K, n) labels, 0 for rows that are not among ``some`` or weigh nothing."""
        if self.binary:
            signs = (2 * self.codes - 1).to(torch.int8)[None]
        else:
            every = torch.arange(len(self.classes), device=self.codes.device)
            signs = 2 * (self.codes[None] == every[:, None]).to(torch.int8) - 1
        if some is not None:
            signs = signs * some
        return signs if self.weight is None else signs * (self.weight > 0)

    def sides(self, some: NDArray[np.intp] | None = None) -> tuple[Floats, Floats]:
        """The weights of each lane's positive and negative class, as they are in some rows."""
        if self.class_weight is None:
            weights = np.ones(len(self.classes))
        else:
            codes = self.codes.cpu().numpy()
            own = None if self.weight is None else self.weight[0].cpu().numpy()
            if some is not None:
                codes, own = codes[some], None if own is None else own[some]
            weights = class_weights(self.class_weight, self.classes, codes, own)
        if self.binary:
            return weights[1:], weights[:1]
        return weights, np.ones(weights.size)


def device_task(
    training: Training, X: Any, y: Any, sample_weight: Any, class_weight: Any, device: Any
) -> DeviceTask:
    """The rows and classes, checked."""
    regularized = training.intercept == "regularized"
    bias = check_scaling_range(training.intercept_scaling) if regularized else 0.0
    rows, here = rows_on_device(X, device, bias)
    classes, codes = classes_of(y, rows.n, here)
    if classes.dtype.kind == "f" and np.any(classes != np.round(classes)):
        raise ValueError("Unknown label type: continuous. y must hold classes, not numbers")
    if len(classes) < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    weight = weights_of(sample_weight, rows.n, here)
    if weight is not None:
        totals = torch.zeros(len(classes), dtype=torch.float64, device=here)
        totals.index_add_(0, codes.long(), weight[0])
        if not bool((totals > 0).all()):
            missing = classes[int((totals > 0).int().argmin())]
            raise ValueError(
                f"every example of class {missing!r} has a sample_weight of zero: leave the class "
                "out of y, or weigh it"
            )
    return DeviceTask(rows, classes, codes, weight, class_weight)


def train_on_device(training: Training, task: DeviceTask) -> Outcome:
    """All lanes of a task."""
    positive, negative = task.sides()
    problem = device_problem(
        task.rows, task.signs(), task.weight, positive=positive, negative=negative,
        s=lambda total: regularization(training.lam, training.C, total),
        intercept=training.intercept, loss=training.loss,
    )  # fmt: skip
    return run_on_device(training, problem, scalar=task.binary)


def run_on_device(training: Training, problem: Problem, *, scalar: bool) -> Outcome:
    """Train all lanes together."""
    choice = choice_of(training.solver, problem, training.options.tol)
    if training.announce is not None:
        training.announce(problem, choice)
    return run(problem, choice, replace(training.options, scalar=scalar))
