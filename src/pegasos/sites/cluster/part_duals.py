"""A round of dual coordinate ascent on one part, from the weights that all parts share.

The part moves its duals as if the other parts stood still, with the curvature of its own changes
``sigma`` times as large (CoCoA+: Ma et al. 2015, "Adding vs. Averaging in Distributed Primal-Dual
Optimization"). Its changes are a proposal: how far all parts follow theirs is decided by the
client, who tells it with the next call (``settle``).

Rows whose duals are the furthest from settled go to the client (``hard_rows``), as many as a
message has room for. They are away from then on: the part leaves them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats, GapSums, blocks
from pegasos.problem import Problem, lanes_over
from pegasos.rows import Rows
from pegasos.sites.cluster.compressed import Compressed, compress, expand
from pegasos.sites.cluster.part_passes import PartPasses
from pegasos.sites.merge import Reply, thin


@runtime_checkable
class LocalSteps(Protocol):
    """A solver that moves the duals of some rows while all others stand still."""

    def moved(
        self, problem: Problem, duals: Floats, W: Floats, epochs: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Duals and weights after some passes, from weights that hold more than these duals."""


class Settled(NamedTuple):
    """What becomes of a round's proposal: how far it is followed, per lane."""

    round: int
    lanes: NDArray[np.intp]
    share: Floats


@dataclass
class Proposal:
    """Changes of the duals (n, lanes) that wait for a decision."""

    round: int
    lanes: NDArray[np.intp]
    change: Floats


class Sent(NamedTuple):
    """Rows that go to the client."""

    ids: NDArray[np.int64]
    X: Any
    labels: NDArray[np.int8]  # of all lanes
    weight: Floats | None  # (rows, 1)
    duals: Floats  # of all lanes


# Entries of a step's sums, per lane: at the shared weights, and along the changes.
LOSS, DUAL, SQUARES, RISE, CROSS, BEND = range(6)


class DualPart:
    """Duals of a part, and rounds on them."""

    name: str
    n: int
    X: Any
    rows: Rows | None
    step_rows: Rows
    problem: Problem
    labels: NDArray[np.int8]
    weight: Floats | None
    threads: int
    lanes: Any
    passes: dict[int, PartPasses]

    def lost(self) -> Reply:
        """It came up anew: what it is asked of is gone."""
        return {"lost": ("each", {self.name: True})}

    def start_duals(self) -> None:
        """All of them are zero, no row is away, nothing is proposed."""
        self.duals = np.zeros((self.n, self.lanes.count))
        self.away = np.zeros(self.n, dtype=bool)
        self.proposal: Proposal | None = None
        self.fresh = True

    def is_fresh(self) -> Reply:
        """Whether the duals are those of a part that has just come up."""
        return (
            {"fresh": ("each", {self.name: True})} if self.rows is not None and self.fresh else {}
        )

    def settle(self, settled: Settled | None) -> None:
        """Follow the proposal as far as was decided."""
        if settled is not None and self.proposal is not None:
            if settled.round == self.proposal.round:
                place = np.searchsorted(self.proposal.lanes, settled.lanes)
                change = self.proposal.change[:, place] * settled.share
                limit = self.problem.largest_duals()[:, settled.lanes]
                here = ~self.away[:, None]
                moved = np.clip(self.duals[:, settled.lanes] + change, 0.0, limit)
                self.duals[:, settled.lanes] = np.where(here, moved, self.duals[:, settled.lanes])
            self.proposal = None

    def restore(self, *, duals: Compressed | None = None) -> Reply:
        """Go on from duals that were saved, if there are any for this part."""
        if self.rows is not None and duals is not None and duals.shape == self.duals.shape:
            largest = self.problem.largest_duals()
            self.duals[:] = np.clip(expand(duals, largest), 0.0, largest)
            self.fresh = False
        return {}

    def scale(self, ratio: Floats) -> Reply:
        """Duals for another s: each keeps what it adds to w, those at a bound go half way."""
        if self.rows is not None:
            at_bound = self.duals >= self.problem.largest_duals()
            self.duals *= np.where(at_bound, np.sqrt(ratio), ratio)
        return {}

    def at(self, C: float) -> Reply:
        """Another C, the same for every lane."""
        self.passes.clear()
        if self.rows is not None:
            self.problem = self.problem.at(C)
        return {}

    def sync(self, *, live: NDArray[np.intp], ids: Any = None, duals: Any = None) -> Reply:
        """Sum a y x over all rows; the rows ``ids`` are away and have these duals.

        What is proposed is forgotten, and what else was away comes back.
        """
        if self.rows is None:
            return {}
        self.proposal, self.fresh = None, False
        self.away[:] = False
        self.take_duals(ids, duals)
        problem = self._steps(self.labels[:, live], live, 1.0)
        nothing = np.zeros(problem.weights_shape)
        found = sums_over(problem, self.duals[:, live], nothing, np.zeros(live.size))
        return {"U": ("sum", found.U_positive[:, : live.size])}

    def take_duals(self, ids: Any, duals: Any) -> None:
        """The client's duals of the rows that are away."""
        if ids is not None and len(ids):
            self.away[ids] = True
            self.duals[ids] = np.clip(duals, 0.0, self.problem.largest_duals()[ids])

    def _steps(self, labels: NDArray[np.int8], live: NDArray[np.intp], sigma: float) -> Problem:
        """The problem in which duals are moved: a free intercept has a constant feature there."""
        p = self.problem
        intercept = "regularized" if p.intercept == "free" else p.intercept
        return lanes_over(
            self.step_rows, np.ascontiguousarray(labels), self.weight, p.positive[live],
            p.negative[live], p.s[live] / sigma, p.total_weight[live], intercept, p.loss,
            self.threads,
        )  # fmt: skip

    def step(
        self,
        *,
        round: int,
        live: NDArray[np.intp],
        W: Any,
        settled: Settled | None,
        sigma: float,
        solver: LocalSteps,
        epochs: int,
        seed: int,
        room: float,
        floor: float,
        carry: dict[str, Any],
    ) -> Reply:
        """Propose changes of the duals of the lanes ``live`` at the shared weights ``W``.

        Rows that add at least ``floor`` to the gap go to the client, the worst first, in at most
        ``room`` bytes for all parts of this worker. ``carry`` hands the weights on to the next
        part: parts of one worker see each other's changes.
        """
        if self.rows is None:
            return {}
        self.settle(settled)
        shared = padded(W)
        problem, a = self._here(live, sigma), self.duals[:, live]
        found = Terms.at(problem, shared, a)
        costs = problem.costs()
        sums = np.zeros((6, live.size))
        sums[:3] = found.sums()
        reply: Reply = {}
        sent = self._send(found.gaps().sum(axis=1), carry.get("room", room), floor)
        if sent is not None:
            carry["room"] = carry.get("room", room) - sent[1]
            reply["rows"] = ("each", {self.name: sent[0]})
            problem = self._here(live, sigma)
        start = carry.get("W", shared)
        moved, after = solver.moved(problem, a, start, epochs, seed + 1000 * round)
        change = moved - a
        change[self.away] = 0.0
        sums[RISE] = change.sum(axis=0)
        bent = self.problem.loss.bent(change, costs)
        sums[CROSS], sums[BEND] = (a * bent).sum(0), (change * bent).sum(0)
        carry["W"] = after
        self.proposal = Proposal(round, live, change)
        vector = (after - start)[:, : live.size] / sigma
        reply["vector"] = ("sum", thin(vector.astype(np.float32)))
        reply["sums"] = ("sum", sums)
        return reply

    def _here(self, live: NDArray[np.intp], sigma: float) -> Problem:
        """The same, without the rows that are away."""
        return self._steps(np.where(self.away[:, None], 0, self.labels[:, live]), live, sigma)

    def _send(self, scores: Floats, room: float, floor: float) -> tuple[Sent, float] | None:
        """The rows with the largest scores that there is room for, and the bytes they take."""
        size = self._row_sizes()
        most = int(min(self.n, room / max(1.0, float(size.min()))))
        if most < 1:
            return None
        worst = np.argpartition(-scores, most - 1)[:most] if most < self.n else np.arange(self.n)
        worst = worst[(scores[worst] >= floor) & (scores[worst] > 0)]
        worst = worst[np.argsort(-scores[worst], kind="stable")]
        worst = np.sort(worst[np.cumsum(size[worst]) <= room])
        if not worst.size:
            return None
        self.away[worst] = True
        weight = None if self.weight is None else self.weight[worst]
        sent = Sent(worst, self.X[worst], self.labels[worst], weight, self.duals[worst])
        return sent, float(size[worst].sum())

    def _row_sizes(self) -> Floats:
        """Bytes of every row in a message."""
        more = 16.0 + 9.0 * self.lanes.count + (0 if self.weight is None else 8)
        if hasattr(self.X, "indptr"):
            bytes_ = self.X.data.itemsize + self.X.indices.itemsize
            sizes: Floats = np.diff(self.X.indptr) * float(bytes_) + 8.0 + more
            return sizes
        return np.full(self.n, self.X.shape[1] * float(self.X.itemsize) + more)

    def snapshot(self) -> Reply:
        """The duals as they are, packed."""
        if self.rows is None:
            return {}
        return {"duals": ("each", {self.name: compress(self.duals, self.problem.largest_duals())})}


