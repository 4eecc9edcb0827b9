"""The problem: K binary SVMs (lanes) over the same rows.

Lane k, with N the sum of the sample weights of its rows, c_i = sample weight times class weight,
and s = lam N (given lam) or s = 1/C (given C):

    P(w, b) = 1/N [ s/2 |w|^2 + tau b + sum_i phi_i(o_i - y_i (w.x_i + b)) ]       the primal
    D(a)    = 1/N [ sum_i g_i(a_i) - s/2 |w(a)|^2 ],   w(a) = 1/s sum_i a_i y_i x_i,
              a_i in the box of the loss; sum_i a_i y_i = tau if b is free         the dual

with phi the loss and g its conjugate (``pegasos.losses``): c_i max(0, .) and o_i a_i, for
0 <= a_i <= c_i, of the hinge. The offset o is 1 for classes; with targets, it is the row's target.

The balance tau is 0 but for problems of the kind of one class: one side, offsets of 0, b = -rho,
P = 1/N [ s/2 |w|^2 - tau rho + sum_i c_i max(0, rho - w.x_i) ]. There, P and D may be below 0.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos import _core
from pegasos.losses import Floats, Loss, named
from pegasos.rows import Rows, as_rows
from pegasos.sites import MEMORY, Blocks, Site
from pegasos.util import threads
from pegasos.util.arguments import (
    check_members,
    check_sample_weight,
    check_scaling_range,
    check_targets,
    per_lane,
    regularization,
)

Intercept = Literal["none", "regularized", "free"]
"""b = 0; b penalised with w through a constant feature; b not penalised."""

Targets = Floats | NDArray[np.float32]
Sides = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """K lanes over the same rows; how they are solved is not its business."""

    rows: Rows
    labels: Sides  # (n, K): the side, -1 or +1; 0 where a row has none: no member
    weight: Floats | None  # (n, K), often a broadcast view; None: all one
    positive: Floats  # (K,) class weight of y = +1
    negative: Floats  # (K,) class weight of y = -1
    s: Floats  # (K,)
    total_weight: Floats  # (K,) N
    intercept: Intercept
    loss: Loss
    threads: int  # that a pass over the rows may use
    core: _core.Problem
    lane_rows: NDArray[np.int64]  # (K,) members, those that cost nothing included
    cost: Floats  # (K,) sum of c
    site: Site = MEMORY  # where the rows are
    joint: bool = False  # the lanes are the classes of one problem (``pegasos.crammer_singer``)
    targets: Targets | None = None  # (n, K), may be a broadcast view; None: all one
    unit: Floats = field(default_factory=lambda: np.ones(1))  # (K,) size of margins
    members: Sides | None = None  # (n, K), a broadcast view or not; 0: not in the lane
    balance: Floats | None = None  # (K,) tau; None: all 0

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
    def class_costs(self) -> tuple[Floats, Floats]:
        """(K,) sums of c over y = +1, and over y = -1."""
        y = self.sides()
        return self.site.class_costs() or (
            self.positive * _sum(y > 0, self.weight),
            self.negative * _sum(y < 0, self.weight),
        )

    @property
    def at_zero(self) -> Floats:
        """(K,) P of w = 0 and b = 0."""
        if self.targets is None:
            losses = self.loss.value(1.0, self.cost)
        else:
            losses = self.loss.value(self.offsets(), self.costs()).sum(axis=0)
        return np.asarray(losses / self.total_weight)

    @property
    def largest_offset(self) -> Floats:
        """(K,) |o| of the rows, at most; 1 for classes."""
        if self.targets is None:
            return np.ones(self.lanes)
        return np.asarray(np.abs(self.targets).max(axis=0, initial=0.0))

    @property
    def lam(self) -> Floats:
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

    def sides(self, lo: int = 0, hi: int | None = None) -> Sides:
        """y of rows lo..hi-1, -1 or +1, as an (hi - lo, K) array; 0: the row is no member."""
        members = None if self.members is None else self.members[lo:hi]
        return _sides(self.labels[lo:hi], members)

    def costs(self, lo: int = 0, hi: int | None = None) -> Floats:
        """c of rows lo..hi-1 as an (hi - lo, K) array; 0 where the row is not in the lane."""
        labels = self.sides(lo, hi)
        costs: Floats = np.where(labels > 0, self.positive, self.negative)
        costs *= labels != 0
        if self.weight is not None:
            costs *= self.weight[lo:hi]
        return costs

    def offsets(self, lo: int = 0, hi: int | None = None) -> Floats:
        """o of rows lo..hi-1 as an (hi - lo, K) array, not to be written to."""
        if self.targets is None:
            return np.broadcast_to(1.0, self.labels[lo:hi].shape)
        return self.targets[lo:hi].astype(np.float64, copy=False)

    def worth(self, duals: Floats) -> Floats:
        """(K,) sum of o a."""
        if self.targets is None:
            return np.asarray(duals.sum(axis=0))
        return np.asarray(np.einsum("nk,nk->k", duals, self.targets))

    def even_duals(self) -> Floats:
        """(n, K) duals of the side of +1 that have the right balance: all the same share of c."""
        share = self.tau / self.class_costs[0]
        return np.where(self.sides() > 0, share * self.costs(), 0.0)

    @property
    def tau(self) -> Floats:
        """(K,) the balance, what sum a y is to be."""
        return np.zeros(self.lanes) if self.balance is None else self.balance

    def imbalance(self, duals: Floats) -> Floats:
        """(K,) sum of a y, less tau."""
        return np.asarray(np.einsum("nk,nk->k", duals, self.sides()) - self.tau)

    def core_over(self, block: Rows, lo: int, hi: int) -> _core.Problem:
        """The core's problem over a block that has rows lo..hi-1."""
        of_rows = {name: getattr(self, name) for name in BY_ROW}
        sliced: dict[str, Any] = {k: None if v is None else v[lo:hi] for k, v in of_rows.items()}
        return _core.Problem(
            block.core, **sliced, positive=self.positive, negative=self.negative, s=self.s,
            lam=self.lam, squared_norms=self.rows.squared_norms[lo:hi], loss=self.loss.name,
            threads=self.threads, unit=self.unit, balance=self.balance,
        )  # fmt: skip

    def take(self, lanes: NDArray[np.intp], threads: int | None = None) -> Problem:
        """The problem of some of the lanes."""
        changes: dict[str, Any] = {
            name: getattr(self, name)[lanes]
            for name in ("positive", "negative", "s", "total_weight")
        }
        changes |= {"site": self.site.of_lanes(lanes), "threads": threads or self.threads}
        if not self.labels.size:  # they are where the rows are
            return replace(self, lane_rows=self.lane_rows[lanes], cost=self.cost[lanes], **changes)
        changes |= {name: _columns(getattr(self, name), lanes) for name in BY_ROW}
        balance = None if self.balance is None else self.balance[lanes]
        return self._over(unit=self.unit[lanes], balance=balance, **changes)

    def at(self, C: float) -> Problem:
        """The same problem with another C."""
        s = np.full(self.lanes, 1.0 / C)
        if not self.labels.size:
            return replace(self, s=s)
        return replace(self._over(s=s), joint=self.joint, cost=self.cost)

    def with_labels(
        self, labels: Sides, positive: Floats, negative: Floats, threads: int
    ) -> Problem:
        """Other lanes over the same rows, with the C and sample weights of the first one here."""
        weight, K = self.weight, labels.shape[1]
        members = None
        if weight is not None:
            weight, members = _weights_of(weight[:, :1], labels.shape)
        return self._over(
            labels=np.ascontiguousarray(labels), weight=weight, members=members,
            positive=positive, negative=negative, s=np.full(K, self.s[0]),
            total_weight=_sum(_sides(labels, members) != 0, weight), threads=threads,
            targets=None, unit=None, balance=None,
        )  # fmt: skip

    def _over(self, **changes: Any) -> Problem:
        """The problem with other arrays, and what follows from them."""
        same = {name: getattr(self, name) for name in _GIVEN if name not in changes}
        return lanes_over(**same, **changes)

    def largest_duals(self, lo: int = 0, hi: int | None = None) -> Floats:
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
    targets: ArrayLike | None = None,
    members: ArrayLike | None = None,
    balance: ArrayLike | None = None,
) -> Problem:
    """Check everything and build the problem.

    ``labels`` is (n, K) in {-1, 0, +1}; a row is of a lane unless its label, its weight or what
    ``members`` says is 0. ``lam`` or ``C``, ``positive``, ``negative`` and ``balance`` are one
    number or one per lane; ``sample_weight``, ``targets`` and ``members`` are (n,), or (n, K) for
    some per lane; ``n_jobs`` are threads (``pegasos.util.threads``). ``site`` is where arrays are
    visited, ``MEMORY`` if None; rows that come by parts are a site of their own.
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
    weight, inside = None, check_members(members, y.shape)
    if sample_weight is not None:
        weight, weighs = _weights_of(check_sample_weight(sample_weight, *y.shape), y.shape)
        inside = weighs if inside is None else inside if weighs is None else inside * weighs
    K = y.shape[1]
    sides = _sides(y, inside)
    total = _sum(sides != 0, weight)
    if not np.isfinite(total).all():
        raise ValueError("sample_weight is too large: its sum overflows float64; scale it down")
    for name, sign in (("+1", 1), ("-1", -1))[: 2 if balance is None else 1]:
        missing = np.flatnonzero(~(sides == sign).any(axis=0))
        if missing.size:
            where = f" in column {missing[0]} of y" if K > 1 else ""
            raise ValueError(
                f"y needs examples of two classes; none of class {name}{where} is there with a "
                "positive sample weight (with several columns, 0 means: not part of the problem)"
            )
    up = per_lane("positive class weight", positive, K, zero=True)
    down = per_lane("negative class weight", negative, K, zero=True)
    problem = lanes_over(
        rows, y, weight, up, down, regularization(lam, C, total), total, intercept, named(loss),
        threads.resolve(n_jobs, rows.n * rows.row_size * K), site=site,
        targets=check_targets(targets, y.shape), members=inside,
    )  # fmt: skip
    return problem if balance is None else _balanced(problem, per_lane("balance", balance, K))


def _balanced(problem: Problem, balance: Floats) -> Problem:
    """The problem with a balance, which some duals need to have."""
    if problem.intercept != "free":
        raise ValueError(f"balance needs intercept='free', got {problem.intercept!r}")
    most = problem.class_costs[0]
    if problem.loss.bounded and (balance > most).any():
        lane = int(np.argmax(balance > most))
        raise ValueError(
            f"balance must be at most the cost of all rows of class +1, {most[lane]:.6g}, "
            f"got {balance[lane]:.6g}"
        )
    # The products of rows with w are as large as those of rows, tau / s times.
    unit = balance * float(problem.rows.squared_norms.mean()) / problem.s
    return problem._over(balance=balance, unit=np.where(unit > 0, unit, 1.0))


def lanes_over(
    rows: Rows,
    labels: Sides,
    weight: Floats | None,
    positive: Floats,
    negative: Floats,
    s: Floats,
    total_weight: Floats,
    intercept: Intercept,
    loss: Loss,
    threads: int = 1,
    *,
    site: Site = MEMORY,
    targets: Targets | None = None,
    unit: Floats | None = None,
    members: Sides | None = None,
    balance: Floats | None = None,
) -> Problem:
    """The lanes with these labels over the rows, which may be some of those that N counts.

    Nothing is checked: rows without a weight are no members; what rows have broadcasts to the
    labels. ``unit`` is the size of margins per lane, 1 if None.
    """
    by_row = {"weight": weight, "targets": targets, "members": members}
    broadcast: dict[str, Any] = {
        name: None if values is None else np.broadcast_to(values, labels.shape)
        for name, values in by_row.items()
    }
    if unit is None:
        unit = np.ones(labels.shape[1])
    y = _sides(labels, members)
    lane_rows = np.count_nonzero(y, axis=0).astype(np.int64)
    cost = positive * _sum(y > 0, weight) + negative * _sum(y < 0, weight)
    core = _core.Problem(
        rows.core, labels=labels, **broadcast, positive=positive, negative=negative, s=s,
        lam=s / np.maximum(lane_rows, 1), squared_norms=rows.squared_norms, loss=loss.name,
        threads=threads, unit=unit, balance=balance,
    )  # fmt: skip
    return Problem(
        rows=rows, labels=labels, **broadcast, positive=positive, negative=negative, s=s,
        total_weight=total_weight, intercept=intercept, loss=loss, threads=threads, core=core,
        lane_rows=lane_rows, cost=cost, site=site, unit=unit, balance=balance,
    )  # fmt: skip


BY_ROW = ("labels", "weight", "targets", "members")
_GIVEN = tuple(inspect.signature(lanes_over).parameters)


def _columns(values: NDArray[Any] | None, lanes: NDArray[np.intp]) -> NDArray[Any] | None:
    """Columns of what rows have; those that all lanes share stay one column."""
    if values is None:
        return None
    if values.strides[1] == 0:
        return np.broadcast_to(values[:, :1], (values.shape[0], lanes.size))
    return np.ascontiguousarray(values[:, lanes])


def _weights_of(weight: Floats, shape: tuple[int, ...]) -> tuple[Floats, Sides | None]:
    """Sample weights (n, K), and who are members by them: a weight of 0 is a row not there."""
    members = None if weight.all() else (weight > 0).view(np.int8)
    return np.broadcast_to(weight, shape), members


def _sides(labels: Sides, members: Sides | None) -> Sides:
    """The labels of members, and 0 of other rows."""
    return labels if members is None else labels * members


def _sum(mask: NDArray[np.bool_], weight: Floats | None) -> Floats:
    """Sum of the weights over the rows of each lane's mask."""
    if weight is None:
        return np.asarray(np.count_nonzero(mask, axis=0), dtype=np.float64)
    return np.asarray(np.einsum("nk,nk->k", mask, weight, dtype=np.float64))
