"""Two threads against one, to a certified 1e-3.

    python -m benchmarks.threads [--rounds 5]

On generated data, each task in turn with one thread and with two, in a process for each that has
the data loaded; medians. No intercept, C = 1. The last two are what the machine has to give: NumPy
on halves of the data, side by side. Writes results/threads.json and results/threads.md.
"""

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

import pegasos
from benchmarks import datasets, machine, store
from benchmarks.arrays import load_rows, save_rows
from benchmarks.table import header, row, show_ratio, show_time
from benchmarks.worker import Process
from pegasos.certificate import certify
from pegasos.problem import make_problem

TOL = 1e-3
LANES = 16
FLIPPED = 0.05  # share of a lane's labels that are wrong
PASSES = 10  # certificates in a row, for one time
_LIMIT = 600.0

# Task -> (data set, the gain that we aim at).
TASKS = {
    "dual, one lane": ("news_200k", 1.3),
    "certificate, sparse": ("news_200k", 1.7),
    f"dual, {LANES} lanes": ("news_200k", 1.7),
    "interior": ("dense_500k", 1.7),
    "newton": ("dense_500k", 1.7),
    "certificate, dense": ("dense_500k", 1.7),
    "the machine: adding up X": ("dense_500k", ""),
    "the machine: matrix products": ("dense_500k", ""),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    times = {}
    for name in dict.fromkeys(data for data, _ in TASKS.values()):
        tasks = [task for task in options.tasks if TASKS[task][0] == name]
        if tasks:
            times |= _measure(name, tasks, options.rounds)
    results = {"times": times, "rounds": options.rounds}
    results |= machine.setting() | {"commit": machine.commit()}
    text = "\n".join(_lines(results))
    print(text)
    if set(options.tasks) == set(TASKS):  # no table of some of them
        store.write("threads", results)
        store.write_text("threads.md", text + "\n")


def _measure(name, tasks, rounds):
    """Task -> threads -> times, the two interleaved."""
    times = {task: {"1": [], "2": []} for task in tasks}
    with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
        save_rows(folder, *datasets.module(name).load())
        processes = {n: Process(_serve, folder, n, threads=n) for n in (1, 2)}
        try:
            for process in processes.values():
                process.answer(_LIMIT)
            for task in tasks:
                for turn in range(rounds + 1):  # the first one warms up
                    for n, process in processes.items():
                        process.send(task)
                        seconds = process.answer(_LIMIT)
                        if seconds is None:
                            raise RuntimeError(f"{task}, {n} threads: over {_LIMIT:g} s")
                        if turn:
                            times[task][str(n)].append(seconds)
        finally:
            for process in processes.values():
                process.end()
    return times


def _serve(connection, folder, threads):
    X, y = load_rows(folder)
    connection.send(("ready", True))
    kept = {}  # what a task needs beside X and y, made once
    while True:
        task = connection.recv()
        connection.send(("seconds", _run(task, X, y, threads, kept)))


def _run(task, X, y, threads, kept):
    if task.startswith("certificate"):
        work = kept.get(task) or kept.setdefault(task, _certificates(X, y, threads))
    elif task.startswith("the machine"):
        work = _by_numpy(X, threads, products=task.endswith("products"))
    elif task.endswith("lanes"):
        if "labels" not in kept:
            kept["labels"] = _many_lanes(X)
        work = _solving(X, kept["labels"], "dual", threads)
    else:
        work = _solving(X, y, task.split(",")[0], threads)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _solving(X, y, solver, threads):
    def work():
        result = pegasos.solve(
            X, y, C=1.0, solver=solver, intercept="none", tol=TOL, seed=0, n_jobs=threads
        )
        if result.stop_reason != "converged":
            raise RuntimeError(f"not certified: {result}")

    return work


def _certificates(X, y, threads):
    problem = make_problem(X, y[:, None], C=1.0, intercept="none", n_jobs=threads)
    rng = np.random.default_rng(0)
    W = np.zeros(problem.weights_shape)
    W[:-1, 0] = rng.standard_normal(X.shape[1])
    duals = rng.random((problem.n, 1))

    def work():
        for _ in range(PASSES):
            certify(problem, W, np.zeros(1), lambda lo, hi: duals[lo:hi])

    return work


def _by_numpy(X, threads, *, products):
    """Memory is read, or float64 multiplied, as fast as can be: by threads that share nothing."""
    squares = np.ones((threads, 1000, 1000))

    def part(k):
        if products:
            for _ in range(2 * PASSES // threads):
                squares[k] @ squares[k]
        else:
            lo, hi = (len(X) * i // threads for i in (k, k + 1))
            for _ in range(PASSES):
                X[lo:hi].sum(dtype=np.float32)

    def work():
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, range(threads)))

    return work


def _many_lanes(X):
    """Labels of random linear functions of the rows, some of them wrong."""
    rng = np.random.default_rng(0)
    scores = X @ rng.standard_normal((X.shape[1], LANES)).astype(np.float32)
    flips = rng.random(scores.shape) < FLIPPED
    return datasets.signs((scores > 0) != flips)


def _lines(results):
    yield "# Two threads against one, to a certified 1e-3\n"
    yield "    python -m benchmarks.threads\n"
    yield f"{machine.show(results, [results])} Generated data. Rounds: {results['rounds']}.\n"
    yield from header("", "data", "one, s", "two, s", "gain", "aimed at")
    for task, times in results["times"].items():
        name, wanted = TASKS[task]
        one, two = median(times["1"]), median(times["2"])
        gain = show_ratio(one / two)
        yield row(task, datasets.module(name).TITLE, show_time(one), show_time(two), gain, wanted)


if __name__ == "__main__":
    main()
