"""The problem as the client knows it: sizes and sums, while the rows are on the workers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.remote import RemoteProblem
from pegasos.rows import OneRange, Rows

if TYPE_CHECKING:
    from pegasos.dask.cluster import Cluster


@dataclass(frozen=True)
class ClusterRows:
    """What there is to know of rows without seeing one; names as of ``pegasos.rows.Rows``."""

    n: int
    d: int
    row_size: float
    row_bytes: float
    longest: int
    squared_norms: Floats  # the largest of them alone
    mean_norm: float
    blocks: Any
    dense: None = None
    condition: float = 1.0

    def largest(self) -> int:
        """The row with the largest norm; on which worker is not known."""
        return 0


@dataclass(frozen=True)
class ClusterProblem(RemoteProblem):
    """Lanes over rows on a cluster."""

    _: KW_ONLY
    cluster: Cluster
    sides: tuple[Floats, Floats]  # sums of c over y = +1 and -1
    step_scaling: float  # of the constant feature, in rounds

    @property
    def class_costs(self) -> tuple[Floats, Floats]:
        """(K,) sums of c over y = +1, and over y = -1."""
        return self.sides

    def take(self, lanes: NDArray[np.intp], threads: int | None = None) -> ClusterProblem:
        """The problem of some of the lanes."""
        sides = self.sides[0][lanes], self.sides[1][lanes]
        return self.taken(lanes, sides=sides, threads=threads or self.threads)


def cluster_rows(about: dict[str, dict[str, Any]]) -> ClusterRows:
    """Sum up what the parts say of themselves."""
    some = [a for a in about.values() if a["rows"]]
    if not some:
        raise ValueError("X has no rows: 0 samples, while a minimum of 1 is required")
    features = {a["features"] for a in some}
    # Of sparse rows, columns at the end may have no value in some chunks.
    if len(features) > 1 and any(a["dense"] for a in some):
        raise ValueError(f"chunks of X differ in their number of features: {sorted(features)}")
    n = sum(a["rows"] for a in some)
    values = sum(a["values"] for a in some)
    dense = all(a["dense"] for a in some)
    return ClusterRows(
        n=n,
        d=max(features),
        row_size=values / n,
        row_bytes=sum(a["bytes"] for a in some) / n,
        longest=max(a["longest"] for a in some),
        squared_norms=np.array([max(a["largest_norm"] for a in some)]),
        mean_norm=sum(a["norms"] for a in some) / n,
        blocks=OneRange(n, dense),
    )


def cluster_problem(
    cluster: Cluster, rows: ClusterRows, lanes: Any, counts: Floats
) -> ClusterProblem:
    """The problem of all lanes; ``counts``: rows of +1 and -1, and their weights, per lane."""
    up, down = lanes.positive * counts[2], lanes.negative * counts[3]
    nothing = cast(Any, None)
    return ClusterProblem(
        rows=cast(Rows, rows),
        labels=nothing,
        weight=None,
        positive=lanes.positive,
        negative=lanes.negative,
        s=lanes.s,
        total_weight=lanes.total_weight,
        intercept=lanes.intercept,
        loss=lanes.loss,
        threads=1,
        core=nothing,
        lane_rows=(counts[0] + counts[1]).astype(np.int64),
        cost=up + down,
        cluster=cluster,
        ids=np.arange(lanes.count),
        sides=(up, down),
        scaling=lanes.scaling if lanes.intercept == "regularized" else 0.0,
        step_scaling=lanes.step_scaling,
    )