class Terms(NamedTuple):
    """What every row and lane adds: to the loss, to sum a, and to sum a^2 / 4c."""

    slack: Floats  # 1 - y w.x
    loss: Floats
    dual: Floats  # 0 where the row is not in the lane
    squares: Floats  # the squared hinge's

    @classmethod
    def at(cls, problem: Problem, W: Floats, a: Floats) -> Terms:
        """With weights (d + 1, padded lanes) and duals (n, lanes)."""
        z = problem.rows.products(W, problem.lanes, problem.threads)
        costs, slack = problem.costs(), 1.0 - problem.labels * z
        a = np.where(costs > 0, a, 0.0)
        return cls(slack, problem.loss.value(slack, costs), a, problem.loss.squares(a, costs))

    def sums(self) -> Floats:
        """(3, lanes): LOSS, DUAL and SQUARES."""
        return np.stack([part.sum(axis=0) for part in self[1:]])

    def gaps(self) -> Floats:
        """What every row and lane adds to the gap: loss - a slack + a^2 / 4c."""
        return self.loss - self.dual * self.slack + self.squares


def padded(W: Any) -> Floats:
    """Weights (d + 1, lanes) as the core takes them."""
    out = np.zeros((W.shape[0], _core.padded_lanes(W.shape[1])))
    out[:, : W.shape[1]] = W
    return out


def sums_over(problem: Problem, a: Floats, W: Floats, b: Floats) -> GapSums:
    """The sums of a certificate over the rows; ``b`` counts where the intercept is free."""
    total = GapSums.zeros(problem)
    b = np.ascontiguousarray(b if problem.intercept == "free" else np.zeros(problem.lanes))
    for lo, hi in blocks(problem):
        _core.add_gap_sums(
            problem.core, lo, hi, W, b, np.ascontiguousarray(a[lo:hi]), total.sums,
            total.U_positive, total.U_negative, None,
        )  # fmt: skip
    return total
