"""Epochs to a certified gap when rows are permuted singly or in chunks of consecutive ones.

    PEGASOS_DATA=folder python -m benchmarks.order

The measurement behind pegasos/solvers/order.py. Real data; no intercept, C = 1, one seed.
DualCoordinate, passes alone, runs to 1e-3 (covtype 1e-2), SGDS to 5e-3, at most 300 epochs
(covtype 60).
"""

import numpy as np

import pegasos
from benchmarks import datasets
from pegasos.solvers import order

BITS = (0, 2, 4, 6)
PASSES = pegasos.DualCoordinate(shrink=False, second_order=False)


def data_sets():
    for name, X, y in datasets.loaded(("rcv1", "newsgroups", "w8a", "a9a", "covtype")):
        yield name, X, y
        if name == "rcv1":
            by_class = np.argsort(y, kind="stable")
            yield "rcv1 by class", X[by_class], y[by_class]


def epochs(X, y, solver, bits, tol, most):
    order.chunk_bits = lambda _: bits
    result = pegasos.solve(
        X, y, C=1.0, solver=solver, intercept="none", tol=tol, max_epochs=most, seed=0,
        record_every=1,
    )  # fmt: skip
    return f"{result.epochs:.0f}" if result.stop_reason == "converged" else f">{most}"


def main():
    print(f"{'rows per chunk':<22}" + "".join(f"{1 << bits:>7}" for bits in BITS))
    for name, X, y in data_sets():
        most = 60 if name == "covtype" else 300
        for solver, tol in ((PASSES, 1e-2 if name == "covtype" else 1e-3), (pegasos.SGDS(), 5e-3)):
            counts = [epochs(X, y, solver, bits, tol, most) for bits in BITS]
            line = "".join(f"{count:>7}" for count in counts)
            print(f"{name:<16}{solver.name:<6}{line}", flush=True)


if __name__ == "__main__":
    main()
