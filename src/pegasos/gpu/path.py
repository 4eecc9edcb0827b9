"""Cross-validation over C on a device: every fold at every C is a lane of the same run."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pegasos.certificate import Certificate, Floats
from pegasos.gpu.fitting import DeviceTask, run_on_device
from pegasos.gpu.problem import device_problem
from pegasos.outcome import Outcome
from pegasos.problem import Problem
from pegasos.sites.device.products import products
from pegasos.tasks.path import Fold, Path
from pegasos.tasks.training import Training

_TOGETHER = 64  # fits whose labels and scores are on the device at a time


def cross_validate_on_device(
    training: Training, task: DeviceTask, Cs: Floats, folds: list[Fold]
) -> Path:
    """Train every fold at every C, as many lanes at once as the device can hold; accuracies."""
    shape, K = (Cs.size, len(folds)), task.lanes
    scores, (epochs, seconds) = np.full(shape, np.nan), np.zeros((2, *shape))
    proof = Certificate(*np.full((3, *shape, K), np.nan))
    ended = None
    count = Cs.size * len(folds)
    for some in (range(lo, min(count, lo + _TOGETHER)) for lo in range(0, count, _TOGETHER)):
        began, late = time.perf_counter(), training.options.late
        if late:
            ended = "max_time"
            break
        outcome = run_on_device(training, _lanes(training, task, Cs, folds, some), scalar=False)
        if outcome.stop_reason in ("interrupted", "callback", "max_time"):
            ended = outcome.stop_reason
            break
        right = _right(task, outcome).cpu().numpy() != 0
        for i, number in enumerate(some):
            c, fold = divmod(number, len(folds))
            own = slice(i * K, (i + 1) * K)
            proof = proof.replaced((c, fold), outcome.certificate.lane(own))
            test = folds[fold][1]
            weight = None if task.weight is None else task.weight[0].cpu().numpy()[test]
            scores[c, fold] = np.average(right[i, test], weights=weight)
            epochs[c, fold] = outcome.epochs
            seconds[c, fold] = (time.perf_counter() - began) / len(some)
    return Path(
        C=Cs,
        scores=scores,
        certificate=proof,
        epochs=epochs,
        seconds=seconds,
        coef=None,
        intercept=None,
        ended=ended,
    )


def _lanes(
    training: Training, task: DeviceTask, Cs: Floats, folds: list[Fold], some: range
) -> Problem:
    """The lanes of these (C, fold), all classes of one after the other."""
    labels, positive, negative, strengths = [], [], [], []
    for number in some:
        c, fold = divmod(number, len(folds))
        train = folds[fold][0]
        inside = torch.zeros(task.rows.n, dtype=torch.int8, device=task.codes.device)
        inside[torch.from_numpy(train).to(inside.device)] = 1
        labels.append(task.signs(inside))
        up, down = task.sides(train)
        positive.append(up)
        negative.append(down)
        strengths.append(np.full(task.lanes, 1 / Cs[c]))
    every = torch.cat(labels)
    sides = (every > 0).any(1) & (every < 0).any(1)
    if not bool(sides.all()):
        fold = divmod(some[int((~sides).int().argmax()) // task.lanes], len(folds))[1]
        raise ValueError(
            f"fold {fold} trains on one side of a class only: use fewer folds, or stratified ones"
        )
    return device_problem(
        task.rows, every, task.weight, positive=np.concatenate(positive),
        negative=np.concatenate(negative), s=lambda _: np.concatenate(strengths),
        intercept=training.intercept, loss=training.loss,
    )  # fmt: skip


def _right(task: DeviceTask, outcome: Outcome) -> Tensor:
    """(models, n): whether a model is right about a row."""
    K, device = task.lanes, task.codes.device
    weights = torch.from_numpy(np.ascontiguousarray(outcome.W[:-1].T)).to(device)
    b = torch.from_numpy(outcome.b).to(device)[:, None]
    found = torch.empty((len(b) // K, task.rows.n), dtype=torch.bool, device=device)
    for lo, hi, X in task.rows.visit():
        scores = (products(X, weights, exact=False) + b).unflatten(0, (-1, K))
        said = scores[:, 0] > 0 if task.binary else scores.argmax(1)
        found[:, lo:hi] = said == task.codes[lo:hi]
    return found


def with_strength(training: Training, C: float) -> Training:
    """The same with another C."""
    return replace(training, C=C, lam=None)
