"""The problem: K binary SVMs (lanes) over the same rows.

Lane k, with N the sum of the sample weights of its rows, c_i = sample weight times class weight,
and s = lam N (given lam) or s = 1/C (given C):

    P(w, b) = 1/N [ s/2 |w|^2 + sum_i phi_i(o_i - y_i (w.x_i + b)) ]               the primal
    D(a)    = 1/N [ sum_i g_i(a_i) - s/2 |w(a)|^2 ],   w(a) = 1/s sum_i a_i y_i x_i,
              a_i in the box of the loss                                           the dual

with phi the loss and g its conjugate (``pegasos.losses``): c_i max(0, .) and o_i a_i, for
0 <= a_i <= c_i, of the hinge. The offset o is 1 for classes; with targets, it is the row's target.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos import _core
from pegasos.losses import Loss, named
from pegasos.rows import Rows, as_rows
from pegasos.sites import MEMORY, Blocks, Site
from pegasos.util import threads
from pegasos.util.arguments import check_sample_weight, check_scaling_range, per_lane

Intercept = Literal["none", "regularized", "free"]
"""b = 0; b penalised with w through a constant feature; b not penalised."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """K lanes over the same rows; how they are solved is not its business."""

    rows: Rows
    labels: NDArray[np.int8]  # (n, K): the side, -1 or +1; or 0, the row is not in this lane
    weight: NDArray[np.float64] | None  # (n, K), often a broadcast view; None: all one
    positive: NDArray[np.float64]  # (K,) class weight of y = +1
    negative: NDArray[np.float64]  # (K,) class weight of y = -1
    s: NDArray[np.float64]  # (K,)
    total_weight: NDArray[np.float64]  # (K,) N
    intercept: Intercept
    loss: Loss
    threads: int  # that a pass over the rows may use
    core: _core.Problem
    lane_rows: NDArray[np.int64]  # (K,) rows with y != 0
    cost: NDArray[np.float64]  # (K,) sum of c
    site: Site = MEMORY  # where the rows are
    joint: bool = False  # the lanes are the classes of one problem (``pegasos.crammer_singer``)
    targets: NDArray[np.float64] | None = None  # (n, K), may be a broadcast view; None: all one
    unit: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))  # (K,) size of margins

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows.n

    @property
    def lanes(self) -> int:
        """Number of lanes, K."""
        return int(self.s.size)

    @property
    def bias(self) -> float:
        """Value of the constant feature; 0 unless the intercept is regularized."""
        return self.rows.core.bias

    @property
    def visit_values(self) -> float:
        """Stored values of a row x lanes, on average."""
        return max(1.0, self.rows.row_size) * self.weights_shape[1]

    @property
    def row_bytes(self) -> float:
        """Of a row, on average."""
        return self.rows.row_bytes

    def largest_row(self) -> tuple[int, float]:
        """The row with the largest norm, and that."""
        return self.rows.largest(), float(np.sqrt(self.rows.squared_norms.max()))

    def memory(self) -> dict[str, NDArray[Any]]:
        """What the site keeps of the proofs so far: rows stay as they are."""
        return self.site.memory()

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """Hand that back to the site; ValueError if it can be no run's."""
        self.site.remember(self, memory)

    @property
    def class_costs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(K,) sums of c over y = +1, and over y = -1."""
        return self.site.class_costs() or (
            self.positive * _sum(self.labels > 0, self.weight),
            self.negative * _sum(self.labels < 0, self.weight),
        )

    @property
    def at_zero(self) -> NDArray[np.float64]:
        """(K,) P of w = 0 and b = 0."""
        if self.targets is None:
            losses = self.loss.value(1.0, self.cost)
        else:
            losses = self.loss.value(self.targets, self.costs()).sum(axis=0)
        return np.asarray(losses / self.total_weight)

    @property
    def largest_offset(self) -> NDArray[np.float64]:
        """(K,) |o| of the rows, at most; 1 for classes."""
        if self.targets is None:
            return np.ones(self.lanes)
        return np.asarray(np.abs(self.targets).max(axis=0, initial=0.0))

    @property
    def lam(self) -> NDArray[np.float64]:
        """(K,) s / rows of the lane: the lam of the papers' stochastic steps."""
        return self.s / self.lane_rows

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Shape of the lanes' weights: features and the constant one x padded lanes."""
        return self.rows.d + 1, _core.padded_lanes(self.lanes)

    @property
    def sizes(self) -> dict[str, int]:
        """How long axes of a run's arrays are (``pegasos.state``)."""
        features, padded = self.weights_shape
        sizes = {"lanes": self.lanes, "weights": features, "padded": padded}
        return sizes | {"rows": self.n} if self.site.here else sizes

    def costs(self, lo: int = 0, hi: int | None = None) -> NDArray[np.float64]:
        """c of rows lo..hi-1 as an (hi - lo, K) array; 0 where the row is not in the lane."""
        labels = self.labels[lo:hi]
        costs: NDArray[np.float64] = np.where(labels > 0, self.positive, self.negative)
        costs *= labels != 0
        if self.weight is not None:
            costs *= self.weight[lo:hi]
        return costs

    def offsets(self, lo: int = 0, hi: int | None = None) -> NDArray[np.float64]:
        """o of rows lo..hi-1 as an (hi - lo, K) array, not to be written to."""
        if self.targets is None:
            return np.broadcast_to(1.0, self.labels[lo:hi].shape)
        return self.targets[lo:hi]

    def worth(self, duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,) sum of o a."""
        if self.targets is None:
            return np.asarray(duals.sum(axis=0))
        return np.asarray(np.einsum("nk,nk->k", duals, self.targets))

    def core_over(self, block: Rows, lo: int, hi: int) -> _core.Problem:
        """The core's problem over a block that has rows lo..hi-1."""
        return _core.Problem(
            block.core, np.ascontiguousarray(self.labels[lo:hi]),
            None if self.weight is None else self.weight[lo:hi], self.positive, self.negative,
            self.s, self.lam, self.rows.squared_norms[lo:hi], self.loss.core, self.threads,
            None if self.targets is None else self.targets[lo:hi], self.unit,
        )  # fmt: skip

    def take(self, lanes: NDArray[np.intp], threads: int | None = None) -> Problem:
        """The problem of some of the lanes."""
        site = self.site.of_lanes(lanes)
        if not self.labels.size:  # they are where the rows are
            names = ("positive", "negative", "s", "total_weight", "lane_rows", "cost")
            return replace(
                self, **{name: getattr(self, name)[lanes] for name in names}, site=site,
                threads=self.threads if threads is None else threads,
            )  # fmt: skip
        return lanes_over(
            self.rows,
            np.ascontiguousarray(self.labels[:, lanes]),
            None if self.weight is None else _lanes_of(self.weight, lanes),
            self.positive[lanes],
            self.negative[lanes],
            self.s[lanes],
            self.total_weight[lanes],
            self.intercept,
            self.loss,
            self.threads if threads is None else threads,
            site,
            None if self.targets is None else _lanes_of(self.targets, lanes),
            self.unit[lanes],
        )

    def at(self, C: float) -> Problem:
        """The same problem with another C."""
        if not self.labels.size:
            return replace(self, s=np.full(self.lanes, 1.0 / C))
        changed = lanes_over(
            self.rows,
            self.labels,
            self.weight,
            self.positive,
            self.negative,
            np.full(self.lanes, 1.0 / C),
            self.total_weight,
            self.intercept,
            self.loss,
            self.threads,
            self.site,
            self.targets,
            self.unit,
        )
        return replace(changed, joint=self.joint, cost=self.cost)

    def with_labels(
        self,
        labels: NDArray[np.int8],
        positive: NDArray[np.float64],
        negative: NDArray[np.float64],
        threads: int,
    ) -> Problem:
        """Other lanes over the same rows, with the C and sample weights of the first one here."""
        weight = None
        if self.weight is not None:
            weight = np.broadcast_to(self.weight[:, :1], labels.shape)
            labels = np.where(weight > 0, labels, 0).astype(np.int8)
        return lanes_over(
            self.rows,
            np.ascontiguousarray(labels),
            weight,
            positive,
            negative,
            np.full(labels.shape[1], self.s[0]),
            _sum(labels != 0, weight),
            self.intercept,
            self.loss,
            threads,
            self.site,
        )

    def largest_duals(self, lo: int = 0, hi: int | None = None) -> NDArray[np.float64]:
        """The upper bounds of the duals of rows lo..hi-1."""
        return self.loss.largest_duals(self.costs(lo, hi))


