"""``SVC`` on one thread."""

from functools import partial
from itertools import product

import numpy as np

import pegasos
from benchmarks.same_bits.fits import SEED, Trained
from benchmarks.same_bits.toys import SAMPLED, toy

KERNELS = {
    "rbf": {},
    "poly": {"degree": 2, "coef0": 1.0},
    "linear": {},
    "precomputed": {},
}
ROWS = 400
INTERCEPTS = ("none", "regularized", "free")  # the last of the exact solver only


def kernels():
    trained = [*product(("dual",), INTERCEPTS), *product(("pegasos",), INTERCEPTS[:2])]
    for k, (kernel, scheme, (solver, intercept)) in enumerate(
        product(KERNELS, ("two", "ovo", "ovr"), trained)
    ):
        rows = "csr" if k % 2 and kernel != "precomputed" else "dense"
        weights = "balanced" if k.bit_count() % 2 else None
        options = {"kernel": kernel, "solver": solver, "intercept": intercept, **KERNELS[kernel]}
        yield (
            f"SVC {kernel} {solver} {intercept} {rows} {scheme} class_weight={weights}",
            partial(_kernel, rows, scheme, class_weight=weights, **options),
        )
    yield "SVC function", partial(_kernel, "dense", "two", kernel=_quadratic)
    yield "SVC little cache", partial(_kernel, "dense", "ovo", cache_size=0.2)
    yield (
        "SVC pegasos of 5 rows",
        partial(_kernel, "dense", "two", solver=pegasos.KernelPegasos(batch_size=5)),
    )
    yield "SVC sigmoid probabilities", partial(_kernel, "dense", "ovo", probability="sigmoid")
    for map, solver, scheme in product(
        ("nystroem", "fourier"), ("auto", "newton", "interior"), ("two", "ovo", "ovr")
    ):
        options = {"approximation": map, "solver": solver, "n_components": 40}
        yield f"SVC {map} {solver} {scheme}", partial(_kernel, "dense", scheme, **options)
    # Features are made in several blocks where they are many; a sample of rows is looked at first
    # where they are few.
    for map, solver, size in product(("nystroem", "fourier"), ("newton", "interior"), (30, 300)):
        options = {"approximation": map, "solver": solver, "n_components": size, "tol": 1e-3}
        options["n_jobs"] = threads = 1 + (solver == "newton")
        name = f"SVC {map} {solver} {size} features {threads} threads"
        yield name, partial(_kernel, "dense", "two", SAMPLED, **options)
    poly = {"approximation": "nystroem", "kernel": "poly", "n_components": 40}
    yield "SVC nystroem poly csr", partial(_kernel, "csr", "ovr", **poly)
    both = {"approximation": "nystroem", "n_components": 40, "probability": "sigmoid"}
    yield "SVC nystroem probabilities", partial(_kernel, "dense", "two", **both)


def _quadratic(A, B):
    return (A @ B.T + 1.0) ** 2


def _kernel(rows, scheme, shape=(ROWS, None), **options):
    data = toy(rows, *shape)
    X, y = data.X, data.y if scheme == "two" else data.classes
    if options.get("kernel") == "precomputed":
        X = X @ X.T
    options = {"tol": 1e-4, "random_state": SEED, "n_jobs": 1} | options
    if options.get("solver") not in (None, "auto", "dual", "newton", "interior"):
        options |= {"tol": 1e-2, "max_iter": 20 * ROWS}
    multi_class = "ovo" if scheme == "two" else scheme
    model = pegasos.SVC(multi_class=multi_class, **options).fit(X, y, data.weight)
    made = hasattr(model, "map_")
    weights = model.coef_ if made else model.dual_coef_
    duals = [] if made else [model.support_, model.n_support_]
    if options.get("probability"):
        duals.append(model.predict_proba(X))
    bounds = [model.certificate_.primal, model.certificate_.dual]
    epochs = float(np.max(model.n_iter_))
    return Trained(weights, model.intercept_, duals, bounds, epochs, model.stop_reason_)
