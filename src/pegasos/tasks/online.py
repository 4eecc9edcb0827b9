"""Rows that come in batches and are then gone: SGD as a perceptron with a growing margin.

The steps are those of ``pegasos.solvers.sgd``, over the rows in the order in which they come. With
lam they do not depend on how rows are cut into batches. With C, lam is 1/(C rows so far): the
problem of the rows that came. Nothing is certified: that needs the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.losses import Hinge
from pegasos.rows import as_rows
from pegasos.tasks.lanes import one_vs_rest


@dataclass
class Online:
    """A lane for each class against the rest; of two classes one, positive for the second.

    ``lam`` or ``C`` is None. ``average`` makes the model the mean of w over all steps.
    """

    lam: float | None
    C: float
    bias: float
    average: bool
    features: int
    classes: NDArray[Any]
    declared: bool = False  # there are to be no other classes
    rows: int = 0  # that came
    U: Floats = field(init=False)  # (d + 1, padded lanes): lam t w
    t: NDArray[np.int64] = field(init=False)
    # The sum of w over the steps is total u - late.
    total: Floats = field(init=False)  # of 1 / (lam t)
    late: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Begin at w = 0."""
        shape = self.features + 1, _core.padded_lanes(self.lanes)
        self.U, self.late = np.zeros(shape), np.zeros(shape)
        self.t, self.total = np.zeros(self.lanes, dtype=np.int64), np.zeros(self.lanes)

    @property
    def lanes(self) -> int:
        """How many there are."""
        return 1 if self.classes.size == 2 else int(self.classes.size)

    def go_on(self, coef: Floats, intercept: Floats, rows: int) -> None:
        """Begin at a model of so many rows: w, and the mean of w, as if their steps led there."""
        K = self.lanes
        W = np.zeros((self.features + 1, K))
        W[:-1] = coef.T
        if self.bias:
            W[-1] = intercept / self.bias
        self.rows = rows
        self.t[:] = rows
        self.U[:, :K] = self.strength * rows * W
        self.late[:, :K] = -rows * W

    def know(self, classes: NDArray[Any]) -> None:
        """Take more classes: each new one starts a lane, at w = 0.

        The one lane of two classes is that of the second, and mirrored that of the first.
        """
        if classes.size == self.classes.size:
            return
        known = self.classes.tolist()
        two = len(known) == 2
        lanes = [(-1.0 if two and k == 0 else 1.0, 0 if two else k) for k in range(len(known))]
        U, late, t, total = self.U, self.late, self.t, self.total
        self.classes = classes
        self.__post_init__()
        wanted = enumerate(classes.tolist())
        if classes.size == 2:
            first, second = classes.tolist()
            wanted = enumerate([second if second in known else first])
        for to, name in wanted:
            if name in known:
                sign, lane = lanes[known.index(name)]
                if classes.size == 2 and name == classes[0]:
                    sign = -sign
                self.U[:, to], self.late[:, to] = sign * U[:, lane], sign * late[:, lane]
                self.t[to], self.total[to] = t[lane], total[lane]

    @property
    def strength(self) -> float:
        """The lam of the next steps."""
        return 1.0 / (self.C * max(1, self.rows)) if self.lam is None else self.lam

    def present(
        self, X: Any, codes: NDArray[np.intp], weight: Floats | None, class_weight: Floats
    ) -> None:
        """One step for each row, in order; ``codes`` are places in ``classes``."""
        rows = as_rows(X, bias=self.bias)
        n, K = rows.n, self.lanes
        lanes = one_vs_rest(class_weight)
        labels, positive, negative = lanes.labels(codes), lanes.positive, lanes.negative
        weights = np.ones(n) if weight is None else weight
        labels[weights == 0] = 0  # a weight of zero is a row that is not there
        self.rows += int(np.count_nonzero(weights))
        lam, before = self.strength, self.t.copy()
        core = _core.Problem(
            rows.core, labels=labels, weight=np.broadcast_to(weights[:, None], (n, K)),
            positive=np.ascontiguousarray(positive), negative=np.ascontiguousarray(negative),
            s=np.full(K, lam * n), lam=np.full(K, lam), squared_norms=rows.squared_norms,
            loss=Hinge.name, threads=1,
        )  # fmt: skip
        errors = np.zeros((n, K), dtype=np.uint32)
        order = _core.Sampler(
            "cycle", 0, n, 0, np.zeros(_core.CURSOR_SIZE, dtype=np.int64),
            np.zeros(0, dtype=np.uint32),
        )  # fmt: skip
        _core.sgd_advance(
            core, order, multiplicity=1, U=self.U, t=self.t, errors=errors, draws=None,
            error_cost=np.zeros(K), loss=np.zeros(K), work=2**62, stop_seen=n, stop_steps=2**62,
        )  # fmt: skip
        if self.average:
            cost = weights[:, None] * np.where(labels > 0, positive, negative)
            self._keep_average(X, errors * cost * labels, labels != 0, before, lam)

    def _keep_average(
        self,
        X: Any,
        changes: Floats,
        there: NDArray[np.bool_],
        before: NDArray[np.int64],
        lam: float,
    ) -> None:
        """What comes to u at a step is in the sums of w from then on, not before."""
        for k in range(self.lanes):
            steps = before[k] + np.arange(1, np.count_nonzero(there[:, k]) + 1)
            sums = self.total[k] + np.concatenate([[0.0], np.cumsum(1.0 / (lam * steps))])
            factors = np.zeros(changes.shape[0])
            factors[there[:, k]] = sums[:-1]
            factors *= changes[:, k]
            self.late[:-1, k] += X.T @ factors
            self.late[-1, k] += self.bias * factors.sum()
            self.total[k] = sums[-1]

    def weights(self) -> tuple[Floats, Floats]:
        """coef (lanes, d) and intercepts."""
        K, t = self.lanes, np.maximum(self.t, 1)
        W = self.U[:, :K] / (self.strength * t)
        if self.average:
            W = (self.U[:, :K] * self.total - self.late[:, :K]) / t
        return np.ascontiguousarray(W[:-1].T), self.bias * W[-1]
