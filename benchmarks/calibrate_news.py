"""How close make_news is to the RCV1 subset it is calibrated to.

    PEGASOS_DATA=folder python -m benchmarks.calibrate_news [seed]

At 27,613 rows and for each C (hinge loss, lam = 1/(C n), no intercept), real against generated:
the optimum P*/P(0), where P(0) = 1; the share of support vectors at the optimum; and the epochs
that the dual solver, in the order of rows it chooses for such data, needs to a relative gap of
1e-3, looked at after every epoch. Then, for information, the shape: the share of documents that
contain the r-th most frequent feature, and quantiles of the non-zeros per row.

Exit status: 0 if every ratio of the first table is within a factor 1.5, 1 if not, 2 without the
data.
"""

import sys

import numpy as np

import pegasos
from benchmarks import datasets
from pegasos.data.synthetic import make_news

COSTS = (0.1, 1, 10)
FACTOR = 1.5
RANKS = (1, 10, 100, 1_000, 5_000, 10_000)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def difficulty(X, y, C):
    """What the optimum looks like, and how long the way to it is."""

    def solve(**how):
        return pegasos.solve(X, y, C=C, solver="dual", intercept="none", seed=0, **how)

    optimum = solve(tol=1e-6, max_epochs=3_000)
    if not optimum.certificate.relative_gap <= 1e-4:
        raise RuntimeError(f"C = {C}: not solved well enough to compare: {optimum}")
    run = solve(tol=1e-3, record_every=1, max_epochs=3_000)
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
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    try:
        real = datasets.module("rcv1").load()
    except datasets.MissingError as missing:
        print(missing, file=sys.stderr)
        return 2
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
