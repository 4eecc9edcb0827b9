"""From chunks of rows to a certified model: what ``solve`` and the estimators share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.dask.cluster import Cluster
from pegasos.dask.errors import ClusterError, InterruptedRoundError
from pegasos.dask.part import Lanes
from pegasos.dask.problem import ClusterProblem, ClusterRows, cluster_problem, cluster_rows
from pegasos.dask.rounds import ClusterDual
from pegasos.dask.second import ClusterInterior, ClusterNewton
from pegasos.dask.source import Source
from pegasos.driver import run
from pegasos.history import History, Record
from pegasos.interrupt import Interruption
from pegasos.outcome import Outcome, StopReason
from pegasos.problem import regularization
from pegasos.side_by_side import run_lanes
from pegasos.solvers import DualCoordinate, InteriorPoint, Newton, Solver
from pegasos.solvers.auto import Choice, choose, fixed
from pegasos.solvers.base import SolverOf
from pegasos.solvers.dual import PULL
from pegasos.tasks.labels import check_classes_weigh, class_weights, one_vs_rest
from pegasos.tasks.training import Training

_SIDE_BY_SIDE = 4  # lanes of the second-order solvers: each keeps up to 96 bytes a row
# A message that has room for fewer rows makes parts take many rounds to agree: a second-order
# solver is worth so many passes of DualCoordinate then.
_DESK_ROWS = 100
_WORTH_PASSES = 500


class Kept:
    """The model that was certified last, lane by lane."""

    def __init__(self, problem: ClusterProblem) -> None:
        """At first w = 0."""
        K = problem.lanes
        self.W, self.b = np.zeros((problem.rows.d + 1, K)), np.zeros(K)
        self.proof = Certificate.untrained(problem.cost / problem.total_weight)
        self.records: list[Record] = []

    def put(self, lanes: NDArray[np.intp], W: Floats, b: Floats, proof: Certificate) -> None:
        """Replace some lanes."""
        self.W[:, lanes], self.b[lanes] = W, b
        self.proof = self.proof.replaced(lanes, proof)

    def note(self, record: Record) -> None:
        """Keep a record: a callback."""
        self.records.append(record)

    def outcome(self, error: ClusterError | None, solver: SolverOf[Any], scalar: bool) -> Outcome:
        """What is left of a run that a cluster's failure ended, or a Ctrl-C at a bad moment."""
        proof = self.proof.lane(0) if scalar else self.proof
        last = self.records[-1] if self.records else None
        reason: StopReason = "interrupted" if error is None else "cluster_failed"
        return Outcome(
            W=self.W, b=self.b, duals=np.zeros((0, self.b.size)), certificate=proof,
            history=History(self.records), stop_reason=reason,
            seconds=0.0 if last is None else last.seconds,
            epochs=0.0 if last is None else last.epoch, solver=solver,
            reason=reason if error is None else f"the cluster failed: {error}",
        )  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """A model, and what was learned about the data on the way."""

    outcome: Outcome
    classes: NDArray[Any] | None
    rows: ClusterRows
    rounds: int  # questions to the workers
    error: ClusterError | None = None


@contextmanager
def on_cluster(
    client: Any, source: Source, training: Training, timeout: float
) -> Iterator[Cluster]:
    """The source's parts on the workers, while they are needed."""
    with Interruption() as interruption:
        try:
            cluster = Cluster(client, source, timeout, training.n_jobs, interruption)
            try:
                yield cluster
            finally:
                cluster.close()
        except InterruptedRoundError:
            raise KeyboardInterrupt from None  # there is no model yet


def train_on_cluster(
    cluster: Cluster, training: Training, class_weight: Any, *, signs: bool = False
) -> Fitted:
    """Train all classes against the rest; ``signs``: y has two, or -1 and +1 of every lane."""
    about = describe(cluster, signs)
    rows = cluster_rows(about)
    classes, lanes = lanes_of(about, rows, training, class_weight, signs)
    if signs and classes is not None and classes.size > 2:
        raise ValueError(
            f"y must have two values, or be (n, K) with -1, 0 and +1; it has {classes.size}"
        )
    if classes is None:  # the parts have to look at the signs before weights can be known
        counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
        total = counts[2] + counts[3]
        s = regularization(training.lam, training.C, total)
        lanes = replace(lanes, s=s, total_weight=total)
    problem = set_lanes(cluster, rows, lanes)
    choice = on_workers(plan(training, problem))
    outcome, error = run_problem(cluster, problem, choice, training, classes is not None)
    return Fitted(outcome, classes, rows, cluster.rounds, error)


