"""From chunks of rows to a certified model: what ``solve`` and the estimators share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.dask import labels
from pegasos.driver import run
from pegasos.interrupt import Interruption
from pegasos.outcome import Outcome
from pegasos.problem import Problem, regularization
from pegasos.rows import Rows
from pegasos.side_by_side import run_lanes
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part import Lanes
from pegasos.sites.cluster.site import problem_on, summary
from pegasos.sites.cluster.source import Source
from pegasos.sites.errors import ClusterError, InterruptedSiteError
from pegasos.solvers import choice_of
from pegasos.solvers.dual_tuning import PULL
from pegasos.tasks.labels import check_classes_weigh, class_weights, one_vs_rest
from pegasos.tasks.training import Training

_SIDE_BY_SIDE = 4  # lanes of the second-order solvers: each keeps up to 96 bytes a row


@dataclass(frozen=True)
class Fitted:
    """A model, and what was learned about the data on the way."""

    outcome: Outcome
    classes: NDArray[Any] | None
    rows: Rows  # none of which is here
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
        except InterruptedSiteError:
            raise KeyboardInterrupt from None  # there is no model yet


def train_on_cluster(
    cluster: Cluster, training: Training, class_weight: Any, *, signs: bool = False
) -> Fitted:
    """Train all classes against the rest; ``signs``: y has two, or -1 and +1 of every lane."""
    about = describe(cluster, signs)
    classes, lanes = lanes_of(about, training, class_weight, signs)
    if signs and classes is not None and classes.size > 2:
        raise ValueError(
            f"y must have two values, or be (n, K) with -1, 0 and +1; it has {classes.size}"
        )
    if classes is None:  # the parts have to look at the signs before weights can be known
        counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
        total = counts[2] + counts[3]
        s = regularization(training.lam, training.C, total)
        lanes = replace(lanes, s=s, total_weight=total)
    problem = set_lanes(cluster, about, lanes, training.options.tol)
    outcome = run_problem(cluster, problem, training, classes is not None)
    return Fitted(outcome, classes, problem.rows, cluster.rounds, cluster.error)


def run_problem(cluster: Cluster, problem: Problem, training: Training, binary: bool) -> Outcome:
    """Train the lanes: together in rounds, side by side where a solver takes one at a time.

    If the cluster fails, the outcome is the model that was certified last.
    """
    scalar = binary and problem.lanes == 1
    options = replace(
        training.options, interruption=cluster.interruption, keep_duals=False, scalar=scalar
    )
    choice = choice_of(training.solver, problem, options.tol)
    if problem.lanes > 1 and choice.solver.lanes_apart:
        several = replace(problem, threads=min(problem.lanes, _SIDE_BY_SIDE))
        return run_lanes(several, lambda _: (choice, options.tol), options)
    return run(problem, choice, options)


def describe(cluster: Cluster, signs: bool = False) -> dict[str, dict[str, Any]]:
    """What the parts say of themselves."""
    about: dict[str, dict[str, Any]] = cluster.keep("describe", {"signs": signs})["about"]
    return about


def lanes_of(
    about: dict[str, dict[str, Any]],
    training: Training,
    class_weight: Any,
    signs: bool,
) -> tuple[NDArray[Any] | None, Lanes]:
    """The classes, and the binary problems made of them."""
    summary(about)  # which says what does not fit together
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
    made = labels.signs if classes is None else labels.OneVsRest(classes)
    scaling = training.intercept_scaling if training.intercept == "regularized" else 0.0
    return classes, Lanes(
        made, positive, negative, s, total, training.intercept, scaling,
        _step_scaling(some, training, s), training.loss, max(a["features"] for a in some),
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


def _step_scaling(some: list[dict[str, Any]], training: Training, s: Floats) -> float:
    """The constant feature in rounds; a free intercept's makes b = centre + pull sum a y."""
    if training.intercept == "none":
        return 0.0
    if training.intercept == "regularized":
        return float(training.intercept_scaling)
    curvature = sum(a["norms"] for a in some) / sum(a["rows"] for a in some) or 1.0
    curvature += float(training.loss.mean_curvature(1.0, 1.0) * s.min())
    return float(np.sqrt(PULL * curvature))


def set_lanes(
    cluster: Cluster, about: dict[str, dict[str, Any]], lanes: Lanes, tol: float
) -> Problem:
    """Tell the parts what to learn."""
    counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
    for name, side in (("+1", 0), ("-1", 1)):
        missing = np.flatnonzero(counts[side] == 0)
        if missing.size:
            raise ValueError(
                f"y needs examples of two classes; none of class {name} is there in lane "
                f"{missing[0]} with a positive sample weight"
            )
    return problem_on(cluster, about, lanes, counts, tol)
