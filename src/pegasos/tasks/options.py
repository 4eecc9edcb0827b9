"""The options of a fit, checked: the same for the estimators and for the command line."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.losses import Hinge, Loss
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.solve import check_loss, check_tol, resolve_intercept
from pegasos.solvers import Solver, by_name
from pegasos.tasks.training import Training
from pegasos.util.arguments import functions, number

SCHEMES = ("ovr", "ovo", "crammer_singer")
USUAL_C = 1.0


def checked_training(
    *,
    C: float | None,
    lam: float | None,
    loss: str | Loss,
    solver: str | Solver,
    tol: float,
    intercept: str,
    fit_intercept: bool,
    intercept_scaling: float,
    multi_class: str,
    max_iter: float | None,
    max_time: float | None,
    seed: int,
    n_jobs: int | None,
    callbacks: Any,
    began: float,
) -> Training:
    """How to train; raises for options that are none, or contradict each other."""
    if multi_class not in SCHEMES:
        raise ValueError(f"multi_class must be one of {', '.join(SCHEMES)}, got {multi_class!r}")
    check_strength(C, lam)
    config = by_name(solver)
    lost = check_loss(loss, config)
    try:
        limits = Limits(max_time=max_time, max_epochs=max_iter)
    except ValueError as error:
        raise ValueError(str(error).replace("max_epochs", "max_iter")) from None
    if config is not None:
        if limits.none:
            limits = Limits(max_epochs=config.default_epochs)
        config.check_limits(limits)
    joint = multi_class == "crammer_singer"
    if joint:
        _check_joint(solver, lost, intercept)
    if not fit_intercept and intercept not in ("auto", "none"):
        raise ValueError(
            f"fit_intercept=False contradicts intercept={intercept!r}; drop one of them"
        )
    mode = resolve_intercept(intercept if fit_intercept else "none", config, intercept_scaling)
    if joint and mode == "free":
        mode = "regularized"
    options = RunOptions(
        tol=check_tol(tol), limits=limits, seed=seed, callbacks=functions("callbacks", callbacks),
        began=began, keep_duals=False,
    )  # fmt: skip
    return Training(
        solver=config, loss=lost, intercept=mode, intercept_scaling=intercept_scaling,
        C=C if lam is None else None, lam=lam, n_jobs=n_jobs, options=options,
    )  # fmt: skip


def check_strength(C: Any, lam: Any) -> None:
    """Raise unless one of them says how much losses weigh: with ``lam``, C is as it always is."""
    for name, value in (("C", C), ("lam", lam)):
        if value is not None and not 0 < number(name, value) < np.inf:
            raise ValueError(f"{name} must be finite and positive, got {value}")
    if lam is not None and C not in (None, USUAL_C):
        raise ValueError(
            f"C={C} and lam={lam} both say how much losses weigh: leave one of them out"
        )


def _check_joint(solver: str | Solver, loss: Loss, intercept: str) -> None:
    """Crammer & Singer's problem has one solver, one loss, and no free intercept."""
    for name, given, wanted in (("solver", solver, "auto"), ("loss", loss.name, Hinge.name)):
        if given != wanted:
            raise ValueError(
                f"multi_class='crammer_singer' is trained with {name}={wanted!r} only, got "
                f"{given!r}"
            )
    if intercept == "free":
        raise ValueError(
            "multi_class='crammer_singer' has no free intercept: intercept='regularized' or 'none'"
        )