def run_problem(
    cluster: Cluster,
    problem: ClusterProblem,
    choice: Choice,
    training: Training,
    binary: bool,
) -> tuple[Outcome, ClusterError | None]:
    """Train the lanes: together in rounds, side by side where a solver takes one at a time.

    If the cluster fails, the outcome is the model that was certified last.
    """
    kept = cluster.kept = Kept(problem)
    cluster.tol = training.options.tol
    scalar = binary and problem.lanes == 1
    given = training.options
    options = replace(
        given.heard_by(*given.callbacks, kept.note), interruption=cluster.interruption,
        keep_duals=False, scalar=scalar,
    )  # fmt: skip
    error: ClusterError | None = None
    try:
        if problem.lanes > 1 and choice.solver.lanes_apart:
            several = replace(problem, threads=min(problem.lanes, _SIDE_BY_SIDE))
            return run_lanes(several, lambda _: (choice, given.tol), options), None
        return run(problem, choice, options), None
    except ClusterError as failure:
        error = failure
    except InterruptedRoundError:
        error = cluster.error  # of another lane, which had this one stop
    return kept.outcome(error, choice.solver, scalar), error


def describe(cluster: Cluster, signs: bool = False) -> dict[str, dict[str, Any]]:
    """What the parts say of themselves."""
    about: dict[str, dict[str, Any]] = cluster.keep("describe", {"signs": signs})["about"]
    return about


def lanes_of(
    about: dict[str, dict[str, Any]],
    rows: ClusterRows,
    training: Training,
    class_weight: Any,
    signs: bool,
) -> tuple[NDArray[Any] | None, Lanes]:
    """The classes, and the binary problems made of them."""
    some = [a for a in about.values() if a["rows"]]
    classes: NDArray[Any] | None = None
    if signs and "lanes" in some[0]:
        K = some[0]["lanes"]
        positive, negative, total = np.ones(K), np.ones(K), np.ones(K)
    else:
        if "lanes" in some[0]:
            raise ValueError("y must be one-dimensional: a class for every row")
        classes, totals = _classes(some)
        weights = class_weights(class_weight, classes, np.arange(classes.size), totals)
        _, positive, negative = one_vs_rest(np.zeros(0, dtype=np.intp), weights)
        total = np.full(positive.size, totals.sum())
    s = regularization(training.lam, training.C, total)
    return classes, Lanes(
        classes, positive, negative, s, total, training.intercept,
        training.intercept_scaling if training.intercept == "regularized" else 0.0,
        _step_scaling(rows, training, s), training.loss, rows.d,
    )  # fmt: skip


def _classes(some: list[dict[str, Any]]) -> tuple[NDArray[Any], Floats]:
    """All classes in order, and the weight of each."""
    values = np.concatenate([a["classes"] for a in some])
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        raise ValueError("Unknown label type: y holds continuous numbers, and no classes")
    classes, codes = np.unique(values, return_inverse=True)
    totals: Floats = np.bincount(codes, np.concatenate([a["weights"] for a in some])).astype(float)
    if classes.size < 2:
        raise ValueError("y holds one class; a classifier needs examples of at least two classes")
    check_classes_weigh(classes, np.arange(classes.size), totals[:, None])
    return classes, totals


def _step_scaling(rows: ClusterRows, training: Training, s: Floats) -> float:
    """The constant feature in rounds; a free intercept's makes b = centre + pull sum a y."""
    if training.intercept == "none":
        return 0.0
    if training.intercept == "regularized":
        return float(training.intercept_scaling)
    curvature = rows.mean_norm or 1.0
    if training.loss == "squared_hinge":
        curvature += float(s.min()) / 2
    return float(np.sqrt(PULL * curvature))


def set_lanes(cluster: Cluster, rows: ClusterRows, lanes: Lanes) -> ClusterProblem:
    """Tell the parts what to learn."""
    counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
    for name, side in (("+1", 0), ("-1", 1)):
        missing = np.flatnonzero(counts[side] == 0)
        if missing.size:
            raise ValueError(
                f"y needs examples of two classes; none of class {name} is there in lane "
                f"{missing[0]} with a positive sample weight"
            )
    return cluster_problem(cluster, rows, lanes, counts)


def plan(training: Training, problem: ClusterProblem) -> Choice:
    """The solver, as on one machine; but rounds only where the desk has room for rows."""
    if training.solver is not None:
        return fixed(training.solver)
    choice = choose(problem, training.options.tol)
    second = choice.fallback
    if isinstance(choice.solver, DualCoordinate) and second is not None:
        rows = ClusterDual(aim=training.options.tol).room(problem) / max(
            1.0, problem.rows.row_bytes
        )
        if rows < _DESK_ROWS and choice.fallback_epochs <= _WORTH_PASSES:
            name = type(second.solver).__name__
            return replace(
                second, reason=f"{name}: a round's messages have room for {rows:.0f} rows only"
            )
    return choice


def on_workers(choice: Choice) -> Choice:
    """The same solvers, for rows on a cluster."""
    fallback = None if choice.fallback is None else on_workers(choice.fallback)
    solver = choice.solver
    found: Solver
    if isinstance(solver, DualCoordinate):
        found = ClusterDual()
    elif isinstance(solver, InteriorPoint):
        found = ClusterInterior()
    elif isinstance(solver, Newton):
        found = ClusterNewton(aim=solver.aim)
    elif isinstance(solver, ClusterDual):
        found = solver
    else:
        raise ValueError(
            f"solver {solver.name!r} does not run on a cluster: 'auto', 'dual', 'newton' and "
            "'interior' do"
        )
    return replace(choice, solver=found, fallback=fallback)
