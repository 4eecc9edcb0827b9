"""Cross-validation over a path of C on a cluster: all folds are lanes of the same runs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.dask.cluster import Cluster
from pegasos.dask.errors import PartsLostError
from pegasos.dask.fitting import (
    Kept,
    describe,
    lanes_of,
    on_workers,
    plan,
    run_problem,
    set_lanes,
)
from pegasos.dask.problem import ClusterProblem, cluster_rows
from pegasos.outcome import Outcome
from pegasos.tasks.training import Training


@dataclass(frozen=True)
class ClusterPath:
    """What was met along C: scores (Cs, folds), certificates (Cs, lanes) and rounds (Cs,)."""

    C: Floats
    scores: Floats
    certificate: Certificate
    rounds: Floats
    ended: str | None  # what left some of it out

    def best(self, rule: str = "best") -> int:
        """The place of the best mean, the smallest C of equals; or within one standard error."""
        mean = self.scores.mean(axis=1)
        mean = np.where(np.isnan(mean), -np.inf, mean)
        best = int(np.argmax(mean))
        if rule == "one_se":
            folds = self.scores.shape[1]
            error = self.scores[best].std(ddof=1) / np.sqrt(folds)
            return int(np.flatnonzero(mean >= mean[best] - error)[0])
        return best


def cross_validate_on_cluster(
    cluster: Cluster, training: Training, Cs: Floats, folds: int, class_weight: Any
) -> ClusterPath:
    """Train and score all folds at every C, smaller ones first, each from the one before."""
    about = describe(cluster)
    rows = cluster_rows(about)
    _, lanes = lanes_of(about, rows, training, class_weight, signs=False)
    lanes = replace(
        lanes,
        positive=np.tile(lanes.positive, folds),
        negative=np.tile(lanes.negative, folds),
        s=np.tile(lanes.s, folds),
        total_weight=np.tile(lanes.total_weight, folds),
        folds=folds,
        seed=training.seed,
    )
    counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
    lanes = replace(lanes, total_weight=counts[2] + counts[3])
    problem = set_lanes(cluster, rows, lanes)
    K = problem.lanes
    scores = np.full((Cs.size, folds), np.nan)
    proof = Certificate(*np.full((3, Cs.size, K), np.nan))
    rounds, ended, before = np.zeros(Cs.size), None, None
    for c, C in enumerate(Cs):
        limit = training.limits.max_time
        if limit is not None and time.perf_counter() - training.began >= limit:
            ended = "max_time"
            break
        here = problem.at(float(C))
        outcome = _train(cluster, here, training, before)
        if outcome.stop_reason in ("interrupted", "callback", "max_time"):
            ended = outcome.stop_reason
            break
        before = here
        proof = proof.replaced(c, outcome.certificate)
        rounds[c] = outcome.epochs
        scores[c] = _score(cluster, outcome)
    return ClusterPath(Cs, scores, proof, rounds, ended)


def _train(
    cluster: Cluster,
    problem: ClusterProblem,
    training: Training,
    before: ClusterProblem | None,
) -> Outcome:
    """All folds at one C, from the duals of the C before."""
    cluster.keep("with_s", {"s": problem.s})
    if before is not None:
        # If parts are lost some start anew, and some as they were: any duals in the box will do.
        with suppress(PartsLostError):
            cluster.ask("scale", {"ratio": problem.s / before.s})
    choice = on_workers(plan(training, problem))
    cluster.kept = Kept(problem)
    return run_problem(cluster, problem, choice, training, scalar=False)


def _score(cluster: Cluster, outcome: Outcome) -> Floats:
    """The accuracy of each fold's model on the rows that it holds out."""
    while True:
        try:
            held, right = cluster.ask("score", {"W": outcome.W, "b": outcome.b})["held_out"]
        except PartsLostError:
            continue
        return np.asarray(np.divide(right, held, out=np.full(held.size, np.nan), where=held > 0))
