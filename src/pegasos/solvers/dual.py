"""DualCoordinate: exact, one coordinate of the dual at a time.

Maximises D(a) (``pegasos.problem``) by the method of Hsieh et al. (2008), "A Dual Coordinate
Descent Method for Large-scale Linear SVM": a fresh permutation of the rows per pass, each a_i
moved to its maximiser clipped to the box,

    a_i <- min(c_i, max(0, a_i + s (1 - y_i (w.x_i + b)) / |x_i|^2)),    w kept equal to w(a);

this is for the hinge; a curved loss adds its curvature to |x_i|^2 / s, and has a box of its own.

**Shrinking** (their Algorithm 3, but sooner). A row whose dual is at a bound, and further from
leaving it than a tenth of the largest violation of the last pass, leaves the list of rows to visit.
A certificate that is not good enough brings all rows back (``refused``), and so do ten epochs (six,
if the list has less than a tenth of the gap that was met in the last pass over all rows), and
a list with nothing left to do. Groups of lanes have lists of their own.

**The span of changes.** After a pass, a moves towards the maximum of D over the span of its last
three changes: D is quadratic, and with the changes of w known its maximum there costs no look at
any row. What leaves the box is clipped; if D falls by that, nothing moves, and the next move is
shorter. Passes that crawl along a valley become as conjugate gradients, with the pass as their
preconditioner. From the sixth epoch on, one lane, and if 3 (n + d) numbers are at most 16 MB.

**A free intercept** is the multiplier of sum a y = tau: b = centre + pull (sum a y - tau), and
after every pass the centre moves to b (the method of multipliers). The certificate finds the best b
for w, and repairs what a misses of the constraint. The balance tau is 0 but for one class; there, a
starts as the same share of c everywhere.

**Threads.** Groups run side by side. A single group is shared: each thread has rows and a copy of w
of its own, and their changes are added up many times in a pass: more often if they undo much of
what each gains, less often if little.

**The rows that moved most.** Rows that are nearly alike move slowly one at a time. So before that
move, the rows that moved most in the pass go together to the maximum of D over their duals alone: a
subproblem with a matrix of its own, in the state as ``knot``.

An epoch is as many visits as there are rows, however many passes over a short list that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import (
    DualsOf,
    Floats,
    GapSums,
    GiveUp,
    blocks,
    feature_blocks,
    never,
    relative_gap,
)
from pegasos.losses import LOSSES
from pegasos.problem import Problem
from pegasos.sites.costs import PULL
from pegasos.solvers import order
from pegasos.solvers.base import Solver
from pegasos.solvers.dual_blocks import IDLE, block_fields, next_block, recall, visit_block
from pegasos.solvers.dual_groups import bounds_of, group_fields, list_fields
from pegasos.solvers.dual_tuning import IN_CACHE_BYTES
from pegasos.state import SEED, Field, State, weight_zeros

_CURSOR = {name: i for i, name in enumerate(_core.GROUP_CURSOR)}
_PASS = {name: i for i, name in enumerate(_core.LANE_PASS)}
_FRESH_PASS = [
    {"last_gap": np.inf, "last_up": np.inf, "last_down": np.inf, "reach": 1.0}.get(name, 0.0)
    for name in _PASS
]
_LISTS = ("bounds", "cursor", "orders", "rows", "chunks", "leaving")
_ANEW = {*_LISTS, "active", "slots", "slot_sums", "knot"}  # where lanes leave


@dataclass(frozen=True, kw_only=True)
class DualCoordinate(Solver):
    """Dual coordinate ascent with exact, clipped steps.

    ``shrink`` leaves rows out that are settled; between passes of one lane, ``second_order``
    solves the subproblem of the rows that moved most, and moves in the span of changes.
    """

    shrink: bool = True
    second_order: bool = True
    # The gap a run makes for, not of the solver's own: one lane pauses after a pass that met it.
    _goal: float = field(default=0.0, init=False, repr=False, compare=False)

    name: ClassVar[str] = "dual"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    losses: ClassVar[frozenset[str]] = frozenset(LOSSES)
    exact: ClassVar[bool] = True
    offsets: ClassVar[bool] = True
    balances: ClassVar[bool] = True
    by_blocks: ClassVar[bool] = True
    warm_starts: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def aimed_at(self, tol: float) -> DualCoordinate:
        """Pause where ``tol`` may be reached: for one lane, and rows in memory."""
        aimed = copy(self)
        object.__setattr__(aimed, "_goal", tol)
        return aimed

    def stops_itself(self, problem: Problem) -> bool:
        """After a pass of one lane that met its goal."""
        apart = problem.lanes == 1 and problem.site.in_memory
        return self._goal > 0 and apart and problem.balance is None

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """w, the duals, the multiplier of a free intercept, and what groups have."""
        features, padded = problem.weights_shape
        multiplier = (Field("b", (1, "padded")), Field("centre", (1, "padded")))
        return (
            # Group after group: threads that write to one cache line, or the next, are slow.
            Field("W", (features * padded,)),
            Field("duals", ("rows", "lanes")),
            Field("passes", ("lanes", len(_PASS)), start=_FRESH_PASS),  # what it met
            SEED,
            *(multiplier if problem.intercept == "free" else ()),
            *group_fields(problem),
            *(list_fields(problem, problem.n) if problem.site.in_memory else block_fields(problem)),
        )

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """Start from a = 0, from ``duals`` clipped to the box, or from what a balance needs."""
        if duals is None and problem.balance is not None:
            duals = problem.even_duals()
        if duals is None:
            duals = np.zeros((problem.n, problem.lanes))
            W = weight_zeros(problem.weights_shape).reshape(-1)
        else:
            duals = np.clip(duals, 0.0, problem.largest_duals())
            columns = weighted_rows(problem, duals)
            columns[:, : problem.lanes] /= problem.s
            W = _grouped(columns, bounds_of(problem))
        state = State.begin(problem.sizes, self.fields(problem), W=W, duals=duals, seed=seed)
        if problem.intercept == "free":
            balance = problem.imbalance(duals)
            state["centre"][0, : problem.lanes] -= _pull(problem)[: problem.lanes] * balance
            if not problem.site.in_memory:
                state["balance"][:] = balance
        return state

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one row."""
        free = problem.intercept == "free"
        if not problem.site.in_memory:
            return self._advance_blocks(problem, state, work, min(stop_seen, stop_steps))
        leaps = self.second_order and problem.lanes == 1
        spans = leaps and state["slots"].size > 0
        return _core.dual_advance(
            problem.core,
            seed=int(state["seed"][0]),
            chunk_bits=order.chunk_bits(problem),
            row_size=problem.rows.row_size,
            in_cache=problem.n * problem.rows.row_bytes < IN_CACHE_BYTES,
            shrink=self.shrink,
            ends_passes=False,
            goal=self._goal if problem.balance is None else 0.0,
            b=state["b"][0] if free else None,
            centre=state["centre"][0] if free else None,
            pull=_pull(problem) if free else None,
            slots=state["slots"] if spans else None,
            slot_sums=state["slot_sums"] if spans else None,
            knot=state["knot"] if leaps else None,
            work=work,
            stop_seen=stop_seen,
            stop_steps=stop_steps,
            **{name: state[name] for name in ("W", "duals", "passes", *_LISTS)},
        )

    def moved(
        self, problem: Problem, duals: Floats, W: Floats, epochs: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Duals and weights after some passes, from weights that hold more than these duals.

        ``W`` may be the sum over more rows than the problem has: what they add stays in it. An
        intercept has to be a constant feature, if there is any.
        """
        assert problem.intercept != "free"
        state = self.start(problem, seed)
        columns = np.zeros(problem.weights_shape)
        columns[:, : W.shape[1]] = W
        state.arrays["W"] = np.array(_grouped(columns, state["bounds"]))
        state.arrays["duals"] = np.array(duals, order="C")
        plain = replace(self, second_order=False)  # what sums up W anew would forget the rest
        visits = epochs * problem.n
        plain.advance(problem, state, work=2**62, stop_seen=visits, stop_steps=2**62)
        return state["duals"], np.array(self.weights(problem, state))

    def _advance_blocks(self, problem: Problem, state: State, work: int, stop: int) -> bool:
        """Visit whole blocks: the last one may go a little beyond the stop."""
        pull = _pull(problem) if problem.intercept == "free" else None
        leaps = problem.lanes == 1 and self.second_order
        options = {
            "chunk_bits": order.chunk_bits(problem),
            "row_size": problem.rows.row_size,
            "in_cache": False,
            "shrink": self.shrink,
        }
        of_size: dict[int, dict[str, Any]] = {}  # lists of a block, used again for the next
        while state.seen < stop:
            if work <= 0:
                return False
            block = next_block(problem, state)
            n = block.hi - block.lo
            if n not in of_size:
                fresh = State.begin(problem.sizes, group_fields(problem) + list_fields(problem, n))
                lists: dict[str, Any] = {name: fresh[name] for name in _LISTS}
                of_size[n] = lists | {"knot": fresh["knot"] if leaps else None}
            work -= visit_block(problem, state, block, of_size[n], pull, options)
        return True

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """W, the columns of all groups side by side."""
        return _columns(state, problem.weights_shape, give_up)

    def duals(self, problem: Problem, state: State) -> DualsOf:  # noqa: ARG002
        """The duals themselves: every step keeps them in the box."""
        return lambda lo, hi: state["duals"][lo:hi]

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap as met in the last pass; rows that left the list are taken to add nothing."""
        gap = state["passes"][:, _PASS["last_gap"]]
        if not problem.site.in_memory:
            gap = state["gaps"].sum(axis=0)
        w2 = np.zeros(problem.weights_shape[1])
        for lanes, block in _by_group(state["W"], state["bounds"], problem.weights_shape):
            w2[lanes] = np.einsum("jk,jk->k", block, block)
        w2 = w2[: problem.lanes]
        dual = problem.worth(state["duals"]) - problem.s / 2 * w2
        if problem.loss.curved:
            for lo, hi in blocks(problem):
                squares = problem.loss.squares(state["duals"][lo:hi], problem.costs(lo, hi))
                dual -= squares.sum(axis=0)
        return relative_gap(dual + gap, dual, signed=problem.balance is not None)

    def stalled(self, problem: Problem, state: State) -> bool:
        """Whether several passes over all rows found every dual in its place."""
        if not problem.site.in_memory:
            return bool(state["sweep"][IDLE] >= _core.IDLE_PASSES)
        return bool((state["cursor"][:, _CURSOR["idle"]] >= _core.IDLE_PASSES).all())

    def refused(self, problem: Problem, state: State) -> None:
        """Look at every row again, and free b from the roundings of its steps."""
        if not problem.site.in_memory:
            recall(problem, state)
        state["cursor"][:, _CURSOR["recall"]] = 1
        if problem.intercept == "free":
            K = problem.lanes
            balance = problem.imbalance(state["duals"])
            state["b"][0, :K] = state["centre"][0, :K] + _pull(problem)[:K] * balance

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes; ``problem`` is theirs. Groups form anew."""
        features = problem.weights_shape[0]
        columns = _columns(state, (features, state["W"].size // features), give_up)
        W = weight_zeros(problem.weights_shape).reshape(-1)
        for group, part in _by_group(W, bounds_of(problem), problem.weights_shape):
            chosen = lanes[group]
            for lo, hi in feature_blocks(part, give_up):
                part[lo:hi, : chosen.size] = columns[lo:hi, chosen]
        kept = state.take(lanes, problem.weights_shape[1], give_up).arrays | {"W": W}
        kept = {name: array for name, array in kept.items() if name not in _ANEW}
        taken = State.begin(problem.sizes, self.fields(problem), **kept)
        seen = int(state["cursor"][0, _CURSOR["seen"]])
        taken["cursor"][:, [_CURSOR["seen"], _CURSOR["steps"]]] = seen
        if problem.site.in_memory:
            taken["orders"][:, 3] = seen  # random numbers used: so that no order is repeated
        return taken


def _by_group(
    W: Floats, bounds: NDArray[np.int64], shape: tuple[int, int]
) -> Iterator[tuple[slice, Floats]]:
    """The columns of each group, and their part of W as (features + 1, lanes)."""
    features, stride = shape
    for first, end in pairwise([*bounds[:-1].tolist(), stride]):
        part = W[features * first : features * end]
        yield slice(first, end), part.reshape(features, end - first)


def _columns(state: State, shape: tuple[int, int], give_up: GiveUp) -> Floats:
    """W with the columns of all groups side by side; a view, where there is one group."""
    if state["bounds"].size == 2:
        return state["W"].reshape(shape)
    out = np.empty(shape)
    for lanes, part in _by_group(state["W"], state["bounds"], shape):
        for lo, hi in feature_blocks(part, give_up):
            out[lo:hi, lanes] = part[lo:hi]
    return out


def _grouped(columns: Floats, bounds: NDArray[np.int64]) -> Floats:
    """The other way round."""
    if bounds.size == 2:
        return columns.reshape(-1)
    W = weight_zeros((columns.shape[0], columns.shape[1])).reshape(-1)
    for lanes, part in _by_group(W, bounds, (columns.shape[0], columns.shape[1])):
        part[...] = columns[:, lanes]
    return W


def _pull(problem: Problem) -> Floats:
    """``PULL`` of the curvature that a row brings on average.

    A stronger pull balances sum a y sooner, but ties all duals together, which takes more passes.
    """
    pull = np.zeros(problem.weights_shape[1])
    curvature = (float(problem.rows.squared_norms.mean()) or 1.0) / problem.s
    curvature = curvature + problem.loss.mean_curvature(problem.lane_rows, problem.cost)
    pull[: problem.lanes] = PULL * curvature
    return pull


def weighted_rows(problem: Problem, duals: Floats) -> Floats:
    """Sum of a y x per lane."""
    if problem.lanes == 1 and problem.site.in_memory:
        rows = np.flatnonzero(duals[:, 0]).astype(np.uint32)
        out = weight_zeros(problem.weights_shape)
        sides = problem.sides()[rows, 0]
        _core.add_rows(problem.core, rows, duals[rows, 0] * sides, out[:, 0])
        return out
    total = GapSums.zeros(problem)
    zero_w, zero_b = np.zeros(problem.weights_shape), np.zeros(problem.lanes)
    for lo, hi in blocks(problem):
        core, first, last = problem.site.part(problem, lo, hi)
        _core.add_gap_sums(
            core, first, last, zero_w, zero_b, np.ascontiguousarray(duals[lo:hi]), total.sums,
            total.U_positive, total.U_negative, None,
        )  # fmt: skip
    return total.U_positive if total.U_negative is None else total.U_positive - total.U_negative
