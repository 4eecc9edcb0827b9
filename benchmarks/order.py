"""Epochs to a certified gap when rows are permuted singly or in chunks of consecutive ones.

    PEGASOS_DATA=... python benchmarks/order.py

The measurement behind pegasos/solvers/order.py. Real data; no intercept, C = 1, one seed.
DualCoordinate runs to 1e-3 (covtype 1e-2), SGDS to 5e-3, at most 300 epochs (covtype 60).
"""

import gzip
import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import pegasos
from pegasos.solvers import order

BITS = (0, 2, 4, 6)


def data_sets(folder):
    X, y = load_svmlight_file(str(folder / "rcv1_ccat_subset.svm.gz"), dtype=np.float32)
    yield "RCV1 subset", X, y
    by_class = np.argsort(y, kind="stable")
    yield "RCV1 by class", X[by_class], y[by_class]
    news = np.load(folder / "20news_bydate_tfidf_train.npz")
    parts = (news["data"].astype(np.float32), news["indices"], news["indptr"])
    yield "20 Newsgroups", sparse.csr_array(parts, shape=tuple(news["shape"])), news["y"] % 2
    yield ("w8a", *load_svmlight_file(str(folder / "w8a")))
    yield ("a9a", *load_svmlight_file(str(folder / "a9a")))
    with gzip.open(folder / "covtype.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1] == 2
    yield "covtype", X / np.maximum(np.abs(X).max(axis=0), 1e-9), y


def epochs(X, y, solver, bits, tol, most):
    order.chunk_bits = lambda _: bits
    result = pegasos.solve(
        X, y, C=1.0, solver=solver, intercept="none", tol=tol, max_epochs=most, seed=0,
        checkpoint_every=1,
    )  # fmt: skip
    return f"{result.epochs:.0f}" if result.stop_reason == "converged" else f">{most}"


def main():
    if "PEGASOS_DATA" not in os.environ:
        sys.exit("set PEGASOS_DATA to the folder with the real data sets")
    print(f"{'rows per chunk':<22}" + "".join(f"{1 << bits:>7}" for bits in BITS))
    for name, X, y in data_sets(Path(os.environ["PEGASOS_DATA"])):
        most = 60 if name == "covtype" else 300
        for solver, tol in (("dual", 1e-2 if name == "covtype" else 1e-3), ("sgds", 5e-3)):
            counts = [epochs(X, y, solver, bits, tol, most) for bits in BITS]
            print(f"{name:<16}{solver:<6}" + "".join(f"{count:>7}" for count in counts), flush=True)


if __name__ == "__main__":
    main()
