"""What the linear estimators make of several classes or labels."""

from functools import partial
from itertools import pairwise, product

import numpy as np
from scipy import sparse

import pegasos
from benchmarks.same_bits.fits import EXACT, LOSSES, SEED, SOLVERS, Trained, capped, fitted
from benchmarks.same_bits.toys import FEATURES, SITES, UNEVEN, Blocks, toy

WEIGHTS = {"balanced": "balanced", "by class": {0: 1.0, 1: 2.5, 2: 0.5}}
SCHEMES = ("ovr", "ovo", "crammer_singer")
COSTS = (0.01, 0.1, 1.0)
SCORED = 1000  # rows to train on; the others are an eval_set


def tasks():
    yield from _classes()
    yield from _schemes()
    for solver, loss, rows in product(EXACT, LOSSES, FEATURES):
        name = f"LinearSVCCV {solver} {loss} {rows} balanced weighted"
        options = {"solver": solver, "loss": loss, "class_weight": "balanced"}
        yield name, partial(_cross_validated, toy(rows), toy(rows).weight, **options)
    for solver in ("auto", "dual", "newton", "sgds", "pegasos"):
        yield f"LinearSVC eval_set {solver}", partial(_with_eval_set, solver)
    for solver, rows in product(("auto", "dual", "newton", "sgds"), FEATURES):
        prune = 0.01 if rows == "dense" else None
        yield f"LinearSVC labels {solver} {rows}", partial(_labels, toy(rows), solver, prune)
    for rows, average in product(FEATURES, (False, True)):
        name = f"LinearSVC partial_fit {rows}{' average' * average}"
        yield name, partial(_in_batches, toy(rows), average)


def _classes():
    """One against the rest, with class weights and sample weights."""
    for k, (solver, rows, site) in enumerate(product(SOLVERS, FEATURES, SITES)):
        weights, threads = tuple(WEIGHTS)[k.bit_count() % 2], 1 + k // 4 % 2
        options = {"solver": solver, "class_weight": WEIGHTS[weights], "n_jobs": threads}
        name = f"LinearSVC ovr {solver} {rows} {threads} threads {site} weighted {weights}"
        yield name, partial(_on_site, site, toy(rows), **options)


def _schemes():
    for solver, loss, threads in product(EXACT, LOSSES, (1, 2)):
        options = {"solver": solver, "loss": loss, "n_jobs": threads, "multi_class": "ovo"}
        name = f"LinearSVC ovo {solver} {loss} {threads} threads"
        yield name, partial(fitted, toy().X, toy().classes, **options)
    for intercept, rows, threads in product(("none", "regularized"), FEATURES, (1, 2)):
        weights = tuple(WEIGHTS)[(intercept == "none") ^ (threads == 1)]
        options = {"intercept": intercept, "n_jobs": threads, "class_weight": WEIGHTS[weights]}
        weighted = (rows == "dense") ^ (threads == 1)
        name = f"LinearSVC crammer_singer {intercept} {rows} {threads} threads {weights}"
        yield (
            f"{name}{' weighted' * weighted}",
            partial(
                fitted, toy(rows).X, toy(rows).classes, toy(rows).weight if weighted else None,
                multi_class="crammer_singer", **options,
            ),
        )  # fmt: skip
    for scheme, threads in product(SCHEMES, (1, 2)):
        options = {"multi_class": scheme, "n_jobs": threads}
        name = f"LinearSVC {scheme} {threads} threads"
        method = "sigmoid" if threads == 1 else "isotonic"
        yield f"{name} {method}", partial(_with_probability, method, **options)
        yield f"{name} warm along C", partial(_warm_along, **options)
        yield f"{name} CV", partial(_cross_validated, toy(), **options)
    for solver, loss in product(("dual", "auto"), LOSSES):
        name = f"LinearSVC {solver} {loss} warm along C"
        yield name, partial(_warm_along, solver=solver, loss=loss)


def _on_site(site, data, **options):
    if site == "disk":
        return fitted(Blocks(data.X, data.classes, data.weight), None, **options)
    return fitted(data.X, data.classes, data.weight, **options)


def _with_probability(method, **options):
    data = toy()
    return fitted(
        data.X, data.classes, probability=method, **options,
        more=lambda model: [model.predict_proba(data.X)],
    )  # fmt: skip


def _warm_along(**options):
    """Each fit starts from the duals of the one before."""
    data, found = toy("csr"), []
    options = {"random_state": SEED, "n_jobs": 1, "max_iter": capped(60)} | options
    model = pegasos.LinearSVC(warm_start=True, **options)
    for C in COSTS:
        model.set_params(C=C).fit(data.X, data.classes, data.weight)
        found.append((model.coef_, model.intercept_, model.certificate_))
    coef, intercept, proofs = zip(*found, strict=True)
    return Trained(coef, intercept, [], [[p.primal for p in proofs], [p.dual for p in proofs]])


def _cross_validated(data, weight=None, **options):
    def path(model):
        proof = model.path_.certificate
        yield from (model.path_.coef, model.path_.intercept, model.path_.scores)
        yield from (proof.primal, proof.dual)

    options = {"Cs": COSTS, "cv": 3, "tol": 1e-4, "more": path} | options
    return fitted(data.X, data.classes, weight, kind=pegasos.LinearSVCCV, **options)


def _with_eval_set(solver):
    X, y = toy().X, toy().classes
    return fitted(
        X[:SCORED], y[:SCORED], solver=solver, max_iter=20, n_iter_no_change=3,
        fit={"eval_set": (X[SCORED:], y[SCORED:])}, more=lambda model: [model.history_["score"]],
    )  # fmt: skip


def _labels(data, solver, prune):
    positive = (data.signs > 0).astype(np.int64)
    y = sparse.csr_matrix(positive) if sparse.issparse(data.X) else positive
    return fitted(data.X, y, solver=solver, prune=prune)


def _in_batches(data, average):
    model = pegasos.LinearSVC(lam=1e-3, average=average)
    for lo, hi in pairwise(UNEVEN):
        rows = slice(lo, hi)
        model.partial_fit(data.X[rows], data.classes[rows], (0, 1, 2), data.weight[rows])
    return Trained(model.coef_, model.intercept_, [], [])
