"""The certificate: how far from the optimum a model can be, recomputed from data, w and duals.

Any w gives an upper bound P(w) on the optimum, any feasible a a lower bound D(a) (the formulas
are in ``pegasos.problem``). A dual point is first made feasible and as tight as one number can:
with a free intercept the heavier side, by the sign of beta = a y, is scaled down until sum beta
is 0; then all of a is scaled by the theta that maximises D(theta a) in the box. So D >= 0 always.

With a free intercept the repaired duals balance up to rounding only; ``rounding`` covers that at
the b of the model it belongs to.

Of a problem with a balance tau (``pegasos.problem``) scaling all of a is not valid, and D = 0 is no
bound. There, duals are moved until sum beta is tau (``repaired``), and D is taken as it is.

Everything here is float64, summed from scratch: nothing is carried over from the solver, nothing
is clamped, and ``rounding`` bounds what the arithmetic itself can have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.problem import Problem

Floats = NDArray[np.float64]
DualsOf = Callable[[int, int], Floats]
"""Duals of rows lo..hi-1 as an (hi - lo, K) array."""

GiveUp = Callable[[], bool]
"""Asked between blocks of work: True ends it unfinished."""

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
_FEATURE_VALUES = 1 << 18  # of W, at a time: what is computed of them takes memory


class GaveUp(Exception):  # noqa: N818 - no error: somebody asked for it
    """A ``GiveUp`` said True."""


def never() -> bool:
    """Do not give up."""
    return False


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimum of each lane; floats for one binary problem, else (K,) arrays."""

    primal: Any  # P of the model: no better than the optimum
    dual: Any  # D of its duals: no worse than the optimum
    rounding: Any  # bound on the error of primal - dual from float64 arithmetic
    # Bounds may be below 0: the gap is relative to the size of the dual.
    signed: bool = field(default=False, kw_only=True, repr=False)

    @property
    def gap(self) -> Any:
        """Primal - dual, which bounds P(model) - P(optimum)."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> Any:
        """primal / dual - 1: what ``tol`` is compared with; infinite while dual <= 0.

        If bounds may be below 0 (``signed``), it is gap / abs(dual).
        """
        return relative_gap(np.asarray(self.primal), np.asarray(self.dual), signed=self.signed)[()]

    def proves(self, tol: float) -> Any:
        """Per lane: is P/D - 1 <= tol, and not by rounding alone (rounding <= tol D)?"""
        size = np.abs(self.dual) if self.signed else np.maximum(self.dual, 0.0)
        return (self.relative_gap <= tol) & (self.rounding <= tol * size)

    def exhausted(self, tol: float) -> Any:
        """Per lane: has float64 no more to give, the gap being within rounding, or within tol?"""
        return (self.gap <= self.rounding) | (self.relative_gap <= tol)

    @property
    def holds(self) -> bool:
        """Whether the bounds agree with each other: gap >= -rounding in every lane."""
        return bool(np.all(self.gap >= -np.asarray(self.rounding)))

    @classmethod
    def untrained(cls, objective: Floats) -> Certificate:
        """That of w = 0 and a = 0, with P as it is there and D = 0: it needs no pass."""
        return cls(objective, np.zeros_like(objective), 8 * UNIT_ROUNDOFF * objective)

    @classmethod
    def at_start(cls, problem: Problem) -> Certificate:
        """That of w = 0 and of the duals that a problem starts from."""
        if problem.balance is None:
            return cls.untrained(problem.at_zero)
        a, N = problem.even_duals(), problem.total_weight
        worth = problem.worth(a) - problem.loss.squares(a, problem.costs()).sum(axis=0)
        # s |w(a)| is at most the largest row, so many times: this is below D.
        bend = problem.rows.squared_norms.max() * problem.tau**2 / (2 * problem.s)
        size = problem.at_zero + (np.abs(worth) + bend) / N
        rounding = (problem.n + 8) * UNIT_ROUNDOFF * size
        return cls(problem.at_zero, (worth - bend) / N, rounding, signed=True)

    def lane(self, k: Any) -> Certificate:
        """The certificate of lane ``k`` alone, or of several."""
        return Certificate(self.primal[k], self.dual[k], self.rounding[k], signed=self.signed)

    def replaced(self, at: Any, part: Certificate) -> Certificate:
        """A copy with the bounds of the lanes ``at``, any index, taken from ``part``."""
        columns: list[Any] = []
        for name in ("primal", "dual", "rounding"):
            column = getattr(self, name).copy()
            column[at] = getattr(part, name)
            columns.append(column)
        return Certificate(*columns, signed=self.signed)

    def __str__(self) -> str:
        """The worst lane, in words."""
        relative = np.max(self.relative_gap)
        worst = int(np.argmax(self.relative_gap))
        primal, dual = np.ravel(self.primal)[worst], np.ravel(self.dual)[worst]
        lanes = f" (worst of {np.size(self.primal)} problems)" if np.size(self.primal) > 1 else ""
        return (
            f"within {relative:.3g} (relative) of the optimum{lanes}: "
            f"primal {primal:.8g}, dual {dual:.8g}, gap {primal - dual:.3g}"
        )


def relative_gap(primal: Floats, dual: Floats, *, signed: bool = False) -> Floats:
    """primal / dual - 1; infinite where dual <= 0, and 0 where both are 0.

    Of bounds that may be below 0 (``signed``), (primal - dual) / abs(dual).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(dual) if signed else dual
        proven = (size > 0) & np.isfinite(size) if signed else dual > 0
        ratio = np.where(proven, (primal - dual) / np.where(proven, size, 1.0), np.inf)
    return np.where((primal == 0) & (dual == 0), 0.0, ratio)


