"""LinearSVC to a certified 1e-6 on every data set of the benchmark, C from 0.01 to 100.

    PEGASOS_DATA=folder python -m benchmarks.certify_grid

``LinearSVC(C=C, tol=1e-6)``, all else as it comes, warnings taken for errors; data sets with
several classes are trained with all of them. And, for at most 3,000 features, the iterations that
InteriorPoint needs to 1e-8 with a free intercept: the most over the classes, each against the rest.
Writes results/certify.json as it goes, and the table results/certify.md.
"""

import argparse
import os
import tempfile
import time
import warnings

import numpy as np

import pegasos
from benchmarks import datasets, machine, store
from benchmarks.arrays import load_rows, save_rows
from benchmarks.table import header, row, show_gap, show_time
from benchmarks.worker import PeerError, Process

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
TOL = 1e-6
CAP = 600.0
INTERIOR_TOL = 1e-8
INTERIOR_FEATURES = 3_000
INTERIOR_CAP = 3 * CAP  # all classes, one after the other
_LOADED = 300.0


def main():
    options = _options()
    results = {} if options.fresh else store.read("certify")
    for name in options.data:
        module = datasets.module(name)
        try:
            X, y = getattr(module, "load_classes", module.load)()
        except datasets.MissingError as missing:
            print(f"{name}: skipped: {missing}", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
            save_rows(folder, X, y)
            described = {"rows": X.shape[0], "features": X.shape[1], "classes": np.unique(y).size}
            del X
            entry = results.setdefault("data", {}).setdefault(name, {"cells": {}})
            entry |= described | {"title": module.TITLE, "generated": module.GENERATED}
            _measure(folder, name, entry, options.C, results)
    if "data" in results:
        store.write_text("certify.md", "\n".join(_lines(results)) + "\n")


def _measure(folder, name, entry, strengths, results):
    """The cells that are still missing; the results are written after each."""
    questions = ["fit"] + ["interior"] * (entry["features"] <= INTERIOR_FEATURES)
    asker = Asker(folder)
    try:
        for C in strengths:
            cell = entry["cells"].setdefault(f"{C:g}", {})
            for question in questions:
                if question in cell:
                    continue
                cell[question] = asker.ask(question, C) | {"commit": machine.commit()}
                results |= machine.setting()
                store.write("certify", results)
                print(f"{name} C={C:g} {question}: {cell[question]}", flush=True)
    finally:
        asker.end()


class Asker:
    """Asks a process that holds the data; a new one after a question that took too long."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def ask(self, question, C):
        cap = {"fit": CAP, "interior": INTERIOR_CAP}[question]
        try:
            if self.process is None:
                cores = len(os.sched_getaffinity(0))
                self.process = Process(_serve, self.folder, threads=cores)
                self.process.answer(_LOADED)
            self.process.send((question, C))
            answer = self.process.answer(cap)
        except PeerError as error:
            self.end()
            return {"error": str(error).strip().splitlines()[-1]}
        if answer is None:
            self.process = None
            return {"error": f"over {cap:g} s"}
        return answer

    def end(self):
        if self.process is not None:
            self.process.end()
            self.process = None


def _serve(connection, folder):
    X, y = load_rows(folder)
    pegasos.LinearSVC(C=1.0)  # imports scikit-learn, which is not the fit's time
    connection.send(("ready", True))
    while True:
        question, C = connection.recv()
        connection.send(("answer", {"fit": _fit, "interior": _interior}[question](X, y, C)))


def _fit(X, y, C):
    model = pegasos.LinearSVC(C=C, tol=TOL)
    warned = ""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model.fit(X, y)
        except Warning as warning:  # that of a fit without proof is its last act
            warned = str(warning)
    seconds = time.perf_counter() - began
    if not hasattr(model, "certificate_"):
        return {"seconds": seconds, "error": warned}
    return {
        "seconds": seconds,
        "gap": min(1e100, float(np.max(model.certificate_.relative_gap))),
        "n_iter": int(model.n_iter_),
        "solver": _chosen(model),
        "warning": warned,
    }


def _chosen(model):
    """What auto chose, by name."""
    chosen = getattr(model, "solver_", model.solver)
    return str(getattr(chosen, "name", chosen))


def _interior(X, y, C):
    classes = np.unique(y)
    iterations, converged = 0, True
    for positive in classes[1:] if classes.size == 2 else classes:
        labels = datasets.signs(y == positive)
        result = pegasos.solve(
            X, labels, C=C, solver="interior", intercept="free", tol=INTERIOR_TOL, max_epochs=100
        )
        iterations = max(iterations, round(result.epochs))
        converged = converged and result.stop_reason == "converged"
    return {"iterations": iterations, "converged": converged}


def _lines(results):
    yield f"# LinearSVC(C=C, tol={TOL:g}): every fit certified?\n"
    yield "    PEGASOS_DATA=folder make bench-certify\n"
    cells = [cell for entry in results["data"].values() for cell in entry["cells"].values()]
    fits = [cell["fit"] for cell in cells if "fit" in cell]
    yield f"{machine.show(results, fits)}\n"
    proven = [fit for fit in fits if fit.get("gap", 1.0) <= TOL and not fit.get("warning")]
    yield f"{len(proven)} of {len(fits)} cells: proven to be within {TOL:g}, without a warning.\n"
    columns = ("seconds", "relative gap", "n_iter_", "chosen", f"interior to {INTERIOR_TOL:g}")
    yield from header("data", "C", *columns, "")
    for entry in results["data"].values():
        for C, cell in entry["cells"].items():
            yield row(_named(entry), C, *_shown(cell))


def _named(entry):
    generated = ", generated" if entry["generated"] else ""
    size = f"{entry['rows']:,} x {entry['features']:,}"
    return f"{entry['title']} ({size}, {entry['classes']} classes{generated})"


def _shown(cell):
    fit, interior = cell.get("fit", {}), cell.get("interior", {})
    iterations = interior.get("iterations", interior.get("error", ""))
    if not interior.get("converged", True):
        iterations = f"not in {iterations}"
    trouble = fit.get("error") or ("warned" if fit.get("warning") else "")
    gap = show_gap(fit.get("gap"))
    yield from (show_time(fit.get("seconds")), gap, fit.get("n_iter", ""), fit.get("solver", ""))
    yield from (iterations, trouble)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=datasets.NAMES, default=datasets.NAMES)
    parser.add_argument("--C", nargs="+", type=float, default=STRENGTHS)
    parser.add_argument("--fresh", action="store_true", help="forget all results so far")
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    return options


if __name__ == "__main__":
    main()
