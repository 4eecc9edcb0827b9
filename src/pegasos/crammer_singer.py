"""The multi-class problem of Crammer & Singer (2001): all classes at once, with one certificate.

The lanes are the classes, labelled one against the rest (y = +1 for a row's own class k_i), and

    P(W) = 1/N [ s/2 sum_k |w_k|^2 + sum_i c_i max(0, max_{k != k_i} 1 + w_k.x_i - w_{k_i}.x_i) ]
    D(a) = 1/N [ sum_i a_{i k_i} - s/2 sum_k |w_k(a)|^2 ],   w_k(a) = 1/s sum_i y_ik a_ik x_i,
           a_ik >= 0,   sum_{k != k_i} a_ik = a_{i k_i} <= c_i.

The own dual is recomputed as the sum of the others, and all of a row scaled down if it exceeds c,
before D is taken from it. A certificate has the same numbers for every lane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import (
    UNIT_ROUNDOFF,
    Certificate,
    DualsOf,
    Floats,
    GapSums,
    GaveUp,
    GiveUp,
    blocks,
    feature_blocks,
    never,
)
from pegasos.losses import Hinge
from pegasos.problem import Problem


def as_joint(problem: Problem) -> Problem:
    """One problem of the classes that are the lanes of ``problem``, labelled against the rest."""
    if problem.intercept == "free" or problem.loss != Hinge() or problem.lanes < 2:
        raise ValueError("Crammer-Singer has the hinge loss, several classes and no free intercept")
    parts = [problem.costs(lo, hi)[_own(problem, lo, hi)].sum() for lo, hi in blocks(problem)]
    cost = float(np.sum(parts))
    return replace(problem, cost=np.full(problem.lanes, cost), joint=True)


def certify_joint(
    problem: Problem, W: Floats, b: Floats, duals: DualsOf, *, give_up: GiveUp = never
) -> tuple[Certificate, Floats] | None:
    """The certificate of (W, duals), as ``certificate.certify`` gives it."""
    total = GapSums.zeros(problem)
    zeros = np.zeros(problem.lanes)
    sums = np.zeros(3)  # loss, sum of c |x|, sum of the own duals
    W = np.ascontiguousarray(W)
    for lo, hi in blocks(problem):
        if give_up():
            return None
        own = _own(problem, lo, hi)
        costs = problem.costs(lo, hi)[own]
        a = feasible(duals(lo, hi), own, costs)
        products = np.empty((hi - lo, problem.lanes))
        _core.add_gap_sums(
            problem.core, lo, hi, W, zeros, a, total.sums, total.U_positive, None, products
        )
        member = own.any(axis=1)
        slack = 1 + np.where(own, -np.inf, products)[member].max(axis=1) - products[own]
        norms = np.sqrt(problem.rows.squared_norms[lo:hi][member])
        sums += np.maximum(slack, 0) @ costs, costs @ norms, a[own].sum()
    try:
        return _bounds(problem, W, total, sums, give_up), b
    except GaveUp:
        return None


def _bounds(
    problem: Problem, W: Floats, total: GapSums, sums: Floats, give_up: GiveUp
) -> Certificate:
    loss, slope_norm, a_sum = sums.tolist()
    s, N, K = float(problem.s[0]), float(problem.total_weight[0]), problem.lanes
    w2, v2 = np.zeros(K), np.zeros(K)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for lo, hi in feature_blocks(W, give_up):
            w2 += np.einsum("jk,jk->k", W[lo:hi], W[lo:hi])[:K]
            V = total.U_positive[lo:hi, :K] / s
            v2 += np.einsum("jk,jk->k", V, V)
        primal = (s / 2 * float(w2.sum()) + loss) / N
        curvature = s * float(v2.sum())
        theta = 0.0
        if np.isfinite(curvature):
            theta = min(1.0, a_sum / curvature) if curvature > 0 else 1.0
        dual = theta * (a_sum - theta * curvature / 2) / N
        # As in ``certificate.certificate``: products of m values, norms of d, sums over n rows.
        e, m, d = UNIT_ROUNDOFF, problem.rows.longest + 3, problem.rows.d + K + 3
        rows = problem.n + 10.0
        product_error = 2 * m * e * float(np.sqrt(w2.max())) * slope_norm
        primal_error = product_error + e * (rows * loss + (d + 3) * s / 2 * float(w2.sum()))
        v_error = (total.column("support") + K + 3) * e * total.column("dual_norm") / s
        norm_error = float((2 * np.sqrt(v2) * v_error + v_error**2 + (d + 3) * e * v2).sum())
        dual_error = rows * e * a_sum + s * norm_error / 2 if theta > 0 else 0.0
        rounding = (primal_error + dual_error) / N
    return Certificate(np.full(K, primal), np.full(K, dual), np.full(K, rounding))


def feasible(duals: Floats, own: NDArray[np.bool_], costs: Floats) -> Floats:
    """The duals with their own ones recomputed, in the box; ``costs`` are those of member rows."""
    others = np.where(own, 0.0, np.maximum(duals, 0.0))
    total = others.sum(axis=1)
    bound = np.zeros(len(total))
    bound[own.any(axis=1)] = costs
    scale = np.divide(bound, total, out=np.ones_like(total), where=total > bound)
    others *= scale[:, None]
    others[own] = (total * scale)[own.any(axis=1)]
    return np.ascontiguousarray(others)


def _own(problem: Problem, lo: int, hi: int) -> NDArray[np.bool_]:
    return problem.sides(lo, hi) > 0
