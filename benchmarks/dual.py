"""What DualCoordinate gains by second-order steps and by shrinking: time without / with.

    PEGASOS_DATA=folder python -m benchmarks.dual

The RCV1 subset, free intercept, one thread. Runs in turn; medians of three rounds, of one round
where a run takes over ten seconds.
"""

import time
from statistics import median

import pegasos
from benchmarks import datasets

WAYS = {
    "as it is": pegasos.DualCoordinate(),
    "no second order": pegasos.DualCoordinate(second_order=False),
    "no shrinking": pegasos.DualCoordinate(shrink=False),
    "neither": pegasos.DualCoordinate(second_order=False, shrink=False),
}
TASKS = ((1.0, 1e-3), (10.0, 1e-3), (10.0, 1e-6), (100.0, 1e-3), (100.0, 1e-6))
LIMIT = 30.0


def main():
    X, y = datasets.module("rcv1").load()
    for C, tol in TASKS:
        times = {way: [] for way in WAYS}
        reached = dict.fromkeys(WAYS, True)
        for _ in range(3):
            for way, solver in WAYS.items():
                if times[way] and times[way][-1] > 10:
                    continue
                began = time.perf_counter()
                result = pegasos.solve(
                    X, y, C=C, solver=solver, tol=tol, seed=0, n_jobs=1, max_time=LIMIT
                )
                times[way].append(time.perf_counter() - began)
                reached[way] &= result.stop_reason == "converged"
        base = median(times["as it is"])
        ratios = [
            f"{way} {'' if reached[way] else '> '}{median(times[way]) / base:.2f}"
            for way in list(WAYS)[1:]
        ]
        print(f"C = {C:g}, tol {tol:g}: {base:.2g} s; {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
