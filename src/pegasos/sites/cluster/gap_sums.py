"""A certificate's sums over the rows of all parts, and the best free intercept.

The workers recompute ``pegasos.certificate.GapSums`` over their rows, which add up to those of all:
the proof is the same as on one machine. The intercept is found without collecting products: the
loss is convex in b, and a few dozen values of b at a time enclose the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pegasos.certificate import Floats, GapSums
from pegasos.problem import Problem

if TYPE_CHECKING:
    from pegasos.sites.cluster.site import ClusterSite

_TRIES = 33  # values of b at a time
_ZOOMS = 16  # at most, each 16 times as close
_ACCURACY = 0.01  # of tol: how near the best the loss with the intercept is


def site_of(problem: Problem) -> ClusterSite:
    """Where the rows are."""
    return cast("ClusterSite", problem.site)


def sums_of_parts(
    problem: Problem, W: Floats, each: dict[str, Any], **duals: Any
) -> tuple[GapSums, Floats, dict[str, Any]]:
    """The sums for W and the workers' duals, its b, and their compressed duals by part.

    ``duals`` and ``each`` are arguments of ``CertifiedPart.gap_sums`` that say which they are.
    """
    site = site_of(problem)
    ask, live, K = site.cluster.ask, site.ids, problem.lanes
    W = np.array(W[:, :K])
    free = problem.intercept == "free"
    if free:
        b = best_intercepts(problem, W, _ACCURACY * site.tol)
        reply = ask("gap_sums", {"live": live, "b": b, **duals}, each)
    else:
        b = problem.bias * W[-1]
        reply = ask("gap_sums", {"live": live, "W": W, "b": b, **duals}, each)
    wide = problem.weights_shape
    positive, negative = np.zeros(wide), np.zeros(wide) if free else None
    positive[:, :K] = reply["U_positive"]
    if negative is not None:
        negative[:, :K] = reply["U_negative"]
    return GapSums(reply["sums"], positive, negative), b, reply.get("duals", {})


def best_intercepts(problem: Problem, W: Floats, accuracy: float) -> Floats:
    """The free intercept of every lane: its loss is within ``accuracy`` (relative) of the best.

    The loss is convex: between the neighbours of the best try it falls no further below that than
    they are above it.
    """
    site = site_of(problem)
    ask, live = site.cluster.ask, site.ids
    W = W.copy()
    W[-1] = 0.0
    low, most = ask("look", {"live": live, "W": W})["bracket"]
    high = -most
    steps = np.linspace(0.0, 1.0, _TRIES)[:, None]
    lanes, best = np.arange(live.size), (low + high) / 2
    for _ in range(_ZOOMS):
        at = low + steps * (high - low)
        losses = ask("losses", {"live": live, "at": at})["losses"]
        place = np.argmin(losses, axis=0)
        before, after = np.maximum(place - 1, 0), np.minimum(place + 1, _TRIES - 1)
        best, low, high = at[place, lanes], at[before, lanes], at[after, lanes]
        least = losses[place, lanes]
        above = np.maximum(losses[before, lanes], losses[after, lanes]) - least
        if np.all(above <= accuracy * least):
            break
    return np.asarray(best)
