"""The cluster as solvers see it: passes, rounds and certificates of all parts at once.

The workers recompute ``pegasos.certificate.GapSums`` over their rows, which add up to those of all:
the proof is the same as on one machine. A free intercept is found without collecting products: the
loss is convex in b, and a few dozen values of b at a time enclose the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import GapSums, certificate
from pegasos.problem import Problem
from pegasos.rows import Rows
from pegasos.sites.base import Begun, Site
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part_duals import Compressed, LocalSteps
from pegasos.sites.cluster.passes import RemotePasses
from pegasos.sites.cluster.rounds import Rounds
from pegasos.sites.method import About, Arrays, DualsAt, Floats, Kept, RowMethod
from pegasos.sites.passes import Passes
from pegasos.sites.policy import Policy
from pegasos.state import expect

# A message that has room for fewer rows makes parts take many rounds to agree: a second-order
# solver is worth so many passes of DualCoordinate then.
_HARD_ROWS = 100
_WORTH_PASSES = 500

_TRIES = 33  # values of b at a time
_ZOOMS = 16  # at most, each 16 times as close
_ACCURACY = 0.01  # of tol: how near the best the loss with the intercept is


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterSite(Site):
    """Parts on workers. A pass is one question to all of them, a walk is made in rounds."""

    cluster: Cluster
    tol: float  # of the run
    arrays: bool  # all parts are
    step_scaling: float  # of the constant feature, in rounds
    sizes: NDArray[np.int64]  # rows of each chunk
    lanes: int  # in all
    ids: NDArray[np.intp]  # of the lanes, as parts number them
    costs: tuple[Floats, Floats]  # sums of c over y = +1 and -1
    begun: Mapping[int, Compressed]  # duals of chunks that rounds start from; if none, from zero

    name: ClassVar[str] = "cluster"
    where: ClassVar[str] = "on the workers"
    here: ClassVar[bool] = False
    keeps_points: ClassVar[bool] = True
    side_by_side: ClassVar[int] = 4  # each keeps up to 96 bytes a row with the parts

    def of_lanes(self, lanes: NDArray[np.intp]) -> ClusterSite:
        """With their numbers and costs."""
        up, down = self.costs
        return replace(self, ids=self.ids[lanes], costs=(up[lanes], down[lanes]))

    def class_costs(self) -> tuple[Floats, Floats]:
        """Parts have counted them."""
        return self.costs

    def dense(self, rows: Rows) -> bool:  # noqa: ARG002
        """Whether all parts are arrays."""
        return self.arrays

    @staticmethod
    def refusal(solver: Any) -> str | None:
        """It makes passes over the rows, and steps on parts as if the others stood still."""
        if solver.by_passes or isinstance(solver, LocalSteps):
            return None
        return (
            f"solver {solver.name!r} does not run on a cluster: 'auto', 'dual', 'newton' and "
            "'interior' do"
        )

    def policy(self, solver: Policy) -> Policy:
        """Steps are made in rounds."""
        return Rounds(solver, self.tol) if isinstance(solver, LocalSteps) else solver

    def discourages(self, solver: Any, problem: Problem, tol: float, epochs: float) -> str | None:
        """Rounds whose messages have room for few rows only."""
        rows = Rounds(solver, tol).room(problem) / max(1.0, problem.rows.row_bytes)
        if rows >= _HARD_ROWS or epochs > _WORTH_PASSES:
            return None
        return f"a round's messages have room for {rows:.0f} rows only"

    # A second-order solver's run on a lane, whose rows' variables are with the parts.
    @property
    def lane(self) -> int:
        """Its number."""
        return int(self.ids[0])

    def begin(self, method: RowMethod, problem: Problem, about: About, seed: int) -> Begun:  # noqa: ARG002
        """The parts make the variables."""
        self._start(method, about, {})
        return {}, None

    def passes(
        self,
        method: RowMethod,
        problem: Problem,
        state: Kept,
        about: About,
        *,
        swapped: bool = False,  # noqa: ARG002 - parts know themselves
    ) -> Passes:
        """Questions to the parts."""
        return RemotePasses(self.cluster, self.lane, problem, method, state, about)

    def saved(self, method: RowMethod, problem: Problem, state: Kept) -> Arrays:  # noqa: ARG002
        """The point of all rows, in the order of the chunks."""
        if not method.point:
            return {}
        found = self.cluster.ask("points", {"lane": self.lane})["points"]
        return {"point": np.concatenate([found[number] for number in sorted(found)], axis=1)}

    def resumed(self, method: RowMethod, problem: Problem, about: About, arrays: Arrays) -> None:  # noqa: ARG002
        """Parts begin with it, wherever they are now."""
        expect(arrays.keys() == ({"point"} if method.point else set()), "it is no run's here")
        points: dict[int, Floats] = {}
        if method.point:
            point, shape = arrays["point"], (method.point, int(self.sizes.sum()))
            expect(point.shape == shape and point.dtype == np.float64, "its rows are others")
            expect(np.isfinite(point).all() and (point[0] >= 0).all(), "a row's variables are none")
            parts = np.split(point, np.cumsum(self.sizes)[:-1], axis=1)
            points = dict(enumerate(parts))
        self._start(method, about, points)

    def _start(self, method: RowMethod, about: About, points: dict[int, Floats]) -> None:
        each = {name: {"points": own} for name, own in self.cluster.by_part(points).items() if own}
        common = {"lane": self.lane, "method": method, "about": dict(about)}
        self.cluster.ask_again("start_passes", common, each)

    # Certificates.
    def gap_sums(self, problem: Problem, W: Floats, duals: DualsAt) -> tuple[GapSums, Floats]:
        """Of a run's passes. A lane that is done with is forgotten by the parts."""
        total, b, _ = self.sums(problem, W, {}, lane=self.lane, at=float(duals.at[0]))
        proof = certificate(problem, W, b, total)
        if np.all(proof.proves(self.tol) | proof.exhausted(self.tol)):
            self.cluster.ask_again("end_passes", {"lane": self.lane})
        return total, b

    def sums(
        self, problem: Problem, W: Floats, each: dict[str, dict[str, Any]], **duals: Any
    ) -> tuple[GapSums, Floats, dict[int, Compressed]]:
        """The sums for W and the workers' duals, its b, and the duals of rounds by chunk.

        ``duals`` and ``each`` are arguments of ``Part.gap_sums`` that say which duals they are.
        """
        K, free = problem.lanes, problem.intercept == "free"
        W = np.array(W[:, :K])
        if free:
            b = self.best_intercepts(W, _ACCURACY * self.tol)
            question = {"live": self.ids, "b": b, **duals}
        else:
            b = problem.bias * W[-1]
            question = {"live": self.ids, "W": W, "b": b, **duals}
        reply = self.cluster.ask("gap_sums", question, each)
        total = GapSums.zeros(problem)
        total.sums[...] = reply["sums"]
        total.U_positive[:, :K] = reply["U_positive"]
        if total.U_negative is not None:
            total.U_negative[:, :K] = reply["U_negative"]
        return total, b, reply.get("duals", {})

    def best_intercepts(self, W: Floats, accuracy: float) -> Floats:
        """The free intercept of every lane: its loss is within ``accuracy`` (relative) of the best.

        The loss is convex: between the neighbours of the best try it falls no further below that
        than they are above it.
        """
        W = W.copy()
        W[-1] = 0.0
        bracket = self.cluster.ask("look", {"live": self.ids, "W": W})
        low, high = bracket["least"], bracket["most"]
        steps = np.linspace(0.0, 1.0, _TRIES)[:, None]
        lanes, best = np.arange(self.ids.size), (low + high) / 2
        for _ in range(_ZOOMS):
            at = low + steps * (high - low)
            losses = self.cluster.ask("losses", {"live": self.ids, "at": at})["losses"]
            place = np.argmin(losses, axis=0)
            before, after = np.maximum(place - 1, 0), np.minimum(place + 1, _TRIES - 1)
            best, low, high = at[place, lanes], at[before, lanes], at[after, lanes]
            least = losses[place, lanes]
            above = np.maximum(losses[before, lanes], losses[after, lanes]) - least
            if np.all(above <= accuracy * least):
                break
        return np.asarray(best)