def make_problem(
    X: Any,
    labels: ArrayLike,
    *,
    lam: ArrayLike | None = None,
    C: ArrayLike | None = None,
    intercept: Intercept = "regularized",
    intercept_scaling: float = 1.0,
    sample_weight: ArrayLike | None = None,
    positive: ArrayLike = 1.0,
    negative: ArrayLike = 1.0,
    loss: str | Loss = "hinge",
    n_jobs: int | None = 1,
    site: Site | None = None,
) -> Problem:
    """Check everything and build the problem.

    ``labels`` is (n, K) in {-1, 0, +1}; ``lam`` or ``C``, ``positive`` and ``negative`` are one
    number or one per lane; ``sample_weight`` is (n,), or (n, K) for weights per lane; ``n_jobs``
    are threads (``pegasos.util.threads``). ``site`` is where arrays are visited, ``MEMORY`` if
    None; rows that come by parts are a site of their own.
    """
    y = np.ascontiguousarray(labels, dtype=np.int8)
    if intercept not in ("none", "regularized", "free"):
        raise ValueError(f"intercept must be none, regularized or free, got {intercept!r}")
    bias = 0.0
    if intercept == "regularized":
        bias = check_scaling_range(intercept_scaling)
    if y.ndim != 2 or y.shape[1] < 1:
        raise ValueError(f"y must be (n,) or (n, K) with K >= 1, got shape {y.shape}")
    if site is None:
        site = X if isinstance(X, Blocks) else MEMORY
    rows = X.summary(bias) if isinstance(X, Blocks) else as_rows(X, bias=bias, n_jobs=n_jobs)
    if y.shape[0] != rows.n:
        raise ValueError(f"X and y disagree: X has {rows.n} rows, y has {y.shape[0]}")
    weight = None
    if sample_weight is not None:
        weight = np.broadcast_to(check_sample_weight(sample_weight, *y.shape), y.shape)
        if not weight.all():
            # A weight of zero is a row that is not there.
            y = np.where(weight > 0, y, 0).astype(np.int8)
    K = y.shape[1]
    total = _sum(y != 0, weight)
    if not np.isfinite(total).all():
        raise ValueError("sample_weight is too large: its sum overflows float64; scale it down")
    for name, sign in (("+1", 1), ("-1", -1)):
        missing = np.flatnonzero(~(y == sign).any(axis=0))
        if missing.size:
            where = f" in column {missing[0]} of y" if K > 1 else ""
            raise ValueError(
                f"y needs examples of two classes; none of class {name}{where} is there with a "
                "positive sample weight (with several columns, 0 means: not part of the problem)"
            )
    return lanes_over(
        rows,
        y,
        weight,
        per_lane("positive class weight", positive, K, zero=True),
        per_lane("negative class weight", negative, K, zero=True),
        regularization(lam, C, total),
        total,
        intercept,
        named(loss),
        threads.resolve(n_jobs, rows.n * rows.row_size * K),
        site,
    )


