"""Pegasos. It stops by its own certificate, whose cost is part of the time; X is used in place.

``PEGASOS_BENCH_SOLVER`` runs a solver of that name instead of ``auto``.
"""

import inspect
import os

import pegasos
from benchmarks.peers import OURS, Fit, Peer

MAX_SECONDS = 600.0  # a run that takes longer ends with what is proven by then


class Ours(Peer):
    """pegasos.solve; a tolerance is the gap that it has to prove."""

    name = OURS
    title = "Pegasos"
    package = "pegasos"
    threaded = True
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)

    def version(self):
        solver = os.environ.get("PEGASOS_BENCH_SOLVER")
        return super().version() + (f" with solver={solver!r}" if solver else "")

    def convert(self, X, y):
        return X, y

    def fit(self, data, C, tolerance, threads):
        X, y = data
        result = pegasos.solve(
            X,
            y,
            C=C,
            solver=os.environ.get("PEGASOS_BENCH_SOLVER", "auto"),
            intercept="none",
            tol=tolerance,
            max_time=MAX_SECONDS,
            seed=0,
            **_threads(threads),
        )
        proof = result.certificate
        return Fit(
            result.w,
            gap=float(proof.relative_gap),
            dual=float(proof.dual),
            note=result.solver.name,
        )


def _threads(threads):
    """``n_jobs``; an older version can be timed too, under PEGASOS_BENCH_SOLVER."""
    known = "n_jobs" in inspect.signature(pegasos.solve).parameters
    if not known and "PEGASOS_BENCH_SOLVER" in os.environ:
        return {}
    return {"n_jobs": threads}


peer = Ours()
