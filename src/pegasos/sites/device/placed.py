"""Rows on a device with classes and weights, as tasks see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites.device.arrays import host, returned_like, sent
from pegasos.sites.device.labels import check_sides, classes_of, weights_of
from pegasos.sites.device.products import products
from pegasos.sites.device.rows import DeviceRows, rows_on_device
from pegasos.sites.device.site import device_problem, refusal
from pegasos.sites.placed import Choose, Dealt, Fold, Folds, HeldOut, Placed
from pegasos.util.arguments import check_scaling_range, regularization

if TYPE_CHECKING:
    from pegasos.run.outcome import Outcome
    from pegasos.tasks.lanes import ClassLanes
    from pegasos.tasks.training import Training


@dataclass(frozen=True, eq=False)
class OnDevice(Placed):
    """Labels are made where the rows are, of the codes of their classes."""

    rows: DeviceRows
    classes: NDArray[Any]
    places: Tensor  # (n,) of each row's class among the classes
    weight: Tensor | None  # (1, n)
    given: Any  # X as it came
    folds: list[Fold] | None = None

    where: ClassVar[str] = "on a device"
    together: ClassVar[int | None] = 64

    @property
    def n(self) -> int:
        """How many rows."""
        return self.rows.n

    @property
    def features(self) -> int:
        """Columns of X."""
        return self.rows.d

    @property
    def codes(self) -> NDArray[np.integer[Any]]:
        """A copy on the host."""
        return cast(NDArray[np.integer[Any]], self.places.cpu().numpy())

    @property
    def sample_weight(self) -> Floats | None:
        """(n,) on the host."""
        return None if self.weight is None else host(self.weight[0])

    @property
    def weights_here(self) -> Floats | None:
        """(n, 1) on the host."""
        weight = self.sample_weight
        return None if weight is None else weight[:, None]

    @property
    def totals(self) -> Floats:
        """Counted on the device."""
        return totals_of(self.places, self.weight, len(self.classes))

    def in_folds(self, folds: Folds) -> OnDevice:
        """With arrays of rows."""
        assert not isinstance(folds, Dealt)
        return replace(self, folds=folds)

    def fold_totals(self) -> Floats:
        """Counted on the host, where folds are."""
        assert self.folds is not None
        codes, weight, count = self.codes, self.sample_weight, len(self.classes)
        return np.array(
            [
                np.bincount(codes[train], None if weight is None else weight[train], count)
                for train, _ in self.folds
            ],
            dtype=np.float64,
        )

    def problem(
        self, training: Training, lanes: ClassLanes, *, C: Floats | float | None
    ) -> Problem:
        """Labels are looked up in the table, row by row, on the device."""
        table = sent(np.ascontiguousarray(lanes.sides.T), self.places.device)
        y = table.index_select(1, self.places.int())
        if lanes.fold is not None:
            inside = self.inside()
            for lane, fold in enumerate(lanes.fold.tolist()):
                y[lane] *= inside[fold]  # in place: labels of many lanes are large
        return self._over(training, y, lanes.positive, lanes.negative, C, lanes.fold)

    def signed(
        self, training: Training, signs: NDArray[np.int8], positive: Floats, negative: Floats
    ) -> Problem:
        """The labels are sent there."""
        y = sent(np.ascontiguousarray(signs.T), self.places.device)
        return self._over(training, y, positive, negative, training.C, None)

    def _over(
        self,
        training: Training,
        y: Tensor,
        positive: Floats,
        negative: Floats,
        C: Floats | float | None,
        fold: NDArray[np.intp] | None,
    ) -> Problem:
        if self.weight is not None:
            y = y * (self.weight > 0)
        if fold is None:
            check_sides(y)
        else:
            _check_folds(y, fold)
        return device_problem(
            self.rows, y, self.weight, positive=positive, negative=negative,
            s=lambda total: regularization(training.lam, C, total),
            intercept=training.intercept, loss=training.loss,
        )  # fmt: skip

    def inside(self) -> Tensor:
        """(folds, n) int8: 1 for rows to train on."""
        assert self.folds is not None
        found = torch.zeros((len(self.folds), self.n), dtype=torch.int8, device=self.places.device)
        for k, (train, _) in enumerate(self.folds):
            found[k, torch.from_numpy(train).to(found.device)] = 1
        return found

    def accuracies(
        self, W: Floats, b: Floats, folds: Sequence[int], choose: Choose | None
    ) -> Floats:
        """Of every model on all rows, at one read; then of those held out."""
        assert self.folds is not None
        models, device = len(folds), self.places.device
        weights, shift = sent(np.ascontiguousarray(W[:-1].T), device), sent(b, device)[:, None]
        right = torch.empty((models, self.n), dtype=torch.bool, device=device)
        for lo, hi, X in self.rows.visit():
            scores = (products(X, weights, exact=False) + shift).unflatten(0, (models, -1))
            right[:, lo:hi] = _chosen(scores, choose) == self.places[lo:hi]
        found, weight = right.cpu().numpy(), self.sample_weight
        return np.array(
            [
                np.average(found[k, test], weights=None if weight is None else weight[test])
                for k, test in ((k, self.folds[fold][1]) for k, fold in enumerate(folds))
            ]
        )

    def held_out(self, coefs: Floats, intercepts: Floats) -> HeldOut:
        """Scores come to the host."""
        assert self.folds is not None
        (count, lanes), device = intercepts.shape, self.places.device
        weights = sent(coefs.reshape(count * lanes, -1), device)
        tests = [test for _, test in self.folds]
        found = [np.empty((test.size, lanes)) for test in tests]
        for lo, hi, X in self.rows.visit():
            scores = products(X, weights, exact=False).unflatten(0, (count, lanes))
            for k, test in enumerate(tests):
                here = np.flatnonzero((test >= lo) & (test < hi))
                some = torch.from_numpy(test[here] - lo).to(device)
                found[k][here] = scores[k].index_select(1, some).T.cpu().numpy()
        for k, shift in enumerate(intercepts):
            found[k] += shift
        rows, weight = np.concatenate(tests), self.sample_weight
        own = None if weight is None else weight[rows]
        return np.concatenate(found), self.codes[rows], own

    def returned(self, outcome: Outcome) -> Outcome:
        """Tensors, if X was one."""
        return returned_like(self.given, outcome, None)


def totals_of(places: Tensor, weight: Tensor | None, count: int) -> Floats:
    """(classes,) the weight of their rows."""
    if weight is None:
        return np.array([int((places == k).sum()) for k in range(count)], dtype=np.float64)
    totals = torch.zeros(count, dtype=torch.float64, device=places.device)
    totals.index_add_(0, places.int(), weight[0])
    return host(totals)


def _chosen(scores: Tensor, choose: Choose | None) -> Tensor:
    """(models, n) the places of classes, from scores (models, lanes, n)."""
    if choose is not None:
        said = [choose(one.T.cpu().numpy()) for one in scores]
        return sent(np.stack(said), scores.device)
    return scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(1)


def _check_folds(y: Tensor, fold: NDArray[np.intp]) -> None:
    sides = (y > 0).any(1) & (y < 0).any(1)
    if not bool(sides.all()):
        wrong = fold[int((~sides).int().argmax())]
        raise ValueError(
            f"fold {wrong} trains on one side of a class only: use fewer folds, or stratified ones"
        )


def _rows(training: Training, X: Any, device: Any) -> tuple[DeviceRows, torch.device]:
    regularized = training.intercept == "regularized"
    rows, here = rows_on_device(
        X, device, check_scaling_range(training.intercept_scaling) if regularized else 0.0
    )
    # Before a checkpoint is begun.
    if training.solver is not None and (why := refusal(training.solver, resident=rows.resident)):
        raise ValueError(why)
    return rows, here


def of_classes(training: Training, X: Any, y: Any, sample_weight: Any, device: Any) -> OnDevice:
    """The rows and their classes, checked."""
    rows, here = _rows(training, X, device)
    classes, places = classes_of(y, rows.n, here)
    if classes.dtype.kind == "f" and np.any(classes != np.round(classes)):
        raise ValueError("Unknown label type: continuous. y must hold classes, not numbers")
    if len(classes) < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    weight = weights_of(sample_weight, rows.n, here)
    if weight is not None:
        totals = totals_of(places, weight, len(classes))
        if not (totals > 0).all():
            missing = classes[int(np.argmin(totals > 0))]
            raise ValueError(
                f"every example of class {missing!r} has a sample_weight of zero: leave the class "
                "out of y, or weigh it"
            )
    return OnDevice(rows, classes, places, weight, X)


def of_labels(
    training: Training, X: Any, labels: int, n: int, sample_weight: Any, device: Any
) -> OnDevice:
    """The rows of an indicator matrix (n, labels), which stays on the host."""
    rows, here = _rows(training, X, device)
    if n != rows.n:
        raise ValueError(f"X and y disagree: X has {rows.n} rows, y has {n}")
    weight = weights_of(sample_weight, n, here)
    nothing = torch.zeros(n, dtype=torch.int8, device=here)
    return OnDevice(rows, np.arange(labels), nothing, weight, X)
