"""``pegasos.dask.solve``: as ``pegasos.solve``, with rows on a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from pegasos.losses import Loss
from pegasos.problem import Intercept
from pegasos.result import Result
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.limits import Limits
from pegasos.run.outcome import Callback
from pegasos.sites.cluster.cluster import on_cluster
from pegasos.sites.cluster.placed import of_signs
from pegasos.sites.cluster.source import DEFAULT_TIMEOUT, check_timeout, client_of, source_of
from pegasos.solvers import Solver
from pegasos.tasks.checkpoints import saved_training
from pegasos.tasks.lanes import one_vs_rest
from pegasos.tasks.options import checked_training


def solve(
    X: Any,
    y: Any = None,
    *,
    lam: float | None = None,
    C: float | None = None,
    solver: str | Solver = "auto",
    loss: str | Loss = "hinge",
    intercept: Literal["auto"] | Intercept = "auto",
    intercept_scaling: float = 1.0,
    tol: float = 1e-3,
    max_time: float | None = None,
    max_epochs: float | None = None,
    sample_weight: Any = None,
    seed: int | None = None,
    callbacks: Sequence[Callback] = (),
    n_jobs: int | None = None,
    client: Any = None,
    timeout: float = DEFAULT_TIMEOUT,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Result:
    """Train linear SVMs on a Dask cluster until they are proven to be within ``tol``.

    ``X`` is a Dask array (dense, or of CSR chunks) or data frame, or a list of delayed (X, y) or
    (X, y, weight) parts; ``y`` and ``sample_weight`` are Dask collections in chunks of the same
    rows. ``y`` has two values, the larger one positive, or is (n, K) in {-1, 0, +1}. ``n_jobs`` are
    threads of a worker's tasks (None: those the worker has). ``timeout``: seconds without a sign of
    life after which a worker is given up. The rest is as in ``pegasos.solve``; the solvers are
    ``auto``, ``dual``, ``newton`` and ``interior``; an epoch of ``dual`` is a round. The result has
    no duals: they stay on the workers. A run that is resumed goes on from the saved weights and
    duals on any workers, to the same proof, and not to the same bits.

    Raises ``pegasos.dask.ClusterError`` if rows are lost that cannot be computed again.
    """
    began = time.perf_counter()
    saving = Saving(checkpoint, checkpoint_every, resume)
    saving.check()
    if (lam is None) == (C is None):
        raise ValueError("give exactly one of lam and C")
    Limits(max_time, max_epochs)  # which are named so in errors
    training = checked_training(
        C=C, lam=lam, loss=loss, solver=solver, tol=tol, intercept=intercept, fit_intercept=True,
        intercept_scaling=intercept_scaling, multi_class="ovr", max_iter=max_epochs,
        max_time=max_time, seed=int(np.random.default_rng(seed).integers(2**31 - 1)),
        n_jobs=n_jobs, callbacks=callbacks, began=began,
    )  # fmt: skip
    source = source_of(X, y, sample_weight)
    with ExitStack() as stack:
        opened = on_cluster(client_of(client), source, n_jobs, check_timeout(timeout))
        cluster = stack.enter_context(opened)
        rows = of_signs(cluster)
        single = rows.classes.size > 0
        training = saved_training(stack, saving, training, rows, None, None, {}, drawn=seed is None)
        if single:
            problem = rows.problem(training, one_vs_rest(np.ones(2)), C=C)
        else:
            problem = rows.problem_of_signs(training)
        options = replace(training.options, interruption=cluster.interruption, scalar=single)
        outcome = training.run(problem, options)
        error = cluster.error
    if error is not None:
        raise error
    return Result.of(outcome, single=single)
