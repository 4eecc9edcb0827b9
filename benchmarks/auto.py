"""What auto's cost model rests on: the exact solvers and auto, one thread, to a certified 1e-3.

    PEGASOS_DATA=folder python -m benchmarks.auto [data set ...]

For each data set and C: the best of three times, nanoseconds of a visit of DualCoordinate and of a
row's share of an iteration of InteriorPoint and of Newton (the model's constants), and auto over
the best of them.
"""

import sys
import time

import pegasos
from benchmarks import datasets

STRENGTHS = (0.1, 1.0, 10.0)
LIMIT = 60.0


def main():
    print("data, C: dual s (ns a visit) | interior, newton s (ns a row, iteration) | auto / best")
    for name, X, y in datasets.loaded(sys.argv[1:] or datasets.NAMES):
        for C in STRENGTHS:
            print(f"{name}, {C:g}: {_line(X, y, C)}", flush=True)


def _line(X, y, C):
    n = X.shape[0]
    dual, visits = _best(X, y, C, "dual")
    auto, _ = _best(X, y, C, "auto")
    text = f"{dual:.3g} ({dual / visits / n * 1e9:.0f})"
    best = dual
    for solver in ("interior", "newton") if X.shape[1] <= 3000 else ():
        seconds, iterations = _best(X, y, C, solver)
        text += f" | {seconds:.3g} ({seconds / iterations / n * 1e9:.0f})"
        best = min(best, seconds)
    return f"{text} | {auto / best:.2f}"


def _best(X, y, C, solver):
    """Seconds and epochs of the fastest of three runs; of one, if that takes long."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        result = pegasos.solve(
            X, y, C=C, solver=solver, intercept="none", seed=0, n_jobs=1, max_time=LIMIT
        )
        times.append(time.perf_counter() - began)
        if times[-1] > 5:
            break
    return min(times), result.epochs


if __name__ == "__main__":
    main()
