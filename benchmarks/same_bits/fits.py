"""One fit, and the grid of them."""

from functools import partial
from itertools import product
from typing import Any, NamedTuple

from scipy import sparse

import pegasos
from benchmarks.same_bits.toys import ALIGNED, FEATURES, SITES, UNEVEN, Blocks, toy

EXACT = ("dual", "newton", "interior", "auto")
STOCHASTIC = ("pegasos", "sgdr", "sgds", "sgdm")
SOLVERS = EXACT + STOCHASTIC
LOSSES = ("hinge", "squared_hinge")
TRAINED = (
    *product(EXACT, LOSSES, ("none", "regularized", "free")),
    *product(STOCHASTIC, ("hinge",), ("none", "regularized")),
)
SEED = 7
most_epochs = None  # of any linear fit, where --epochs says so


class Trained(NamedTuple):
    """What is compared of a fit, each number or array; beside it, how it ended."""

    weights: Any
    intercepts: Any
    duals: Any
    bounds: Any
    epochs: float = 0.0
    stop: str = ""


def grid():
    """Everything offered; sample weights in every other fit, so that each value meets both."""
    places = list(product(FEATURES, ("one lane", "lanes"), (1, 2), SITES))
    for i, trained in enumerate(TRAINED):
        for k, (rows, lanes, threads, site) in enumerate(places):
            weighted = (i + k.bit_count()) % 2 == 0
            words = (*trained, rows, lanes, f"{threads} threads", site, *["weighted"] * weighted)
            yield " ".join(words), partial(_in_grid, trained, rows, lanes, threads, site, weighted)


def _in_grid(trained, rows, lanes, threads, site, weighted):
    data, (solver, loss, intercept) = toy(rows), trained
    weight = data.weight if weighted else None
    X, weights = data.X, {"sample_weight": weight}
    if site == "disk":
        X, weights = Blocks(X, data.y, weight, ALIGNED if rows == "dense" else UNEVEN), {}
    return solved(
        X, data.labels(lanes), solver=solver, loss=loss, intercept=intercept, n_jobs=threads,
        **weights,
    )  # fmt: skip


def solved(X, y, **options):
    """By ``pegasos.solve``; on one thread and to the end, unless told otherwise."""
    tol, epochs = _ends(options)
    options = {"seed": SEED, "n_jobs": 1, "tol": tol, "max_epochs": epochs} | options
    if "lam" not in options:
        options.setdefault("C", 1.0)
    options["max_epochs"] = capped(options["max_epochs"])
    result = pegasos.solve(X, y, **options)
    if isinstance(X, Blocks):
        X.check_used()
    bounds = [result.certificate.primal, result.certificate.dual]
    return Trained(result.w, result.b, result.duals, bounds, result.epochs, result.stop_reason)


def fitted(X, y, weight=None, *, kind=pegasos.LinearSVC, fit=(), more=None, **options):
    """By an estimator; ``fit`` are more arguments of it, ``more`` gives arrays of the model."""
    tol, epochs = _ends(options)
    options = {"random_state": SEED, "n_jobs": 1, "tol": tol, "max_iter": epochs} | options
    options["max_iter"] = capped(options["max_iter"])
    model = kind(**options)
    if isinstance(X, Blocks):
        model.fit(X)
        X.check_used()
    else:
        model.fit(X, y, weight, **dict(fit))
    return of_model(model, () if more is None else more(model))


def of_model(model, more=()):
    """A fitted linear estimator, with more arrays of it."""
    weights = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    bounds = [model.certificate_.primal, model.certificate_.dual]
    epochs = float(model.n_iter_)
    return Trained(weights, model.intercept_, list(more), bounds, epochs, model.stop_reason_)


def _ends(options):
    """tol and passes, unless told otherwise."""
    solver = options.get("solver", "auto")
    stochastic = getattr(solver, "name", solver) in STOCHASTIC
    return (1e-9, 3) if stochastic else (1e-6, 60)


def capped(epochs):
    """So many passes, or what --epochs leaves of them."""
    if most_epochs is None:
        return epochs
    return most_epochs if epochs is None else min(epochs, most_epochs)
