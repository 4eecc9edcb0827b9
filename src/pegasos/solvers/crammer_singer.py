"""CrammerSinger: the multi-class SVM as one problem, exact, one row at a time.

Keerthi, Sundararajan, Chang, Hsieh & Lin (2008), "A Sequential Dual Method for Large Scale
Multi-Class Linear SVMs": the duals of a row, one per class, move together to where D is largest
(``pegasos.crammer_singer`` has P and D), rows in a fresh random order every pass. Rows whose duals
are all zero and whose margin is far beyond 1 leave the list until a certificate is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never, relative_gap
from pegasos.crammer_singer import feasible
from pegasos.problem import Problem
from pegasos.solvers.base import Solver
from pegasos.state import SEED, Field, State, below, expect, weight_zeros

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

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """W, its duals, and the list of rows."""
        return (
            Field("W", ("weights", "padded")),
            Field("duals", ("rows", "lanes")),
            Field("cursor", (len(_CURSOR),), np.int64, partial(_check_cursor, problem)),
            Field("pass", (len(_PASS),), start=(0.0, 0.0, np.inf, np.inf)),  # gaps met
            Field("rows", ("rows",), np.uint32, below(problem.n), np.arange),
            Field("leaving", ("rows",), np.uint8),
            SEED,
        )

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """Start from a = 0, or from ``duals``, made feasible."""
        if not problem.joint:
            raise ValueError("CrammerSinger trains joint problems of several classes only")
        n = problem.n
        W = weight_zeros(problem.weights_shape)
        if duals is None:
            duals = np.zeros((n, problem.lanes))
        else:
            own = problem.sides() > 0
            duals = feasible(duals, own, problem.costs()[own])
            zeros = np.zeros((problem.lanes, len(_core.GAP_SUMS)))
            _core.add_gap_sums(
                problem.core, 0, n, np.zeros(problem.weights_shape), np.zeros(problem.lanes),
                duals, zeros, W, None, None,
            )  # fmt: skip
            W /= problem.s[0]
        state = State.begin(problem.sizes, self.fields(problem), W=W, duals=duals, seed=seed)
        state["cursor"][_CURSOR["active"]] = n
        return state

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one row."""
        return _core.crammer_singer_advance(
            problem.core,
            seed=int(state["seed"][0]),
            pass_=state["pass"],
            work=work,
            stop_seen=stop_seen,
            stop_steps=stop_steps,
            **{name: state[name] for name in ("W", "duals", "rows", "leaving", "cursor")},
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
        own = float(np.sum(state["duals"], where=problem.sides() > 0))
        dual = np.full(problem.lanes, own - problem.s[0] / 2 * w2)
        return relative_gap(dual + gap, dual)

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether several passes over all rows found every dual in its place."""
        return int(state["cursor"][_CURSOR["idle"]]) >= _IDLE_PASSES

    def refused(self, problem: Problem, state: State) -> None:  # noqa: ARG002
        """Look at every row again."""
        state["cursor"][_CURSOR["recall"]] = 1


def _check_cursor(problem: Problem, state: State, name: str) -> None:
    """Where it stands in the list."""
    active, place = (int(state[name][_CURSOR[entry]]) for entry in ("active", "place"))
    expect(active <= problem.n and (place < active or place == 0), "a cursor is past its end")
    expect(active > 0 or state[name][_CURSOR["recall"]], "a list is empty")
