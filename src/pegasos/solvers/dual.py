"""DualCoordinate: exact, one coordinate of the dual at a time.

Maximises D(a) (``pegasos.problem``) by Algorithm 1 of Hsieh et al. (2008), "A Dual Coordinate
Descent Method for Large-scale Linear SVM": a fresh permutation of the rows per epoch, each a_i
moved to its maximiser clipped to the box,

    a_i <- min(c_i, max(0, a_i + s (1 - y_i w.x_i) / |x_i|^2)),    w kept equal to w(a).

State: ``W`` (w), ``duals`` (a), ``loss`` (the losses met in this epoch), and the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GapSums, GiveUp, blocks, never, relative_gap
from pegasos.problem import Problem
from pegasos.solvers import order
from pegasos.solvers.base import Solver, State


@dataclass(frozen=True, kw_only=True)
class DualCoordinate(Solver):
    """Dual coordinate ascent with exact, box-clipped steps."""

    name: ClassVar[str] = "dual"
    exact: ClassVar[bool] = True
    warm_starts: ClassVar[bool] = True

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """Start from a = 0, or from ``duals`` clipped to the box."""
        W = np.zeros(problem.weights_shape)
        if duals is None:
            duals = np.zeros((problem.n, problem.lanes))
        else:
            duals = np.clip(duals, 0.0, problem.largest_duals())
            W[:, : problem.lanes] = _weighted_rows(problem, duals)[:, : problem.lanes] / problem.s
        arrays = {"W": W, "duals": duals, "loss": np.zeros(problem.lanes)}
        return State(
            arrays | order.start(problem, "permute", seed),
            weights=frozenset({"W"}),
            per_lane=frozenset({"duals", "loss"}),
        )

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one row."""
        return _core.dual_advance(
            problem.core,
            order.sampler(problem, "permute", state),
            W=state["W"],
            duals=state["duals"],
            loss=state["loss"],
            work=work,
            stop_seen=stop_seen,
            stop_steps=stop_steps,
        )

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W itself."""
        return state["W"]

    def duals(self, problem: Problem, state: State) -> DualsOf:  # noqa: ARG002
        """The duals themselves: every step keeps them in the box."""
        return lambda lo, hi: state["duals"][lo:hi]

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap with each loss as it was when its row was visited."""
        w2 = np.einsum("jk,jk->k", state["W"], state["W"])[: problem.lanes]
        half = problem.s / 2 * w2
        dual = state["duals"].sum(axis=0) - half
        return relative_gap(half + state["loss"], dual)


def _weighted_rows(problem: Problem, duals: Floats) -> Floats:
    """Sum of a y x per lane."""
    total = GapSums.zeros(problem)
    zero_w, zero_b = np.zeros(problem.weights_shape), np.zeros(problem.lanes)
    for lo, hi in blocks(problem):
        _core.add_gap_sums(
            problem.core, lo, hi, zero_w, zero_b, np.ascontiguousarray(duals[lo:hi]), total.sums,
            total.U_positive, total.U_negative, None,
        )  # fmt: skip
    return total.U_positive