@dataclass(frozen=True)
class GapSums:
    """Sums over some of the rows; those of disjoint rows merge into those of their union."""

    sums: Floats  # (K, 15), columns _core.GAP_SUMS
    U_positive: Floats  # sum of |a| x over beta > 0; of a y x over all rows if U_negative is None
    U_negative: Floats | None  # sum of |a| x over beta < 0; kept apart for a free intercept

    @classmethod
    def zeros(cls, problem: Problem) -> GapSums:
        """The sums over no rows."""
        free = problem.intercept == "free"
        return cls(
            np.zeros((problem.lanes, len(_core.GAP_SUMS))),
            np.zeros(problem.weights_shape),
            np.zeros(problem.weights_shape) if free else None,
        )

    def merge(self, other: GapSums) -> GapSums:
        """The sums over the rows of both."""
        negative = None
        if self.U_negative is not None and other.U_negative is not None:
            negative = self.U_negative + other.U_negative
        return GapSums(self.sums + other.sums, self.U_positive + other.U_positive, negative)

    def column(self, name: str) -> Floats:
        """One of the sums, per lane."""
        return self.sums[:, _core.GAP_SUMS.index(name)]


def certify(
    problem: Problem,
    W: Floats,
    b: Floats,
    duals: DualsOf,
    *,
    give_up: GiveUp = never,
    as_is: bool = False,
) -> tuple[Certificate, Floats] | None:
    """The certificate of (W, b, duals), and b.

    ``W`` is padded as in ``Problem.weights_shape``. With a free intercept ``b`` is not taken but
    found: the best one for W; ``as_is`` takes it. ``give_up`` is asked about every 10 ms; if it
    agrees, the answer is None.
    """
    if not problem.site.here:
        total, b = problem.site.gap_sums(problem, W, duals)
        return certificate(problem, W, b, total), b
    if problem.balance is not None:
        duals = repaired(problem, duals)
    free = problem.intercept == "free"
    total = GapSums.zeros(problem)
    products = np.empty((problem.n, problem.lanes)) if free and not as_is else None
    W = np.ascontiguousarray(W)
    b = np.ascontiguousarray(b, dtype=np.float64)
    core_b = np.zeros(problem.lanes)  # a regularized intercept is inside W
    if free and as_is:
        core_b = b
    elif free:
        b = np.zeros(problem.lanes)
    inner = np.ascontiguousarray(problem.site.inward(W))
    for lo, hi in blocks(problem):
        if give_up():
            return None
        core, first, last = problem.site.part(problem, lo, hi)
        _core.add_gap_sums(
            core, first, last, inner, core_b, np.ascontiguousarray(duals(lo, hi)), total.sums,
            total.U_positive, total.U_negative, None if products is None else products[lo:hi],
        )  # fmt: skip
    problem.site.outward(total.U_positive)
    if total.U_negative is not None:
        problem.site.outward(total.U_negative)
    if products is not None:
        _core.best_intercepts(problem.core, products, b, total.sums)
    try:
        return certificate(problem, W, b, total, give_up), b
    except GaveUp:
        return None


