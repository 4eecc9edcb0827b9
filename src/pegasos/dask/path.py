"""Cross-validation over a path of C on a cluster: all folds are lanes of the same runs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.dask.cluster import Cluster, InterruptedRoundError
from pegasos.dask.errors import ClusterError, PartsLostError
from pegasos.dask.fitting import (
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

_PATH_TIME = 0.8  # of max_time: the rest is for the fit on all rows


@dataclass(frozen=True)
class ClusterPath:
    """What was met along C: scores (Cs, folds), certificates (Cs, lanes) and rounds (Cs,)."""

    C: Floats
    scores: Floats
    certificate: Certificate
    rounds: Floats
    ended: str | None  # what left some of it out
    error: ClusterError | None = field(default=None, repr=False)

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
    error: ClusterError | None = None
    limit = training.limits.max_time
    if limit is not None:
        limit = _PATH_TIME * limit
        training = replace(training, limits=replace(training.limits, max_time=limit))
    for c, C in enumerate(Cs):
        if limit is not None and time.perf_counter() - training.began >= limit:
            ended = "max_time"
            break
        here = problem.at(float(C))
        try:
            outcome, error = _train(cluster, here, training, before)
            if error is not None:
                raise error
            if outcome.stop_reason in ("interrupted", "callback", "max_time"):
                ended = outcome.stop_reason
                break
            before = here
            proof = proof.replaced(c, outcome.certificate)
            rounds[c] = outcome.epochs
            scores[c] = _score(cluster, outcome)
        except InterruptedRoundError:
            ended = "interrupted"
            break
        except ClusterError as failure:
            ended, error = "cluster_failed", failure
            break
    return ClusterPath(Cs, scores, proof, rounds, ended, error)


def _train(
    cluster: Cluster,
    problem: ClusterProblem,
    training: Training,
    before: ClusterProblem | None,
) -> tuple[Outcome, ClusterError | None]:
    """All folds at one C, from the duals of the C before."""
    cluster.keep("with_s", {"s": problem.s})
    if before is not None:
        # If parts are lost some start anew, and some as they were: any duals in the box will do.
        with suppress(PartsLostError):
            cluster.ask("scale", {"ratio": problem.s / before.s})
    choice = on_workers(plan(training, problem))
    return run_problem(cluster, problem, choice, training, binary=False)


def _score(cluster: Cluster, outcome: Outcome) -> Floats:
    """The accuracy of each fold's model on the rows that it holds out."""
    held, right = cluster.ask_again("score", {"W": outcome.W, "b": outcome.b})["held_out"]
    return np.asarray(np.divide(right, held, out=np.full(held.size, np.nan), where=held > 0))
