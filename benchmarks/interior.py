"""Iterations of InteriorPoint to a certified 1e-3 and 1e-8, and what its ambition costs or gains.

    PEGASOS_DATA=... python benchmarks/interior.py

Real data (covtype: all rows, class 2 against the rest, columns scaled to [0, 1]), free intercept.
"""

import gzip
import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import pegasos
from pegasos.solvers import interior

STRENGTHS = (0.01, 1.0, 100.0)


def data_sets(folder):
    for name in ("a9a", "w8a", "ijcnn1.gz"):
        yield (name, *load_svmlight_file(str(folder / name), dtype=np.float32))
    with gzip.open(folder / "covtype.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1] == 2
    X -= X.min(axis=0)
    yield "covtype", X / np.maximum(X.max(axis=0), 1e-9), y


def iterations(X, y, C, tol):
    result = pegasos.solve(X, y, C=C, solver="interior", intercept="free", tol=tol, max_epochs=100)
    return int(result.epochs) if result.stop_reason == "converged" else None


def main():
    if "PEGASOS_DATA" not in os.environ:
        sys.exit("set PEGASOS_DATA to the folder with the real data sets")
    sets = list(data_sets(Path(os.environ["PEGASOS_DATA"])))
    print("iterations to 1e-3 / 1e-8 at C = " + ", ".join(f"{C:g}" for C in STRENGTHS))
    for name, X, y in sets:
        counts = (f"{iterations(X, y, C, 1e-3)}/{iterations(X, y, C, 1e-8)}" for C in STRENGTHS)
        print(f"{name:<12}" + "".join(f"{count:>10}" for count in counts), flush=True)
    print("all iterations to 1e-8 at C = 1, without covtype, by ambition")
    for power in (2, 3, 4, 6, 8):
        interior._AMBITION = power
        print(power, sum(iterations(X, y, 1.0, 1e-8) or 100 for _, X, y in sets[:-1]), flush=True)


if __name__ == "__main__":
    main()
