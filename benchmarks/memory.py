"""Peak memory of a fit beyond X, against the bound that it is meant to keep.

    PEGASOS_DATA=folder python -m benchmarks.memory

Each fit has a process of its own, which loads X and y, notes its resident memory, resets the peak,
fits and reads the peak. The bound: 16 bytes x rows x lanes + 24 bytes x features x lanes + 50 MB,
and for the interior point 150 bytes x rows + 24 bytes x features^2 more. Linux with glibc only.
Writes results/memory.json and results/memory.md.
"""

import argparse
import ctypes
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

import pegasos
from benchmarks import datasets, machine, store
from benchmarks.arrays import load_rows, save_rows
from benchmarks.table import header, row
from benchmarks.worker import PeerError, Process

SECONDS = 60.0  # a fit that takes longer is ended; its memory peaks before
INTERIOR_FEATURES = 3_000
MB = 1e6
_LIMIT = 600.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=datasets.NAMES, default=datasets.NAMES)
    parser.add_argument("--solvers", nargs="+", default=("auto", "dual", "interior"))
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    results = {"fits": []}
    for name in options.data:
        module = datasets.module(name)
        try:
            for load in _loaders(module):
                results["fits"] += _measure(name, load, options.solvers)
        except datasets.MissingError as missing:
            print(f"{name}: skipped: {missing}", flush=True)
    results |= machine.setting() | {"commit": machine.commit()}
    store.write("memory", results)
    store.write_text("memory.md", "\n".join(_lines(results)) + "\n")


def _loaders(module):
    """The binary task, and all classes where there are several."""
    return [getattr(module, name) for name in ("load", "load_classes") if hasattr(module, name)]


def _measure(name, load, solvers):
    """One fit per solver that suits the data."""
    with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
        X, y = load()
        save_rows(folder, X, y)
        shape = X.shape
        del X
        for solver in solvers:
            if solver == "interior" and shape[1] > INTERIOR_FEATURES:
                continue
            process = Process(_serve, folder, solver, threads=len(os.sched_getaffinity(0)))
            try:
                fit = process.answer(_LIMIT)
            except PeerError as error:
                print(f"{name} {solver}: {error}", flush=True)
                continue
            finally:
                process.end()
            if fit is None:
                print(f"{name} {solver}: no answer in {_LIMIT:g} s", flush=True)
                continue
            fit |= {"data": name, "solver": solver, "rows": shape[0], "features": shape[1]}
            fit["bound"] = _bound(*shape, fit["lanes"], fit["chosen"] == "interior")
            print(fit, flush=True)
            yield fit


def _bound(rows, features, lanes, interior):
    shared = 150 * rows + 24 * features**2 if interior else 0
    return 16 * rows * lanes + 24 * features * lanes + shared + 50 * MB


def _serve(connection, folder, solver):
    X, y = load_rows(folder)
    model = pegasos.LinearSVC(C=1.0, solver=solver, max_time=SECONDS)  # imports scikit-learn
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free already must not hide what fit takes
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, the peak
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    peak = _resident("VmHWM")
    chosen = getattr(model, "solver_", model.solver)
    answer = {
        "peak": peak - before,
        "lanes": int(np.shape(model.coef_)[0]),
        "chosen": str(getattr(chosen, "name", chosen)),
        "stop_reason": model.stop_reason_,
    }
    connection.send(("answer", answer))


def _resident(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def _lines(results):
    yield "# Peak memory of LinearSVC(C=1).fit beyond X\n"
    yield "    PEGASOS_DATA=folder python -m benchmarks.memory\n"
    yield f"{machine.show(results, [results])}\n"
    over = sum(fit["peak"] > fit["bound"] for fit in results["fits"])
    yield f"{over or 'None'} of {len(results['fits'])} over the bound. MB.\n"
    yield from header("data", "rows x features", "lanes", "solver", "chosen", "peak", "bound", "")
    for fit in results["fits"]:
        size = f"{fit['rows']:,} x {fit['features']:,}"
        title = datasets.module(fit["data"]).TITLE
        peak, bound = (f"{fit[key] / MB:.0f}" for key in ("peak", "bound"))
        verdict = "over" if fit["peak"] > fit["bound"] else ""
        yield row(title, size, fit["lanes"], fit["solver"], fit["chosen"], peak, bound, verdict)


if __name__ == "__main__":
    main()
