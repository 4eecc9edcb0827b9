"""Iterations of InteriorPoint to a certified 1e-3 / 1e-8, hinge loss, by C and intercept.

    PEGASOS_DATA=folder python -m benchmarks.interior [data set ...]

The benchmark's data sets of few features, one binary task each. Each iteration is certified.
"""

import sys

import numpy as np

import pegasos
from benchmarks import datasets

NAMES = ("a9a", "w8a", "ijcnn1", "covtype", "fashion_mnist", "dense_500k")
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MODES = ("free", "none", "regularized")


def main():
    print(f"{'C':<27}" + "".join(f"{C:>8g}" for C in STRENGTHS))
    for name, X, y in datasets.loaded(sys.argv[1:] or NAMES):
        for mode in MODES:
            print(f"{name:<15}{mode:<12}", end="")
            for C in STRENGTHS:
                print(f"{_iterations(X, y, C, mode):>8}", end="", flush=True)
            print()


def _iterations(X, y, C, mode):
    result = pegasos.solve(
        X, y, C=C, solver="interior", intercept=mode, tol=1e-8, max_epochs=60, record_every=1
    )
    gaps = np.ravel(result.history["relative_gap"])
    return "/".join(
        str(1 + int(np.argmax(gaps <= tol))) if (gaps <= tol).any() else f">{gaps.size}"
        for tol in (1e-3, 1e-8)
    )


if __name__ == "__main__":
    main()
