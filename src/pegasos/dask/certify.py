"""Certificates of models whose rows are on a cluster.

The workers recompute the sums of ``pegasos.certificate.GapSums`` over their rows, which add up to
those of all: the proof is the same as on one machine. The best free intercept is found without
collecting products: the loss is convex in b, and a few dozen values of b at a time enclose it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats, GapSums, certificate
from pegasos.dask.errors import PartsLostError
from pegasos.dask.problem import ClusterProblem

_TRIES = 33  # values of b at a time
_ZOOMS = 16  # at most, each 16 times as close


def certify_on_cluster(
    problem: ClusterProblem, W: Floats, each: dict[str, Any], **duals: Any
) -> tuple[Certificate, Floats, dict[str, Any]]:
    """The certificate of W and the workers' duals, its b, and their packed duals by part.

    ``duals`` and ``each`` are arguments of ``CertifiedPart.gap_sums`` that say which they are.
    """
    ask = problem.cluster.ask
    K, live = problem.lanes, problem.ids
    W = np.array(W[:, :K])
    free = problem.intercept == "free"
    if free:
        b = best_intercepts(problem, W, 0.01 * problem.cluster.tol)
        reply = ask("gap_sums", {"live": live, "b": b, **duals}, each)
    else:
        b = problem.bias * W[-1]
        reply = ask("gap_sums", {"live": live, "W": W, "b": b, **duals}, each)
    if "lost" in reply:
        raise PartsLostError
    wide = problem.weights_shape
    positive, negative = np.zeros(wide), np.zeros(wide) if free else None
    positive[:, :K] = reply["U_positive"]
    if negative is not None:
        negative[:, :K] = reply["U_negative"]
    total = GapSums(reply["sums"], positive, negative)
    padded = np.zeros(wide)
    padded[:, :K] = W
    return certificate(problem, padded, b, total), b, reply.get("duals", {})


def best_intercepts(problem: ClusterProblem, W: Floats, accuracy: float) -> Floats:
    """The free intercept of every lane: its loss is within ``accuracy`` (relative) of the best.

    The loss is convex: between the neighbours of the best try it falls no further below that than
    they are above it.
    """
    ask, live = problem.cluster.ask, problem.ids
    W = W.copy()
    W[-1] = 0.0
    low, most = ask("look", {"live": live, "W": W})["bracket"]
    high = -most
    steps = np.linspace(0.0, 1.0, _TRIES)[:, None]
    lanes, best = np.arange(live.size), (low + high) / 2
    for _ in range(_ZOOMS):
        at = low + steps * (high - low)
        reply = ask("losses", {"live": live, "at": at})
        if "lost" in reply:
            raise PartsLostError
        losses = reply["losses"]
        place = np.argmin(losses, axis=0)
        before, after = np.maximum(place - 1, 0), np.minimum(place + 1, _TRIES - 1)
        best, low, high = at[place, lanes], at[before, lanes], at[after, lanes]
        least = losses[place, lanes]
        above = np.maximum(losses[before, lanes], losses[after, lanes]) - least
        if np.all(above <= accuracy * least):
            break
    return np.asarray(best)
