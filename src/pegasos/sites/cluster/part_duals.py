"""A round of dual coordinate ascent on one part, from the weights that all parts share.

The part moves its duals as if the other parts stood still, with the curvature of its own changes
``sigma`` times as large (CoCoA+: Ma et al. 2015, "Adding vs. Averaging in Distributed Primal-Dual
Optimization"). Its changes are a proposal: how far all parts follow theirs is decided by the
client, who tells it with the next call (``settle``).

Rows whose duals are the furthest from settled go to the client (``hard_rows``), as many as a
message has room for. They are away from then on: the part leaves them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats, GapSums, blocks
from pegasos.problem import Problem, lanes_over
from pegasos.rows import Rows
from pegasos.sites.merge import Reply, thin
from pegasos.state import expect


class Compressed(NamedTuple):
    """Duals in few bytes, without loss: two bits tell those at zero and those at c."""

    shape: tuple[int, int]
    above: NDArray[np.uint8]  # bits: not zero
    full: NDArray[np.uint8]  # bits: c
    free: Floats  # the others


def compress(duals: Floats, largest: Floats) -> Compressed:
    """Compress duals (n, lanes) whose bounds are ``largest``."""
    above, full = duals != 0, duals == largest
    n, lanes = duals.shape
    return Compressed((n, lanes), np.packbits(above), np.packbits(full), duals[above & ~full])


def expand(few: Compressed, largest: Floats) -> Floats:
    """The same duals again."""
    size = few.shape[0] * few.shape[1]
    above, full = (
        np.unpackbits(bits, count=size).reshape(few.shape).astype(bool) for bits in few[1:3]
    )
    out = np.where(full, largest, 0.0)
    out[above & ~full] = few.free
    return out


def packed(duals: Mapping[int, Compressed]) -> dict[str, NDArray[Any]]:
    """Those of chunks as arrays for a file, chunk after chunk."""
    bits = np.zeros(0, dtype=np.uint8)
    some = [
        Compressed((0, 0), bits, bits, np.zeros(0)),
        *(duals[number] for number in sorted(duals)),
    ]
    return {
        name: np.concatenate([getattr(few, name) for few in some])
        for name in ("above", "full", "free")
    }


def unpacked(
    arrays: Mapping[str, NDArray[Any]], sizes: NDArray[np.int64], lanes: int
) -> dict[int, Compressed]:
    """From what ``packed`` gave, of chunks of so many rows; ValueError if it can be none of it."""
    expect(arrays.keys() == {"above", "full", "free"}, "its duals are missing")
    above, full, free = arrays["above"], arrays["full"], arrays["free"]
    kinds = above.dtype == full.dtype == np.uint8 and free.dtype == np.float64
    expect(kinds and above.ndim == full.ndim == free.ndim == 1, "its duals are none")
    expect((np.isfinite(free) & (free >= 0)).all(), "duals are not feasible")
    if not above.size:  # none were saved yet
        return {}
    some = np.flatnonzero(sizes)
    ends = np.cumsum(-(-sizes[some] * lanes // 8))
    expect(above.size == full.size == ends[-1], "its duals are those of other chunks")
    found, at = {}, 0
    for number, low, high in zip(
        some.tolist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True
    ):
        n, between = int(sizes[number]), above[low:high] & ~full[low:high]
        count = int(np.unpackbits(between, count=n * lanes).sum(dtype=np.int64))
        found[number] = Compressed(
            (n, lanes), above[low:high], full[low:high], free[at : at + count]
        )
        at += count
    expect(at == free.size, "its duals are those of other chunks")
    return found


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
    spans: list[tuple[int, int, int]]  # of its chunks: their numbers, and rows lo..hi-1
    step_rows: Rows
    problem: Problem
    labels: NDArray[np.int8]
    weight: Floats | None
    threads: int

    def start_duals(self) -> None:
        """All of them are zero, no row is away, nothing is proposed."""
        self.duals: Floats = np.zeros(self.labels.shape)
        self.away = np.zeros(self.n, dtype=bool)
        self.proposal: Proposal | None = None
        self.fresh = True

    def is_fresh(self) -> Reply:
        """Whether the duals are those of a part that has just come up."""
        return {"fresh": ("each", {self.name: True})} if self.fresh else {}

    def settle(
        self, settled: Settled | None, ids: NDArray[np.int64] | None = None, duals: Any = None
    ) -> None:
        """Follow the proposal as far as was decided; take the client's duals of rows ``ids``."""
        if settled is not None and self.proposal is not None:
            if settled.round == self.proposal.round:
                place = np.searchsorted(self.proposal.lanes, settled.lanes)
                change = self.proposal.change[:, place] * settled.share
                limit = self.problem.largest_duals()[:, settled.lanes]
                here = ~self.away[:, None]
                moved = np.clip(self.duals[:, settled.lanes] + change, 0.0, limit)
                self.duals[:, settled.lanes] = np.where(here, moved, self.duals[:, settled.lanes])
            self.proposal = None
        if ids is not None:
            self.away[ids] = True
            self.duals[ids] = np.clip(duals, 0.0, self.problem.largest_duals()[ids])

    def snapshot(self, settled: Settled | None, **away: Any) -> Reply:
        """The duals of every chunk, packed, once they are settled."""
        self.settle(settled, **away)
        largest = self.problem.largest_duals()
        packed = {number: compress(self.duals[lo:hi], largest[lo:hi])
                  for number, lo, hi in self.spans}  # fmt: skip
        return {"duals": ("each", packed)}

    def restore(self, *, duals: Mapping[int, Compressed] = MappingProxyType({})) -> Reply:
        """Go on from duals of chunks that were saved, if there are any for this part."""
        largest = self.problem.largest_duals()
        for number, lo, hi in self.spans:
            few = duals.get(number)
            if few is not None and few.shape == (hi - lo, self.duals.shape[1]):
                self.duals[lo:hi] = np.clip(expand(few, largest[lo:hi]), 0.0, largest[lo:hi])
        self.fresh = self.fresh and not duals
        return {}

    def scale(self, ratio: Floats) -> Reply:
        """Duals for another s: each keeps what it adds to w, those at a bound go half way."""
        at_bound = self.duals >= self.problem.largest_duals()
        self.duals *= np.where(at_bound, np.sqrt(ratio), ratio)
        return {}

    def sync(self, *, live: NDArray[np.intp], **away: Any) -> Reply:
        """Sum a y x over all rows, with the client's duals of those that are ``away``.

        What is proposed is forgotten, and what else was away comes back.
        """
        self.proposal, self.fresh = None, False
        self.away[:] = False
        self.settle(None, **away)
        problem = self._steps(self.labels[:, live], live, 1.0)
        nothing = np.zeros(problem.weights_shape)
        found = sums_over(problem, self.duals[:, live], nothing, np.zeros(live.size))
        return {"U": ("sum", found.U_positive[:, : live.size])}

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
        more = 16.0 + 9.0 * self.duals.shape[1] + (0 if self.weight is None else 8)
        if hasattr(self.X, "indptr"):
            bytes_ = self.X.data.itemsize + self.X.indices.itemsize
            sizes: Floats = np.diff(self.X.indptr) * float(bytes_) + 8.0 + more
            return sizes
        return np.full(self.n, self.X.shape[1] * float(self.X.itemsize) + more)


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
