"""Cross-validation over a path of C on a cluster: all folds are lanes of the same runs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats
from pegasos.dask.fitting import describe, lanes_of, run_problem, set_lanes
from pegasos.dask.labels import OneVsRest
from pegasos.outcome import Outcome
from pegasos.problem import Problem
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.errors import ClusterError, InterruptedSiteError, PartsLostError
from pegasos.tasks.path import Path
from pegasos.tasks.training import Training


def cross_validate_on_cluster(
    cluster: Cluster, training: Training, Cs: Floats, folds: int, class_weight: Any
) -> tuple[Path, ClusterError | None]:
    """Train and score all folds at every C, smaller ones first, each from the one before.

    If the cluster fails, what was scored is in the path.
    """
    problem, lanes = _folds(cluster, training, folds, class_weight)
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
            outcome = _train(cluster, here, float(C), training, before)
            if cluster.error is not None:
                raise cluster.error
            if outcome.stop_reason in ("interrupted", "callback", "max_time"):
                ended = outcome.stop_reason
                break
            scores[c] = _score(cluster, lanes, outcome)
        except InterruptedSiteError:
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


def _folds(
    cluster: Cluster, training: Training, folds: int, class_weight: Any
) -> tuple[Problem, OneVsRest]:
    """The lanes of every fold, one fold after the other."""
    about = describe(cluster)
    classes, one = lanes_of(about, training, class_weight, signs=False)
    assert classes is not None
    labels = OneVsRest(classes, folds, training.options.seed)
    positive, negative, scale, total = (
        np.tile(each, folds) for each in (one.positive, one.negative, one.s, one.total_weight)
    )
    lanes = replace(
        one, labels=labels, positive=positive, negative=negative, s=scale, total_weight=total
    )
    counts = cluster.keep("set_lanes", {"lanes": lanes})["counts"]
    lanes = replace(lanes, total_weight=counts[2] + counts[3])
    return set_lanes(cluster, about, lanes, training.options.tol), labels


def _train(
    cluster: Cluster,
    problem: Problem,
    C: float,
    training: Training,
    before: Problem | None,
) -> Outcome:
    """All folds at one C, from the duals of the C before."""
    cluster.keep("at", {"C": C})
    if before is not None:
        # If parts are lost some start anew, and some as they were: any duals in the box will do.
        with suppress(PartsLostError):
            cluster.ask("scale", {"ratio": problem.s / before.s})
    return run_problem(cluster, problem, training, binary=False)


def _score(cluster: Cluster, lanes: OneVsRest, outcome: Outcome) -> Floats:
    """The accuracy of each fold's model on the rows that it holds out."""
    score = {"function": lanes.score, "W": outcome.W, "b": outcome.b}
    held, right = cluster.ask_again("apply", score)["held_out"]
    return np.asarray(np.divide(right, held, out=np.full(held.size, np.nan), where=held > 0))
