"""Certificates of models whose rows are on a cluster.

The workers recompute the sums of ``pegasos.certificate.GapSums`` over their rows, which add up to
those of all: the proof is the same as on one machine. The best free intercept is found without
collecting products: the loss is convex in b, and a few dozen values of b at a time enclose it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.certificate import Certificate, Floats, GapSums, certificate
from pegasos.dask.problem import ClusterProblem

_TRIES = 33  # values of b at a time
_ZOOMS = 6  # each is 16 times as close: the loss is then flat to nearly its last digits


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
    b = best_intercepts(problem, W) if free else problem.bias * W[-1]
    reply = ask("gap_sums", {"live": live, "W": W, "b": b, **duals}, each)
    if "lost" in reply:
        from pegasos.dask.errors import PartsLostError

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


def best_intercepts(problem: ClusterProblem, W: Floats) -> Floats:
    """The free intercept of every lane, as near to the best as makes no difference."""
    ask, live = problem.cluster.ask, problem.ids
    W = W.copy()
    W[-1] = 0.0
    low, most = ask("look", {"live": live, "W": W})["bracket"]
    high = -most
    steps = np.linspace(0.0, 1.0, _TRIES)[:, None]
    best = (low + high) / 2
    for _ in range(_ZOOMS):
        at = low + steps * (high - low)
        losses = ask("losses", {"live": live, "at": at})["losses"]
        place = np.argmin(losses, axis=0)
        lanes = np.arange(live.size)
        best = at[place, lanes]
        low = at[np.maximum(place - 1, 0), lanes]
        high = at[np.minimum(place + 1, _TRIES - 1), lanes]
    return np.asarray(best)
