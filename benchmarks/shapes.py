"""Generated problems of many shapes: InteriorPoint's iterations to 1e-8, and what auto proves.

    python -m benchmarks.shapes [--kinds ...] [--sizes 3000x20 ...]

No data set has all that a user may bring: separable rows, outliers, features of unlike scales, rare
classes, repeated rows. Each kind is drawn at three sizes, with a positive class of 50%, 20%, 3% and
0.5%; each problem is solved at five C with a free intercept and with
none. Writes results/shapes.json and results/shapes.md after each kind.
"""

import argparse
import warnings

import numpy as np
from scipy import sparse

import pegasos
from benchmarks import machine, store
from benchmarks.table import header, row

SIZES = ("3000x20", "3000x200", "30000x40")
SHARES = (0.5, 0.2, 0.03, 0.005)  # of the positive class
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MODES = ("free", "none")
MOST = 40  # iterations
_END = 70


# Each returns rows, and scores whose largest are the positive class.
def normal(rng, n, d):
    X = rng.normal(size=(n, d))
    return X, _noisy(rng, X @ rng.normal(size=d), 0.5)


def separable(rng, n, d):
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d)


def noise(rng, n, d):
    return rng.normal(size=(n, d)), rng.normal(size=n)


def correlated(rng, n, d):
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) * np.logspace(0, -3, d))
    return X, _noisy(rng, X @ rng.normal(size=d), 1.0)


def unscaled(rng, n, d):
    Z = rng.normal(size=(n, d))
    return Z * np.logspace(-2, 3, d) + 10 * rng.normal(size=d), _noisy(
        rng, Z @ rng.normal(size=d), 0.7
    )


def tiny(rng, n, d):
    X, scores = normal(rng, n, d)
    return 1e-3 * X, scores


def huge(rng, n, d):
    X, scores = normal(rng, n, d)
    return 1e3 * X, scores


def heavy_tails(rng, n, d):
    X = rng.standard_t(2, size=(n, d))
    return X, X @ rng.normal(size=d) + 2 * rng.standard_t(2, size=n)


def outliers(rng, n, d):
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=d) + rng.normal(size=n)
    X[rng.integers(0, n, n // 500)] *= 50
    return X, scores


def clusters(rng, n, d):
    which = rng.integers(0, 6, n)
    X = 1.5 * rng.normal(size=(6, d))[which] + rng.normal(size=(n, d))
    return X, _noisy(rng, np.where(which < 3, 1.0, -1.0), 1e-3)


def categories(rng, n, d):
    which = np.minimum(rng.geometric(0.2, n) - 1, d - 4)
    X = np.hstack([np.eye(d - 3)[which], rng.random((n, 3))])
    return X, X @ rng.normal(size=d) * 2 + rng.logistic(size=n)


def flags(rng, n, d):
    X = (rng.random((n, d)) < 0.15) * 1.0
    return X, _noisy(rng, X @ rng.normal(size=d), 1.0)


def repeated(rng, n, d):
    X = rng.integers(0, 3, size=(n, d)).astype(float)
    X[:, 5:] = 0
    return X, _noisy(rng, X @ rng.normal(size=d), 1.0)


def counts(rng, n, d):
    X = rng.poisson(np.exp(1.5 * rng.normal(size=d)), size=(n, d)).astype(float)
    return X, _noisy(rng, np.log1p(X) @ rng.normal(size=d), 0.3)


def few_values(rng, n, d):
    X = sparse.random(n, d, density=min(1.0, 8 / d), format="csr", rng=rng)
    X.data = rng.exponential(size=X.nnz)
    return X, _noisy(rng, np.asarray(X @ rng.normal(size=d)), 0.3)


KINDS = {
    make.__name__: make
    for make in (
        normal, separable, clusters, noise, correlated, unscaled, tiny, huge, heavy_tails, outliers,
        categories, flags, repeated, counts, few_values,
    )
}  # fmt: skip


def _noisy(rng, scores, share):
    """With noise of a share of their deviation."""
    return scores + share * scores.std() * rng.normal(size=scores.size)


def problems(kind, sizes):
    """(size, share, X, y), each from a seed of its own."""
    for size in sizes:
        n, d = map(int, size.split("x"))
        for share in SHARES:
            seed = [list(KINDS).index(kind), n, d, SHARES.index(share)]
            X, scores = KINDS[kind](np.random.default_rng(seed), n, d)
            middle = np.quantile(scores, 1 - share)
            yield size, share, X, np.where(scores > middle, 1.0, -1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=tuple(KINDS))
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    for kind in options.kinds:
        found = [
            {"size": size, "share": share, "mode": mode, "C": C} | _solve(X, y, C, mode)
            for size, share, X, y in problems(kind, options.sizes)
            for mode in MODES
            for C in STRENGTHS
        ]
        print(*_line(kind, found), flush=True)
        results = store.read("shapes")
        kinds = results.get("kinds", {}) | {kind: _kept(kind, found)}
        results = {"kinds": {k: kinds[k] for k in KINDS if k in kinds}} | machine.setting()
        store.write("shapes", results)
        store.write_text("shapes.md", "\n".join(_lines(results)) + "\n")


def _solve(X, y, C, mode):
    options = {"C": C, "intercept": mode, "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = pegasos.solve(X, y, solver="interior", tol=1e-8, max_epochs=_END, **options)
        auto = pegasos.solve(X, y, tol=1e-6, **options)
    return {
        "iterations": int(exact.epochs),
        "ended": exact.stop_reason,
        "auto": auto.stop_reason,
        "auto_gap": float(auto.certificate.relative_gap),
    }


def _kept(kind, found):
    """The line of the table, and the problems that stand out."""
    return {
        "line": _line(kind, found),
        "notable": [
            one
            for one in found
            if one["iterations"] > MOST or {one["ended"], one["auto"]} != {"converged"}
        ],
        "commit": machine.commit(),
    }


def _line(kind, found):
    counts = [one["iterations"] for one in found]
    return (
        kind.replace("_", " "),
        len(found),
        int(np.median(counts)),
        max(counts),
        sum(one["ended"] == "max_epochs" or one["iterations"] > MOST for one in found),
        sum(one["ended"] == "precision" for one in found),
        sum(one["auto"] not in ("converged", "precision") for one in found),
        sum(one["auto"] == "precision" for one in found),
    )


def _lines(results):
    names = (
        "rows", "problems", "median iterations", "most", f"over {MOST}", "ended by rounding",
        "auto unproven", "auto ended by rounding",
    )  # fmt: skip
    lines = [kept["line"] for kept in results["kinds"].values()]
    sums = [sum(column) for column in zip(*(line[1:] for line in lines), strict=True)]
    return [
        "# Generated problems of many shapes",
        "",
        "    python -m benchmarks.shapes",
        "",
        machine.show(results, results["kinds"].values()),
        "",
        "All rows are generated, none are real. InteriorPoint to a certified 1e-8, at most "
        f"{_END} iterations; `auto` to a certified 1e-6. Ended by rounding: the gap cannot be "
        "proven smaller with float64, and may be smaller than the tolerance already.",
        "",
        *header(*names),
        *(row(*line) for line in lines),
        row("all", sums[0], "", max(line[3] for line in lines), *sums[3:]),
    ]


if __name__ == "__main__":
    main()
