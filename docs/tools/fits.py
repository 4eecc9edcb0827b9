"""What is offered, and why the rest is not: the code is asked, nothing is listed here.

A fit is one of each: a task, a solver, a loss, an intercept and a site. Whatever two of them do not
go together, an error says so before work starts; ``refusal`` gives its words without rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args

import numpy as np

from pegasos.data.chunks import ArrayChunks
from pegasos.estimators.kernel_options import check_options
from pegasos.estimators.linear import LinearSVC
from pegasos.estimators.online import ignored
from pegasos.estimators.svc import SVC
from pegasos.kernel.maps import METHODS
from pegasos.losses import LOSSES
from pegasos.problem import Intercept
from pegasos.sites import Site
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.sites.memory import MEMORY
from pegasos.solvers import SOLVERS
from pegasos.tasks import offered
from pegasos.tasks.offered import PLAIN, TASKS, ignores_warm_start
from pegasos.tasks.options import checked_training

STREAMED = "device, streamed"
"""A device that rows visit a block at a time."""

_NEVER: Any = None  # what a site is not asked about: it has no rows


@dataclass(frozen=True)
class Fit:
    """One of each; the first of each is offered with all others."""

    task: str = "two classes"
    solver: str = "auto"
    loss: str = "hinge"
    intercept: str = "auto"
    site: str = "memory"


AXES: dict[str, tuple[str, ...]] = {
    "task": tuple(TASKS),
    "solver": ("auto", *SOLVERS),
    "loss": tuple(LOSSES),
    "intercept": ("auto", *get_args(Intercept)),
    "site": ("memory", "disk", "cluster", "device", STREAMED),
}
"""All that there is of each."""


def refusal(fit: Fit) -> str | None:
    """Why a fit is not offered, in the words of its error; None: it is."""
    place = "device" if fit.site == STREAMED else fit.site
    at_site = offered.refusal(fit.task, place)
    option = TASKS[fit.task]
    if place == "cluster" and option.name != "labels" and at_site is not None:
        return at_site  # asked before all else
    options = {"solver": fit.solver, "loss": fit.loss, "intercept": fit.intercept}
    if option.name == "partial_fit":
        device = "cpu" if place == "device" else None
        model = LinearSVC(device=device, **cast(Any, options))
        return ignored(model) or at_site
    scheme = option.value if option.name == "multi_class" else PLAIN["multi_class"]
    try:
        training = checked_training(
            C=1.0, lam=None, tol=1e-3, fit_intercept=True, intercept_scaling=1.0,
            multi_class=scheme, max_iter=None, max_time=None, seed=0, n_jobs=1, callbacks=(),
            began=0.0, **options,
        )  # fmt: skip
    except ValueError as error:
        return str(error)
    if option.name == "warm_start" and (reason := ignores_warm_start(training.solver)):
        return reason
    if training.solver is None or (at_site is not None and place != "cluster"):
        return at_site
    # A cluster is asked what it runs before y is looked at.
    return site_without_rows(fit.site).refusal(training.solver) or at_site


@cache
def site_without_rows(name: str) -> Site:
    """One that can be asked what it runs."""
    if name == "memory":
        return MEMORY
    if name == "disk":
        return ChunkRows(ArrayChunks(np.eye(2), np.arange(2), block_bytes=1))
    if name == "cluster":
        from pegasos.sites.cluster.site import ClusterSite  # which needs Dask

        one = np.ones(1)
        return ClusterSite(
            cluster=_NEVER, tol=1e-3, arrays=True, step_scaling=0.0, sizes=np.arange(1), lanes=1,
            ids=np.arange(1), costs=(one, one), begun={},
        )  # fmt: skip
    from pegasos.sites.device.site import DeviceSite  # which needs torch

    return DeviceSite(_NEVER, resident=name != STREAMED)


@dataclass(frozen=True)
class KernelFit:
    """The same for ``SVC``, whose rows are in memory."""

    task: str = "two classes"
    solver: str = "auto"
    intercept: str = "auto"
    kernel: str = "exact"  # or the method of an approximation


KERNEL_AXES: dict[str, tuple[str, ...]] = {
    # Those that an option of an estimator asks for.
    "task": tuple(task for task, option in TASKS.items() if option.name in PLAIN),
    "solver": ("auto", "dual", "pegasos", "newton", "interior"),
    "intercept": AXES["intercept"],
    "kernel": ("exact", *METHODS),
}
"""All that there is of each."""


def kernel_options(fit: KernelFit) -> dict[str, Any]:
    """What ``SVC`` is given."""
    option = TASKS[fit.task]
    given = {"solver": fit.solver, "intercept": fit.intercept, option.name: option.value}
    return given if fit.kernel == "exact" else given | {"approximation": fit.kernel}


def kernel_refusal(fit: KernelFit) -> str | None:
    """Why a fit of ``SVC`` is not offered, in the words of its error; None: it is."""
    try:
        check_options(SVC(**kernel_options(fit)))
    except (TypeError, ValueError) as error:
        return str(error)
    return None