def regularization(
    lam: ArrayLike | None, C: ArrayLike | None, total_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """s per lane, from lam (s = lam N) or C (s = 1/C)."""
    K = total_weight.size
    if (lam is None) == (C is None):
        raise ValueError("give exactly one of lam and C")
    if lam is not None:
        s = per_lane("lam", lam, K) * total_weight
    else:
        s = 1.0 / per_lane("C", C, K)
    if not (np.isfinite(s) & (s > 0)).all():
        raise ValueError("lam or C is so extreme that the regularization leaves float64")
    return s


def lanes_over(
    rows: Rows,
    labels: NDArray[np.int8],
    weight: NDArray[np.float64] | None,
    positive: NDArray[np.float64],
    negative: NDArray[np.float64],
    s: NDArray[np.float64],
    total_weight: NDArray[np.float64],
    intercept: Intercept,
    loss: Loss,
    threads: int = 1,
    site: Site = MEMORY,
    targets: NDArray[np.float64] | None = None,
    unit: NDArray[np.float64] | None = None,
) -> Problem:
    """The lanes with these labels over the rows, which may be some of those that N counts.

    Nothing is checked: labels are 0 where the weight is; ``weight`` and ``targets`` broadcast to
    them. ``unit`` is the size of margins per lane, 1 if None.
    """
    if weight is not None:
        weight = np.broadcast_to(weight, labels.shape)
    if targets is not None:
        targets = np.broadcast_to(targets, labels.shape)
    if unit is None:
        unit = np.ones(labels.shape[1])
    lane_rows = np.count_nonzero(labels, axis=0).astype(np.int64)
    cost = positive * _sum(labels > 0, weight) + negative * _sum(labels < 0, weight)
    core = _core.Problem(
        rows.core, labels, weight, positive, negative, s, s / np.maximum(lane_rows, 1),
        rows.squared_norms, loss.core, threads, targets, unit,
    )  # fmt: skip
    return Problem(
        rows=rows, labels=labels, weight=weight, positive=positive, negative=negative, s=s,
        total_weight=total_weight, intercept=intercept, loss=loss, threads=threads, core=core,
        lane_rows=lane_rows, cost=cost, site=site, targets=targets, unit=unit,
    )  # fmt: skip


def _lanes_of(values: NDArray[np.float64], lanes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Columns of weights or targets; those that all lanes share stay one column."""
    if values.strides[1] == 0:
        return np.broadcast_to(values[:, :1], (values.shape[0], lanes.size))
    return np.ascontiguousarray(values[:, lanes])


def _sum(mask: NDArray[np.bool_], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Sum of the weights over the rows of each lane's mask."""
    if weight is None:
        return np.asarray(np.count_nonzero(mask, axis=0), dtype=np.float64)
    return np.asarray(np.einsum("nk,nk->k", mask, weight, dtype=np.float64))
