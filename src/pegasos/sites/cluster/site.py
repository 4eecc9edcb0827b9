"""The cluster as solvers see it, and a problem whose rows, labels and duals are there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import GapSums, certificate
from pegasos.problem import Problem
from pegasos.rows import Rows
from pegasos.sites.base import Begun, Site
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.gap_sums import sums_of_parts
from pegasos.sites.cluster.part import Lanes
from pegasos.sites.cluster.part_duals import LocalSteps
from pegasos.sites.cluster.remote_passes import RemotePasses
from pegasos.sites.cluster.rounds import Rounds
from pegasos.sites.method import About, DualsAt, Floats, Kept, RowMethod
from pegasos.sites.passes import Passes
from pegasos.sites.policy import Policy

# A message that has room for fewer rows makes parts take many rounds to agree: a second-order
# solver is worth so many passes of DualCoordinate then.
_HARD_ROWS = 100
_WORTH_PASSES = 500

Said = dict[str, Any]
"""What a part says of itself."""


@dataclass(frozen=True, eq=False)
class ClusterSite(Site):
    """Parts on workers. A pass is one question to all of them, a walk is made in rounds."""

    cluster: Cluster
    tol: float  # of the run
    arrays: bool  # all parts are
    step_scaling: float  # of the constant feature, in rounds
    ids: NDArray[np.intp]  # of the lanes, as parts number them
    costs: tuple[Floats, Floats]  # sums of c over y = +1 and -1

    name: ClassVar[str] = "cluster"
    where: ClassVar[str] = "on the workers"
    here: ClassVar[bool] = False
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

    def refusal(self, solver: Any) -> str | None:
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

    def begin(self, method: RowMethod, problem: Problem, about: About, seed: int) -> Begun:  # noqa: ARG002
        """The variables of the rows are with the parts."""
        lane = int(self.ids[0])
        common = {"lane": lane, "method": method, "about": dict(about)}
        self.cluster.ask_again("start_passes", common)
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
        return RemotePasses(self.cluster, int(self.ids[0]), problem, method, state, about)

    def gap_sums(self, problem: Problem, W: Floats, duals: DualsAt) -> tuple[GapSums, Floats]:
        """Of a run's passes. A lane that is done with is forgotten by the parts."""
        lane = int(self.ids[0])
        total, b, _ = sums_of_parts(problem, W, {}, lane=lane, at=float(duals.at[0]))
        proof = certificate(problem, W, b, total)
        if np.all(proof.proves(self.tol) | proof.exhausted(self.tol)):
            self.cluster.ask_again("end_passes", {"lane": lane})
        return total, b


def summary(about: dict[str, Said], bias: float = 0.0) -> Rows:
    """All rows, none of which is here, from what the parts say of themselves."""
    some = [a for a in about.values() if a["rows"]]
    if not some:
        raise ValueError("X has no rows: 0 samples, while a minimum of 1 is required")
    features = {a["features"] for a in some}
    # Of sparse rows, columns at the end may have no value in some chunks.
    if len(features) > 1 and any(a["dense"] for a in some):
        raise ValueError(f"chunks of X differ in their number of features: {sorted(features)}")
    n, d = sum(a["rows"] for a in some), max(features)
    return Rows(
        _core.Rows.dense(np.broadcast_to(np.zeros((1, d)), (n, d)), bias),  # takes no memory
        np.array([max(a["largest_norm"] for a in some) + bias**2]),  # the largest alone
        sum(a["values"] for a in some) / n,
        sum(a["bytes"] for a in some) / n,
        max(a["longest"] for a in some),
        None,
    )


def problem_on(
    cluster: Cluster, about: dict[str, Said], lanes: Lanes, counts: Floats, tol: float
) -> Problem:
    """The problem of all lanes; ``counts``: rows of +1 and -1, and their weights, per lane."""
    up, down = lanes.positive * counts[2], lanes.negative * counts[3]
    arrays = all(a["dense"] for a in about.values() if a["rows"])
    site = ClusterSite(cluster, tol, arrays, lanes.step_scaling, np.arange(lanes.count), (up, down))
    rows = summary(about, lanes.scaling)
    labels = np.zeros((0, lanes.count), dtype=np.int8)
    none = np.zeros(1, dtype=np.int64)
    nothing = _core.Rows.csr(np.zeros(0), none[:0], none, rows.d, lanes.scaling)
    lane_rows = (counts[0] + counts[1]).astype(np.int64)
    core = _core.Problem(
        nothing, labels=labels, weight=None, positive=lanes.positive, negative=lanes.negative,
        s=lanes.s, lam=lanes.s / lane_rows, squared_norms=np.zeros(0), loss=lanes.loss.name,
        threads=1,
    )  # fmt: skip
    return Problem(
        rows=rows, labels=labels, weight=None, positive=lanes.positive, negative=lanes.negative,
        s=lanes.s, total_weight=lanes.total_weight, intercept=lanes.intercept, loss=lanes.loss,
        threads=1, core=core, lane_rows=lane_rows, cost=up + down, site=site,
    )  # fmt: skip
