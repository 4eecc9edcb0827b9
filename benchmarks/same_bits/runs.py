"""Limits, checkpoints and starts of runs, and options of solvers."""

import tempfile
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import pegasos
from benchmarks.same_bits.fits import EXACT, LOSSES, SOLVERS, STOCHASTIC, Trained, fitted, solved
from benchmarks.same_bits.toys import FEATURES, SITES, Blocks, toy

CONFIGURED = {
    "Pegasos of 7 rows": pegasos.Pegasos(batch_size=7),
    "Pegasos in storage order": pegasos.Pegasos(sampling="cycle", project=False),
    "Pegasos averaged": pegasos.Pegasos(sampling="permute", batch_size=300, average=True),
    "Pegasos on loss": pegasos.Pegasos(count="on_loss", init="random"),
    "SGDM by 3": pegasos.SGDM(multiplicity=3),
}


def runs():
    yield from _resumed()
    for called, rows, site in product(CONFIGURED, FEATURES, SITES):
        lanes, threads = ("one lane", 1) if rows == "dense" else ("lanes", 2)
        options = {"solver": CONFIGURED[called], "n_jobs": threads}
        name = f"{called} {rows} {lanes} {threads} threads {site}"
        yield name, partial(_on_site, site, toy(rows), lanes, **options)
    whole = pegasos.Pegasos(batch_size="all")
    yield "Pegasos of all rows lanes", partial(solved, toy().X, toy().signs, solver=whole)
    drawn = np.random.default_rng(0).random(toy().signs.shape)
    absent = toy().signs * (drawn < 0.7).astype(np.int8)
    for solver, site in product(SOLVERS, SITES):
        options = {"solver": solver, "lam": [0.03, 0.01, 0.003], "n_jobs": 2}
        name = f"{solver} {site} rows absent, lam by lane"
        yield name, partial(_with_labels, site, toy(), absent, **options)
    for solver, rows in product(STOCHASTIC + EXACT, FEATURES):
        options = {"solver": solver, "record_every": 0.5, "max_epochs": 4}
        name = f"{solver} {rows} records every half epoch"
        yield name, partial(_on_site, "memory", toy(rows), "lanes", **options)
    for solver, rows in product(SOLVERS, FEATURES):
        options = {"solver": solver, "intercept": "regularized", "intercept_scaling": 3.0}
        name = f"{solver} {rows} intercept_scaling=3"
        yield name, partial(_on_site, "memory", toy(rows), "lanes", **options)
    for solver, loss, C in product(EXACT, LOSSES, (1e-3, 100.0)):
        options = {"solver": solver, "loss": loss, "C": C, "tol": 0, "intercept": "free"}
        name = f"{solver} {loss} C={C:g} to the last digit"
        yield name, partial(solved, toy().X, toy().y, **options)
    yield from _hard()


def _resumed():
    """Ended after two epochs, and gone on from the checkpoint."""
    for solver, rows, site in product(SOLVERS, FEATURES, SITES):
        lanes = "lanes" if (solver in EXACT) == (rows == "csr") else "one lane"
        name = f"{solver} {rows} {lanes} {site} resumed"
        yield name, partial(_in_two, partial(_on_site, site, toy(rows), lanes, solver=solver), 2)
    for scheme in ("ovr", "ovo", "crammer_singer"):
        data = toy("csr")
        run = partial(fitted, data.X, data.classes, multi_class=scheme)
        yield f"LinearSVC {scheme} resumed", partial(_in_two, run, 2, limit="max_iter")
    data = toy()
    run = partial(
        fitted, data.X, data.classes, kind=pegasos.LinearSVCCV, Cs=(0.1, 1.0), cv=3, tol=1e-4
    )
    yield "LinearSVCCV resumed", partial(_in_two, run, 3, limit="max_iter")


def _in_two(run, epochs, limit="max_epochs"):
    with tempfile.TemporaryDirectory(prefix="pegasos-bits-") as folder:
        saved = Path(folder) / "run"
        run(checkpoint=saved, **{limit: epochs})
        return run(resume=saved)


def _on_site(site, data, lanes, **options):
    return _with_labels(site, data, data.labels(lanes), **options)


def _with_labels(site, data, labels, **options):
    return solved(data.X if site == "memory" else Blocks(data.X, data.y), labels, **options)


def _hard():
    """Where one solver takes over from another, and where slacks have to grow."""
    far = np.random.default_rng(0).standard_normal((3000, 60)) + 3
    noise = np.random.default_rng(1).standard_normal(3000)
    y = np.where(far @ np.linspace(-1, 1, 60) + noise > 0, 1, -1)
    for loss, threads in product(LOSSES, (1, 2)):
        options = {"C": 100.0, "loss": loss, "n_jobs": threads, "max_epochs": None}
        yield f"auto {loss} {threads} threads takes over", partial(solved, far, y, **options)
    apart = np.where(toy().X[:, 0] > 0.3, 1, -1)
    for solver, site in product(("interior", "newton", "dual"), SITES):
        options = {"solver": solver, "C": 100.0, "intercept": "free"}
        name = f"{solver} {site} separable"
        yield name, partial(_with_labels, site, toy(), apart, **options)
    for intercept, loss in product(("none", "regularized", "free"), LOSSES):
        yield f"certify {loss} {intercept}", partial(_certified, loss, intercept)


def _certified(loss, intercept):
    data, rng = toy("csr"), np.random.default_rng(0)
    w, b, duals = rng.standard_normal(data.X.shape[1]), 0.1, rng.random(data.y.size) / 2
    if intercept == "free":  # a bound needs duals that balance
        duals[data.y > 0] *= duals[data.y < 0].sum() / duals[data.y > 0].sum()
    proof = pegasos.certify(
        data.X, data.y, w, 0.0 if intercept == "none" else b, duals, C=1.0, loss=loss,
        intercept=intercept, sample_weight=data.weight + 1,
    )  # fmt: skip
    return Trained(w, b, duals, [proof.primal, proof.dual])
