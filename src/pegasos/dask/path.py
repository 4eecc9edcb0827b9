"""Cross-validation over a path of C on a cluster: all folds are lanes of the same runs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.dask.cluster import Cluster
from pegasos.dask.errors import ClusterError, InterruptedRoundError, PartsLostError
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
from pegasos.tasks.path import Path
from pegasos.tasks.training import Training


def cross_validate_on_cluster(
    cluster: Cluster, training: Training, Cs: Floats, folds: int, class_weight: Any
) -> tuple[Path, ClusterError | None]:
    """Train and score all folds at every C, smaller ones first, each from the one before.

    If the cluster fails, what was scored is in the path.
    """
    problem = _folds(cluster, training, folds, class_weight)
    shape = (Cs.size, folds)
    scores, (epochs, seconds) = np.full(shape, np.nan), np.zeros((2, *shape))
    proof = Certificate(*np.full((3, *shape, problem.lanes // folds), np.nan))
    before, ended, error = None, None, None
    for c, C in enumerate(Cs):
        began, late = time.perf_counter(), training.options.late
        if late:
            ended = "max_time"
            break
        here = problem.at(float(C))
        try:
            outcome, error = _train(cluster, here, float(C), training, before)
            if error is not None:
                raise error
            if outcome.stop_reason in ("interrupted", "callback", "max_time"):
                ended = outcome.stop_reason
                break
            scores[c] = _score(cluster, outcome)
        except InterruptedRoundError:
            ended = "interrupted"
            break
        except ClusterError as failure:
            ended, error = "cluster_failed", failure
            break
        before, columns = here, (folds, -1)
        found = outcome.certificate
        bounds = (found.primal, found.dual, found.rounding)
        proof = proof.replaced(c, Certificate(*(each.reshape(columns) for each in bounds)))
        epochs[c], seconds[c] = outcome.epochs, (time.perf_counter() - began) / folds
    return Path(
        C=Cs,
        scores=scores,
        certificate=proof,
        epochs=epochs,
        seconds=seconds,
        coef=None,
        intercept=None,
        ended=ended,
    ), error


def _folds(cluster: Cluster, training: Training, folds: int, class_weight: Any) -> ClusterProblem:
    """The lanes of every fold, one fold after the other."""
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
        seed=training.options.seed,
    )
    counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
    return set_lanes(cluster, rows, replace(lanes, total_weight=counts[2] + counts[3]))


def _train(
    cluster: Cluster,
    problem: ClusterProblem,
    C: float,
    training: Training,
    before: ClusterProblem | None,
) -> tuple[Outcome, ClusterError | None]:
    """All folds at one C, from the duals of the C before."""
    cluster.keep("at", {"C": C})
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
