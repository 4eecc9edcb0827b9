"""CrammerSinger: the multi-class SVM as one problem, exact, one row at a time.

Keerthi, Sundararajan, Chang, Hsieh & Lin (2008), "A Sequential Dual Method for Large Scale
Multi-Class Linear SVMs": the duals of a row, one per class, move together to where D is largest
(``pegasos.joint`` has P and D), rows in a fresh random order every pass. Rows whose duals are all
zero and whose margin is far beyond 1 leave the list until a certificate is refused.

State: ``W``, ``duals`` (n, classes), ``cursor``, ``pass`` (the gap met), ``rows`` (the list),
``leaving``, ``seed``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never, relative_gap
from pegasos.joint import feasible
from pegasos.problem import Problem
from pegasos.sites.policy import State, weight_zeros
from pegasos.solvers.base import Solver

_CURSOR = {name: i for i, name in enumerate(_core.JOINT_CURSOR)}
_PASS = {name: i for i, name in enumerate(_core.JOINT_PASS)}
_IDLE_PASSES = 4  # over all rows, with nothing left to do: float64 is exhausted


@dataclass(frozen=True, kw_only=True)
class CrammerSinger(Solver):
    """All classes at once; for ``LinearSVC(multi_class="crammer_singer")``."""

    name: ClassVar[str] = "crammer_singer"
    exact: ClassVar[bool] = True
    warm_starts: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """Start from a = 0, or from ``duals``, made feasible."""
        if not problem.joint:
            raise ValueError("CrammerSinger trains joint problems of several classes only")
        n = problem.n
        W = weight_zeros(problem.weights_shape)
        if duals is None:
            duals = np.zeros((n, problem.lanes))
        else:
            own = problem.labels > 0
            duals = feasible(duals, own, problem.costs()[own])
            zeros = np.zeros((problem.lanes, len(_core.GAP_SUMS)))
            _core.add_gap_sums(
                problem.core, 0, n, np.zeros(problem.weights_shape), np.zeros(problem.lanes),
                duals, zeros, W, None, None,
            )  # fmt: skip
            W /= problem.s[0]
        cursor = np.zeros(len(_CURSOR), dtype=np.int64)
        cursor[_CURSOR["active"]] = n
        return State(
            {
                "W": W,
                "duals": duals,
                "cursor": cursor,
                "pass": np.array([0.0, 0.0, np.inf, np.inf]),
                "rows": np.arange(n, dtype=np.uint32),
                "leaving": np.zeros(n, dtype=np.uint8),
                "seed": np.array([seed], dtype=np.uint64),
            },
            per_lane=frozenset({"duals"}),
            weights=frozenset({"W"}),
        )

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one row."""
        return _core.crammer_singer_advance(
            problem.core,
            seed=int(state["seed"][0]),
            W=state["W"],
            duals=state["duals"],
            rows=state["rows"],
            leaving=state["leaving"],
            cursor=state["cursor"],
            pass_=state["pass"],
            work=work,
            stop_seen=stop_seen,
            stop_steps=stop_steps,
        )

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W itself."""
        return state["W"]

    def duals(self, problem: Problem, state: State) -> DualsOf:  # noqa: ARG002
        """The duals themselves."""
        return lambda lo, hi: state["duals"][lo:hi]

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap as met in the last pass; rows that left the list are taken to add nothing."""
        gap = float(state["pass"][_PASS["last_gap"]])
        w2 = float(np.einsum("jk,jk->", state["W"], state["W"]))
        own = float(np.sum(state["duals"], where=problem.labels > 0))
        dual = np.full(problem.lanes, own - problem.s[0] / 2 * w2)
        return relative_gap(dual + gap, dual)

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether several passes over all rows found every dual in its place."""
        return int(state["cursor"][_CURSOR["idle"]]) >= _IDLE_PASSES

    def refused(self, problem: Problem, state: State) -> None:  # noqa: ARG002
        """Look at every row again."""
        state["cursor"][_CURSOR["recall"]] = 1
