"""How close make_news is to the RCV1 subset it is calibrated to.

    PEGASOS_DATA=folder python benchmarks/calibrate_news.py [seed]

At 27,613 rows and for each C (hinge loss, lam = 1/(C n), no intercept), real against generated:
the optimum P*/P(0), where P(0) = 1; the share of support vectors at the optimum; and the epochs
that the dual solver, in the order of rows it chooses for such data, needs to a relative gap of
1e-3, looked at after every epoch. Then, for information, the shape: the share of documents that
contain the r-th most frequent feature, and quantiles of the non-zeros per row.

Exit status: 0 if every ratio of the first table is within a factor 1.5, 1 if not, 2 without
PEGASOS_DATA.
"""

import os
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

import pegasos
from pegasos.data.synthetic import make_news

FILE = "rcv1_ccat_subset.svm.gz"
COSTS = (0.1, 1, 10)
FACTOR = 1.5
RANKS = (1, 10, 100, 1_000, 5_000, 10_000)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def read(path):
    X, y = load_svmlight_file(str(path), dtype=np.float32)
    # The solver's order of rows depends on their bytes, so both sides get the same index type.
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return csr_array((X.data, indices, indptr), shape=X.shape), y


def difficulty(X, y, C):
    """What the optimum looks like, and how long the way to it is."""

    def solve(**how):
        return pegasos.solve(X, y, C=C, solver="dual", intercept="none", seed=0, **how)

    optimum = solve(tol=1e-6, max_epochs=3_000)
    if not optimum.certificate.relative_gap <= 1e-4:
        raise RuntimeError(f"C = {C}: not solved well enough to compare: {optimum}")
    run = solve(tol=1e-3, checkpoint_every=1, max_epochs=3_000)
    if not run.certificate.relative_gap <= 1e-3:
        raise RuntimeError(f"C = {C}: the epochs to 1e-3 are not known: {run}")
    return {
        f"C = {C}: P*/P(0)": optimum.certificate.primal,
        f"C = {C}: support vectors": np.mean(optimum.duals > 1e-8 * optimum.duals.max()),
        f"C = {C}: epochs to 1e-3": run.epochs,
    }


def shape(X, y):
    n, d = X.shape
    sizes = np.diff(X.indptr)
    shares = np.sort(np.bincount(X.indices, minlength=d))[::-1] / n
    return (
        {"positive share": np.mean(y > 0), "non-zeros per row": sizes.mean()}
        | {f"non-zeros, quantile {q}": np.quantile(sizes, q) for q in QUANTILES}
        | {f"documents with feature {r}": shares[r - 1] for r in RANKS}
    )


def compare(measure, real, generated):
    """Print a table; return its ratios."""
    ours = measure(*generated)
    ratios = []
    for name, value in measure(*real).items():
        ratios.append(ours[name] / value)
        print(f"{name:<28} {value:>10.4g} {ours[name]:>10.4g} {ratios[-1]:>7.2f}", flush=True)
    return ratios


def main():
    folder = os.environ.get("PEGASOS_DATA")
    if not folder:
        print(f"PEGASOS_DATA is not set: it names the folder that holds {FILE}", file=sys.stderr)
        return 2
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    real = read(Path(folder) / FILE)
    generated = make_news(*real[0].shape, seed=seed)

    print(f"{'':<28} {'real':>10} {'generated':>10} {'ratio':>7}")
    ratios = []
    for C in COSTS:
        ratios += compare(lambda X, y, C=C: difficulty(X, y, C), real, generated)
    print()
    compare(shape, real, generated)

    close = all(1 / FACTOR <= ratio <= FACTOR for ratio in ratios)
    print(f"\n{'all' if close else 'NOT all'} of the first {len(ratios)} within {FACTOR}x")
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main())
