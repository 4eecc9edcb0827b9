"""How steps row by row combine on a cluster: rounds on all parts at once, and hard rows here.

A round sends the weights to all workers. Each moves the duals of its parts as if the others stood
still (``part_duals``) and returns the change of the weights; the changes are added, and followed as
far as D rises along their sum (exact: D is quadratic, with maximum at share t of the way, at most
1). So D never falls, whatever ``sigma`` is; it follows the shares, between 1, all parts have
changes of their own, and the number of workers, all have the same.

The rows that keep parts from agreeing come along with the replies, as many as a message has room
for, and are then moved here (``hard_rows``) after every round. Weights and changes travel in
float32 and leave half of the bytes to rows: a round moves at most 2 x workers x features x lanes x
8 bytes. Proofs are computed from float64 (``gap_sums``). Below a tol of 1e-5 weights are float64 in
rounds, too, and fewer rows fit.

A free intercept is a constant feature in rounds, with b = centre + pull sum a y; the centre moves
to b as the duals answer (the method of multipliers).

A round counts as one epoch. State: ``W``, ``centre``, ``met``, ``share`` (of the proposals of the
last round), ``gap`` (as met in it), ``numbers``, ``cursor``. Duals are with the parts, and with the
hard rows. A checkpoint has them packed, chunk after chunk: a run goes on from them as after a loss
of all parts, wherever the chunks are then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from pegasos.certificate import (
    Certificate,
    DualsOf,
    Floats,
    GiveUp,
    certificate,
    never,
    relative_gap,
)
from pegasos.problem import Problem
from pegasos.sites.cluster.hard_rows import HardRows, Multiplier, site_of
from pegasos.sites.cluster.part_duals import (
    BEND,
    CROSS,
    DUAL,
    LOSS,
    RISE,
    SQUARES,
    Compressed,
    LocalSteps,
    Settled,
    packed,
    unpacked,
)
from pegasos.sites.errors import InterruptedSiteError, PartsLostError, SiteFailedError
from pegasos.sites.merge import dense
from pegasos.sites.policy import Policy
from pegasos.state import COUNTS, SEED, Arrays, Field, State, weight_zeros
from pegasos.util import memory

HARD_ROWS_SHARE = 0.2  # of the client's memory
_EPOCHS = 2  # passes over its rows that make a part's step
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


@dataclass
class Remembered:
    """Of a run: the rows that are here, and the duals of all chunks that were saved last."""

    saved: Mapping[int, Compressed]
    hard: HardRows = field(
        default_factory=lambda: HardRows(HARD_ROWS_SHARE * (memory.total() or 4e9))
    )


@dataclass(frozen=True)
class Rounds(Policy):
    """Rounds of steps of a ``solver``, aiming at a gap of ``aim``."""

    solver: LocalSteps
    aim: float

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """W, and how rounds went; duals are with the parts."""
        numbers = (math.sqrt(_workers(problem)), 1, math.inf, 0)
        return (
            Field("W", ("weights", "padded")),
            Field("centre", ("lanes",)),
            Field("met", ("lanes",), start=math.inf),
            Field("share", ("lanes",), start=1.0),
            Field("gap", ("lanes",), start=math.inf),
            Field("numbers", (4,), start=numbers),
            SEED,
            COUNTS,
        )

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from the duals that the parts have, or that they are to begin with."""
        there = Remembered(site_of(problem).begun)
        return State.begin(problem.sizes, self.fields(problem), there, seed=seed)

    def saved_there(self, problem: Problem, state: State) -> Arrays:
        """All duals; those that were saved before, where the cluster cannot be asked."""
        with suppress(InterruptedSiteError, SiteFailedError):
            self._look_at_duals(problem, state)
        return packed(state.there.saved)

    def resumed_there(self, problem: Problem, arrays: Arrays) -> Remembered:
        """The parts are to have these duals, which may be any in their box."""
        site = site_of(problem)
        return Remembered(unpacked(arrays, site.sizes, site.lanes))

    def resumed(self, problem: Problem, arrays: Arrays) -> State:
        """The weights are to be summed up anew, as after a loss."""
        return self.stale(problem, super().resumed(problem, arrays))

    # Rounds.
    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Make rounds; a round is one step, and counts as one visit of each row."""
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            self._take_in_newcomers(problem, state)
            if state["numbers"][_LOST]:
                self._sync(problem, state)
            self._round(problem, state)
            work -= problem.n
        return True

    def _round(self, problem: Problem, state: State) -> None:
        site, K, hard = site_of(problem), problem.lanes, state.there.hard
        W, sigma = state["W"], float(state["numbers"][_SIGMA])
        number = state.steps + 1
        centred = problem.intercept == "free" and number <= _FIRST_CENTRES
        coarse = centred or self.aim >= _STEERED_BY_FLOAT32
        kind = np.float32 if coarse else np.float64
        room = 0.0
        if number > _FIRST_ROWS:
            room = min(self.room(problem, centred), hard.room / _workers(problem))
        w = W[:-1, :K]
        penalty = problem.s / 2 * np.einsum("jk,jk->k", w, w)  # no more than the objective
        reply = site.cluster.ask(
            "step",
            {
                "round": number, "live": site.ids, "W": W[:, :K].astype(kind),
                "settled": self._settled(problem, state), "sigma": sigma,
                "solver": self.solver, "epochs": _EPOCHS,
                "seed": int(state["seed"][0]), "room": room,
                "floor": _FLOOR * self.aim * float(penalty.min()) / problem.n,
            },
        )  # fmt: skip
        sums, change = reply["sums"], dense(reply["vector"]).astype(np.float64)
        own = hard.sums(problem, W)
        self._estimate(problem, state, sums[:3] + own)
        rise = sums[RISE] - sums[CROSS] - problem.s * np.einsum("jk,jk->k", W[:, :K], change)
        bend = problem.s * np.einsum("jk,jk->k", change, change) + sums[BEND]
        wanted = np.divide(rise, bend, out=np.zeros(K), where=bend > 0)
        share = np.clip(wanted, 0.0, 1.0)
        self._adapt(problem, state, wanted)
        state["share"][:] = share
        W[:, :K] += share * change
        hard.add(reply.get("rows", {}), site.step_scaling)
        free = self._multiplier(problem, state)
        seed = int(state["seed"][0]) + number
        W = hard.solve(problem, W, self.solver, self.aim, seed, free)
        if free is not None and centred:
            free.put(W, site.best_intercepts(W[:, :K].astype(np.float32), 1e-4))
        elif free is not None:
            free.move(W, anyway=number % _PATIENCE == 0)
        state.arrays["W"] = weight_zeros(problem.weights_shape)
        state["W"][:, :K] = W[:, :K]
        state["cursor"][:] += (problem.n, 1)

    def room(self, problem: Problem, centred: bool = False) -> float:
        """Bytes of rows that a worker may send along: what the rest of the round leaves.

        ``centred``: the weights are sent once more, to find the best intercept.
        """
        weights = 4 if centred or self.aim >= _STEERED_BY_FLOAT32 else 8
        left = 16 * _MESSAGE - weights - 4 - (4 if centred else 0)
        return max(0.0, left) * problem.rows.d * problem.lanes

    def _settled(self, problem: Problem, state: State) -> Settled | None:
        if state.steps == 0:
            return None
        return Settled(state.steps, site_of(problem).ids, state["share"].copy())

    def _estimate(self, problem: Problem, state: State, sums: Floats) -> None:
        """The gap at the weights that the round began with."""
        free = self._multiplier(problem, state)
        w = state["W"][: None if free is None else -1, : problem.lanes]
        penalty = problem.s / 2 * np.einsum("jk,jk->k", w, w)
        primal = penalty + sums[LOSS]
        dual = sums[DUAL] - sums[SQUARES] - penalty
        if free is not None:
            dual = dual - np.abs(free.balance(state["W"]))
        state["gap"][:] = relative_gap(primal, dual)
        numbers, gap = state["numbers"], float(state["gap"].max())
        numbers[_IDLE] += 1  # rounds without a smaller gap
        if gap < 0.9 * numbers[_BEST]:
            numbers[[_BEST, _IDLE]] = gap, 0

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether nothing was gained for long."""
        return bool(state["numbers"][_IDLE] >= _IDLE_ROUNDS)

    def _multiplier(self, problem: Problem, state: State) -> Multiplier | None:
        if problem.intercept != "free":
            return None
        return Multiplier(problem, state["centre"], state["met"])

    def _adapt(self, problem: Problem, state: State, wanted: Floats) -> None:
        """More caution where proposals go too far, less where they do not go far enough."""
        numbers, typical = state["numbers"], float(np.median(wanted))
        if typical < _MUCH:
            numbers[_SIGMA] = min(float(_workers(problem)), 1.4 * numbers[_SIGMA])
        elif typical > _LITTLE:
            numbers[_SIGMA] = max(1.0, numbers[_SIGMA] / 1.4)

    # Losses, and workers that join.
    def _sync(self, problem: Problem, state: State) -> None:
        """Compute the weights anew from all duals."""
        site, K = site_of(problem), problem.lanes
        self._restore(problem, state)
        U = site.cluster.ask("sync", {"live": site.ids}, state.there.hard.by_part())["U"]
        state["numbers"][_LOST] = 0
        W = state["W"]
        W[:, :K] = U / problem.s
        if problem.intercept == "free":
            W[-1, :K] += state["centre"] / site.step_scaling
        state["gap"][:] = np.inf

    def _restore(self, problem: Problem, state: State) -> None:
        """Parts that came up anew go on from the duals that were saved."""
        cluster, saved = site_of(problem).cluster, state.there.saved
        fresh = cluster.ask("is_fresh").get("fresh", {}) if saved else {}
        if fresh:
            own = cluster.by_part(saved)
            cluster.ask("restore", {}, {name: {"duals": own[name]} for name in fresh})

    def _look_at_duals(self, problem: Problem, state: State) -> None:
        """Save the duals of all parts, those of hard rows included."""
        if state["numbers"][_LOST]:
            self._restore(problem, state)
        there, settled = state.there, self._settled(problem, state)
        found = site_of(problem).cluster.ask("snapshot", {"settled": settled}, there.hard.by_part())
        there.saved = found["duals"]

    def _take_in_newcomers(self, problem: Problem, state: State) -> None:
        """Give workers that joined parts, with their duals; as after a loss, all are summed up."""
        cluster = site_of(problem).cluster
        moves = cluster.move_to_newcomers()
        if not moves:
            return
        self._look_at_duals(problem, state)
        cluster.move(moves)
        raise PartsLostError

    def stale(self, problem: Problem, state: State) -> State:  # noqa: ARG002
        """The weights are to be computed anew before the next round."""
        state["numbers"][_LOST] = 1
        return state

    # What the driver asks.
    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W; a free intercept, which is its last row here, is found by the certificate."""
        W = state["W"].copy()
        if problem.intercept != "regularized":
            W[-1] = 0.0
        return W

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """They are with the parts."""
        raise NotImplementedError(f"duals stay {problem.site.where}")

    def certify(
        self,
        problem: Problem,
        state: State,
        W: Floats,
        b: Floats,
        give_up: GiveUp = never,  # noqa: ARG002 - the cluster listens to Ctrl-C itself
    ) -> tuple[Certificate, Floats] | None:
        """The certificate, and its b; duals are saved along with it."""
        there: Remembered = state.there
        if state["numbers"][_LOST]:
            self._restore(problem, state)
        settled = self._settled(problem, state)
        each = there.hard.by_part()
        total, b, there.saved = site_of(problem).sums(problem, W, each, settled=settled)
        return certificate(problem, W, b, total), b

    def estimate(self, problem: Problem, state: State) -> Floats | None:  # noqa: ARG002
        """The gap as met in the last round, before its changes; zero where a look is due.

        Of a free intercept it is pessimistic: b need not be the best, nor sum a y zero. So if it
        does not fall any more, the proof may be better than that.
        """
        idle = int(state["numbers"][_IDLE])
        gap: Floats = state["gap"].copy()
        return np.zeros_like(gap) if idle and idle % _LOOK_AFTER == 0 else gap


def _workers(problem: Problem) -> int:
    return max(1, len(set(site_of(problem).cluster.holder.values())))