def blocks(problem: Problem) -> list[tuple[int, int]]:
    """Row ranges of about 10 ms of work each: a function of the problem's shape alone."""
    return problem.site.certified_at_once(problem)


def feature_blocks(W: Floats, give_up: GiveUp = never) -> Iterator[tuple[int, int]]:
    """Ranges of W's rows of some ms of work each; raises GaveUp between them if asked to."""
    step = max(1, _FEATURE_VALUES // W.shape[1])
    for lo in range(0, W.shape[0], step):
        if give_up():
            raise GaveUp
        yield lo, min(W.shape[0], lo + step)


def certificate(
    problem: Problem, W: Floats, b: Floats, total: GapSums, give_up: GiveUp = never
) -> Certificate:
    """The bounds that the sums over all rows prove for the model (W, b)."""
    K, s, N = problem.lanes, problem.s, problem.total_weight
    e = UNIT_ROUNDOFF
    m = problem.rows.longest + 3  # terms of a product w.x
    d = problem.rows.d + 3  # terms of |w|^2
    sums = 4 + total.column("blocks")  # roundings of a sum of compensated sums
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        w2 = np.zeros(K)
        for lo, hi in feature_blocks(W, give_up):
            w2 += np.einsum("jk,jk->k", W[lo:hi], W[lo:hi])[:K]
        loss = total.column("loss")
        primal = (s / 2 * w2 + loss) / N
        if problem.balance is not None:
            primal += problem.tau * b / N

        # Rounding of P: each product w.x errs by at most m e |w| |x| for rows of m values, and the
        # losses by their slopes times that.
        product_error = problem.rows.condition * m * e * np.sqrt(w2)
        largest = np.sqrt(problem.rows.squared_norms.max())
        slope, slope_norm = total.column("slope"), total.column("slope_norm")
        level_slope = total.column("level_slope")
        if not problem.loss.curved:
            # No row can have lost or gained its loss that is not counted; if it can, all are.
            offset = problem.largest_offset
            reach = (product_error + 4 * e * np.sqrt(w2)) * largest + 4 * e * (offset + np.abs(b))
            counted = reach <= _core.NEAR * problem.unit
            slope = np.where(counted, slope, problem.cost)
            slope_norm = np.where(counted, slope_norm, total.column("cost_norm"))
            level_slope = np.where(counted, level_slope, problem.cost * np.maximum(offset - 1, 0))
        primal_error = product_error * slope_norm + e * (
            sums * ((1 + np.abs(b)) * slope + level_slope + 2 * loss) + (d + 3) * s / 2 * w2
        )
        if problem.loss.curved:
            primal_error += product_error**2 * largest * total.column("cost_norm")

        size, level, squares, up, down = _sums_of_duals(problem, total)
        a_sum = size + level
        v2 = np.zeros(K)  # |w(a)|^2, of a sensible size where |s w(a)|^2 may leave float64
        for lo, hi in feature_blocks(W, give_up):
            V = total.U_positive[lo:hi, :K] * up
            if total.U_negative is not None:
                V -= total.U_negative[lo:hi, :K] * down
            V /= s
            v2 += np.einsum("jk,jk->k", V, V)
        usable = np.isfinite(v2) & np.isfinite(squares)  # if not, theta = 0 still proves D = 0
        v2, squares = np.where(usable, v2, 0.0), np.where(usable, squares, 0.0)
        curvature = s * v2 + 2 * squares
        if problem.balance is None:
            theta = np.divide(a_sum, curvature, out=np.ones(K), where=curvature > 0)
            if problem.loss.bounded:
                theta = np.minimum(theta, 1)
            theta = np.where(a_sum < 0, 0.0, theta) * usable
        else:
            theta = np.ones(K)
        dual = theta * (a_sum - theta * curvature / 2) / N

        # Rounding of D: each component of sum a y x is a sum of `support` terms.
        v_error = (total.column("support") + 3) * e * total.column("dual_norm") / s
        v_error = v_error * problem.rows.condition
        dual_error = theta * (
            sums * e * ((1 + np.abs(b)) * size + total.column("level_size"))
            + theta * s * (2 * np.sqrt(v2) * v_error + v_error**2 + (d + 3) * e * v2) / 2
            + theta * (sums + 4) * e * squares
        )
        # theta = 0 proves D = 0 whatever the rest is.
        dual_error = np.where(theta > 0, dual_error, 0.0)
        if problem.balance is None:
            return Certificate(primal, dual, (primal_error + dual_error) / N)
        dual = np.where(usable, dual, -np.inf)
        held = total.column("dual_positive") - total.column("dual_negative")
        dual_error += np.abs(b) * (np.abs(held - problem.tau) + sums * e * problem.tau)
        return Certificate(primal, dual, (primal_error + dual_error) / N, signed=True)


def repaired(problem: Problem, duals: DualsOf) -> DualsOf:
    """The duals, moved in the box until sum beta is the balance, up to rounding.

    Too large a sum scales the side of +1 down. Too small a one scales the side of -1 down; if that
    is not enough, the duals of +1 go a part of the way to the costs, or to what multiple of them
    has the right sum.
    """
    tau, K = problem.tau, problem.lanes
    up, down = np.zeros(K), np.zeros(K)
    for lo, hi in blocks(problem):
        a, y = duals(lo, hi), problem.sides(lo, hi)
        up += np.sum(a, axis=0, where=y > 0)
        down += np.sum(a, axis=0, where=y < 0)
    all_costs = problem.class_costs[0]
    stretch = np.maximum(1.0, np.divide(tau, all_costs, out=np.ones(K), where=all_costs > 0))
    shrunk = np.minimum(1.0, np.divide(tau + down, up, out=np.ones(K), where=up > 0))
    less = np.divide(np.maximum(up - tau, 0.0), down, out=np.ones(K), where=down > 0)
    room = stretch * all_costs - up
    way = np.divide(tau - up, room, out=np.zeros(K), where=(up < tau) & (room > 0))

    def moved(lo: int, hi: int) -> Floats:
        y, most = problem.sides(lo, hi), problem.largest_duals(lo, hi)
        a = duals(lo, hi) * np.where(y > 0, shrunk, np.minimum(less, 1.0))
        a += np.where(y > 0, way * (stretch * problem.costs(lo, hi) - a), 0.0)
        return np.asarray(np.clip(a, 0.0, most))

    return moved


def _sums_of_duals(
    problem: Problem, total: GapSums
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Sums of |a|, o a - |a| and kappa a^2 / 2, with factors of both sides that make sum beta = 0.

    The factors are 1 where no side is to be scaled: the intercept is not free, and U_positive holds
    both, or there is a balance, and the duals are repaired.
    """
    positive, negative = total.column("dual_positive"), total.column("dual_negative")
    levels = total.column("level_positive"), total.column("level_negative")
    squares = total.column("square_positive"), total.column("square_negative")
    if total.U_negative is None or problem.balance is not None:
        both = positive + negative
        level, square = levels[0] + levels[1], squares[0] + squares[1]
        return both, level, square, np.ones_like(positive), np.ones_like(positive)
    lighter = np.minimum(positive, negative)
    up = np.divide(lighter, positive, out=np.zeros_like(lighter), where=positive > 0)
    down = np.divide(lighter, negative, out=np.zeros_like(lighter), where=negative > 0)
    level = up * levels[0] + down * levels[1]
    return 2 * lighter, level, up**2 * squares[0] + down**2 * squares[1], up, down
