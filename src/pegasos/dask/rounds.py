"""DualCoordinate on a cluster: rounds of steps on all parts at once, and a desk for hard rows.

A round sends the weights to all workers. Each moves the duals of its parts as if the others stood
still (``pegasos.dask.local``) and returns the change of the weights; the changes are added, and
followed as far as D rises along their sum (exact: D is quadratic, with maximum at share t of the
way, at most 1). So D never falls, whatever ``sigma`` is; it follows the shares, between 1, all
parts have changes of their own, and the number of workers, all have the same.

The rows that keep parts from agreeing come along with the replies, as many as a message has room
for, and are then moved here (``pegasos.dask.desk``) after every round. Weights and changes travel
in float32 and leave half of the bytes to rows: a round moves at most 2 x workers x features x lanes
x 8 bytes. Proofs are computed from float64 (``pegasos.dask.certify``). Below a tol of 1e-5 weights
are float64 in rounds, too, and fewer rows fit.

A free intercept is a constant feature in rounds, with b = centre + pull sum a y; the centre moves
to b as the duals answer (the method of multipliers).

A round counts as one epoch. State: ``W``, ``centre``, ``met``, ``share`` (of the proposals of the
last round), ``gap`` (as met in it), ``numbers``, ``cursor``. Duals are with the parts, and on the
desk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from pegasos import memory
from pegasos.certificate import (
    Certificate,
    Floats,
    GiveUp,
    never,
    relative_gap,
)
from pegasos.dask.certify import best_intercepts, certify_on_cluster
from pegasos.dask.desk import Desk, Multiplier
from pegasos.dask.errors import InterruptedRoundError, PartsLostError
from pegasos.dask.local import BEND, CROSS, DUAL, LOSS, RISE, SQUARES, Settled
from pegasos.dask.problem import ClusterProblem
from pegasos.dask.reply import dense
from pegasos.dask.solver import ClusterSolver
from pegasos.problem import Problem
from pegasos.solvers.base import State, weight_zeros

DESK_SHARE = 0.2  # of the client's memory
_MESSAGE = 0.85  # of the bytes a round may move: what Dask itself adds fits in the rest
_STEERED_BY_FLOAT32 = 1e-5  # tol
_FLOOR = 0.02  # of tol, shared by all rows: what a row adds to the gap to be worth sending
_FIRST_ROWS = 1  # round from which rows are sent: before, all are alike
_FIRST_CENTRES = 3  # rounds after which the centre is the best b for w: far from it, steps are slow
_LOOK_AFTER = 12  # rounds without a smaller gap
_IDLE_ROUNDS = 200  # without a smaller gap: there is none to be had
_PATIENCE = 4  # rounds after which the multiplier moves anyway
_MUCH, _LITTLE = 0.7, 1.5  # shares at which sigma grows and shrinks

# Entries of state["numbers"].
_SIGMA, _LOST, _BEST, _IDLE = range(4)


@dataclass(frozen=True, kw_only=True)
class ClusterDual(ClusterSolver):
    """Rounds of dual coordinate ascent; ``epochs`` passes over its rows make a part's step."""

    epochs: int = 2
    aim: float = 1e-3
    desk_bytes: float | None = None  # None: a fifth of this machine's memory

    name: ClassVar[str] = "dual"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    losses: ClassVar[frozenset[str]] = frozenset({"hinge", "squared_hinge"})
    exact: ClassVar[bool] = True
    by_blocks: ClassVar[bool] = True
    default_epochs: ClassVar[float | None] = None

    def aimed_at(self, tol: float) -> ClusterDual:
        """Send in float32 what needs no more."""
        return replace(self, aim=tol)

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from the duals that the parts have."""
        problem = cast(ClusterProblem, problem)
        K = problem.lanes
        state = State(
            {
                "W": weight_zeros(problem.weights_shape),
                "centre": np.zeros(K),
                "met": np.full(K, np.inf),
                "share": np.ones(K),
                "gap": np.full(K, np.inf),
                "numbers": np.array([math.sqrt(self._workers(problem)), 0, math.inf, 0]),
                "seed": np.array([seed], dtype=np.uint64),
                "cursor": np.zeros(2, dtype=np.int64),
            },
            weights=frozenset({"W"}),
            per_lane=frozenset({"centre", "met", "share", "gap"}),
        )
        most = self.desk_bytes
        if most is None:
            most = DESK_SHARE * (memory.total() or 4e9)
        problem.cluster.desk = Desk(most)
        problem.cluster.saved = {}
        self._sync(problem, state)
        return state

    # Rounds.
    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Make rounds; a round is one step, and counts as one visit of each row."""
        problem = cast(ClusterProblem, problem)
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            try:
                self._take_in_newcomers(problem)
                if state["numbers"][_LOST]:
                    self._sync(problem, state)
                self._round(problem, state)
            except PartsLostError:
                self.lost(problem, state)
                return False  # so that limits are seen
            except InterruptedRoundError:
                return False  # the driver knows, and certifies nothing more
            work -= problem.n
        return True

    def _round(self, problem: ClusterProblem, state: State) -> None:
        cluster, K = problem.cluster, problem.lanes
        desk: Desk = cluster.desk
        W, sigma = state["W"], float(state["numbers"][_SIGMA])
        number = state.steps + 1
        centred = problem.intercept == "free" and number <= _FIRST_CENTRES
        coarse = centred or self.aim >= _STEERED_BY_FLOAT32
        kind = np.float32 if coarse else np.float64
        room = 0.0
        if number > _FIRST_ROWS:
            room = min(self.room(problem, centred), desk.room / self._workers(problem))
        w = W[:-1, :K]
        penalty = problem.s / 2 * np.einsum("jk,jk->k", w, w)  # no more than the objective
        reply = cluster.ask(
            "step",
            {
                "round": number, "live": problem.ids, "W": W[:, :K].astype(kind),
                "settled": self._settled(problem, state), "sigma": sigma, "epochs": self.epochs,
                "seed": int(state["seed"][0]), "room": room,
                "floor": _FLOOR * self.aim * float(penalty.min()) / problem.n,
            },
        )  # fmt: skip
        sums, change = reply["sums"], dense(reply["vector"]).astype(np.float64)
        own = desk.sums(problem, W)
        self._estimate(problem, state, sums[:3] + own)
        self._count_idle(state)
        rise = sums[RISE] - sums[CROSS] - problem.s * np.einsum("jk,jk->k", W[:, :K], change)
        bend = problem.s * np.einsum("jk,jk->k", change, change) + sums[BEND]
        wanted = np.divide(rise, bend, out=np.zeros(K), where=bend > 0)
        share = np.clip(wanted, 0.0, 1.0)
        self._adapt(problem, state, wanted)
        state["share"][:] = share
        W[:, :K] += share * change
        desk.add(reply.get("rows", {}), problem.step_scaling)
        free = self._multiplier(problem, state)
        W = desk.solve(problem, W, self.aim, int(state["seed"][0]) + number, free)
        if free is not None and centred:
            free.put(W, best_intercepts(problem, W[:, :K].astype(np.float32), 1e-4))
        elif free is not None:
            free.move(W, anyway=number % _PATIENCE == 0)
        state.arrays["W"] = self._shaped(problem, W)
        state["cursor"][:] += (problem.n, 1)

    def _shaped(self, problem: ClusterProblem, W: Floats) -> Floats:
        out = weight_zeros(problem.weights_shape)
        out[:, : problem.lanes] = W[:, : problem.lanes]
        return out

    def _workers(self, problem: ClusterProblem) -> int:
        return max(1, len(set(problem.cluster.holder.values())))

    def room(self, problem: ClusterProblem, centred: bool = False) -> float:
        """Bytes of rows that a worker may send along: what the rest of the round leaves.

        ``centred``: the weights are sent once more, to find the best intercept.
        """
        weights = 4 if centred or self.aim >= _STEERED_BY_FLOAT32 else 8
        left = 16 * _MESSAGE - weights - 4 - (4 if centred else 0)
        return max(0.0, left) * problem.rows.d * problem.lanes

    def _settled(self, problem: ClusterProblem, state: State) -> Settled | None:
        if state.steps == 0:
            return None
        return Settled(state.steps, problem.ids, state["share"].copy())

    def _estimate(self, problem: ClusterProblem, state: State, sums: Floats) -> None:
        """The gap at the weights that the round began with."""
        free = self._multiplier(problem, state)
        w = state["W"][: None if free is None else -1, : problem.lanes]
        penalty = problem.s / 2 * np.einsum("jk,jk->k", w, w)
        primal = penalty + sums[LOSS]
        dual = sums[DUAL] - sums[SQUARES] - penalty
        if free is not None:
            dual = dual - np.abs(free.balance(state["W"]))
        state["gap"][:] = relative_gap(primal, dual)

    def _count_idle(self, state: State) -> None:
        """Rounds without a smaller gap."""
        numbers, gap = state["numbers"], float(state["gap"].max())
        if gap < 0.9 * numbers[_BEST]:
            numbers[[_BEST, _IDLE]] = gap, 0
        else:
            numbers[_IDLE] += 1

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether nothing was gained for long."""
        return bool(state["numbers"][_IDLE] >= _IDLE_ROUNDS)

    def _multiplier(self, problem: ClusterProblem, state: State) -> Multiplier | None:
        if problem.intercept != "free":
            return None
        return Multiplier(problem, state["centre"], state["met"])

    def _adapt(self, problem: ClusterProblem, state: State, wanted: Floats) -> None:
        """More caution where proposals go too far, less where they do not go far enough."""
        numbers, typical = state["numbers"], float(np.median(wanted))
        if typical < _MUCH:
            numbers[_SIGMA] = min(float(self._workers(problem)), 1.4 * numbers[_SIGMA])
        elif typical > _LITTLE:
            numbers[_SIGMA] = max(1.0, numbers[_SIGMA] / 1.4)

    # Losses, and workers that join.
    def _sync(self, problem: ClusterProblem, state: State) -> None:
        """Compute the weights anew from all duals; repeats while parts are lost."""
        cluster, K = problem.cluster, problem.lanes
        while True:
            try:
                if state["numbers"][_LOST]:
                    self._restore(problem)
                U = cluster.ask("sync", {"live": problem.ids}, cluster.desk.by_part())["U"]
                break
            except PartsLostError:
                self.lost(problem, state)
        state["numbers"][_LOST] = 0
        W = state["W"]
        W[:, :K] = U / problem.s
        if problem.intercept == "free":
            W[-1, :K] += state["centre"] / problem.step_scaling
        state["gap"][:] = np.inf

    def _restore(self, problem: ClusterProblem) -> None:
        """Parts that came up anew go on from the duals of the last certificate."""
        cluster = problem.cluster
        fresh = cluster.ask("is_fresh").get("fresh", {})
        saved = {n: {"duals": cluster.saved[n]} for n in fresh if n in cluster.saved}
        if saved:
            cluster.ask("restore", {}, saved)

    def _take_in_newcomers(self, problem: ClusterProblem) -> None:
        """Give workers that joined parts, with their duals; as after a loss, all are summed up."""
        cluster = problem.cluster
        moves = cluster.move_to_newcomers()
        if not moves:
            return
        cluster.saved |= cluster.ask("snapshot")["duals"]
        cluster.move(moves)
        raise PartsLostError

    # What the driver asks.
    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W; a free intercept, which is its last row here, is found by the certificate."""
        W = state["W"].copy()
        if problem.intercept != "regularized":
            W[-1] = 0.0
        return W

    def lost(self, problem: ClusterProblem, state: State) -> None:  # noqa: ARG002
        """The weights are to be computed anew before the next round."""
        state["numbers"][_LOST] = 1

    def proven(
        self, problem: ClusterProblem, state: State, W: Floats
    ) -> tuple[Certificate, Floats]:
        """The certificate, and its b; duals are saved along with it."""
        cluster = problem.cluster
        if state["numbers"][_LOST]:
            self._restore(problem)
        proof, b, saved = certify_on_cluster(
            problem, W, cluster.desk.by_part(), settled=self._settled(problem, state)
        )
        cluster.saved |= saved
        return proof, b

    def estimate(self, problem: Problem, state: State) -> Floats | None:  # noqa: ARG002
        """The gap as met in the last round, before its changes; zero where a look is due.

        Of a free intercept it is pessimistic: b need not be the best, nor sum a y zero. So if it
        does not fall any more, the proof may be better than that.
        """
        idle = int(state["numbers"][_IDLE])
        gap: Floats = state["gap"].copy()
        return np.zeros_like(gap) if idle and idle % _LOOK_AFTER == 0 else gap
