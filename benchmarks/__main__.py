"""Pegasos against its peers: time to a primal within 1e-2, 1e-3 and 1e-4 of the optimum.

    PEGASOS_DATA=folder python -m benchmarks [--quick]

Writes results/NAME.json for each data set as it goes; run again, it goes on where it stopped. Then
writes the table, results/README.md, and the picture, results/suboptimality.png. What is measured,
and how, is in measure.py.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import datasets, machine, measure, peers, picture, report, store
from benchmarks.arrays import save_rows
from benchmarks.check import check
from benchmarks.worker import PeerError, Worker


def main():
    options = _options()
    store.RESULTS = options.results
    runnable = _runnable(options.peers)
    for name in options.data:
        _forget(name, options) if options.fresh else _same_versions(name, runnable)
    same = check(runnable, options.fresh)
    try:
        _run_all([peer for peer in runnable if peer.name in same], options)
    finally:  # an interrupted run too shows what it has
        report.write()
        picture.draw()


def _run_all(runnable, options):
    for name in options.data:
        try:
            Benchmark(name, runnable, options).run()
        except datasets.MissingError as missing:
            print(f"{name}: skipped: {missing}", flush=True)
        except PeerError as error:
            print(f"{name}: left unfinished: {error}", file=sys.stderr, flush=True)


class Benchmark:
    """One data set: its results so far, and what is still to measure."""

    def __init__(self, name, runnable, options):
        self.name, self.peers, self.options = name, runnable, options
        self.results = store.read(name)
        self.workers = {}

    def run(self):
        module = datasets.module(self.name)
        X, y = module.load()
        with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as self.folder:
            save_rows(self.folder, X, y)
            self.describe(module, X, y)
            del X
            try:
                for cell, C in measure.cells(y.size, self.options.C, self.options.lam).items():
                    self.measure(cell, C)
            finally:
                for worker in self.workers.values():
                    worker.close()

    def describe(self, module, X, y):
        dense = not hasattr(X, "nnz")
        self.results["data"] = {
            "title": module.TITLE,
            "task": module.TASK,
            "generated": module.GENERATED,
            "rows": X.shape[0],
            "features": X.shape[1],
            "values": X.size if dense else X.nnz,
            "storage": "dense float32" if dense else "CSR float32",
            "positive": float((y > 0).mean()),
        }
        self.results.setdefault("cells", {})
        self.results.setdefault("convert", {})

    def measure(self, name, C):
        cell = self.results["cells"].setdefault(name, {"C": C, "sweeps": {}})
        missing = [key for key in self.contenders() if key not in cell["sweeps"]]
        if not missing and "rounds" in cell and cell["repeats"] >= self.options.repeats:
            return
        if "reference" not in cell:
            cell["reference"] = measure.reference(self.worker(f"{peers.OURS}/1"), C)
            self.save(cell=name, what="reference")
        dual = cell["reference"]["dual"]
        for key in missing:
            cell.pop("rounds", None)
            cell["sweeps"][key] = self.sweep(key, name, C, dual)
            self.save(cell=name, what=key)
        cell["rounds"] = measure.rounds(cell, self.worker, dual, self.options.repeats)
        cell |= {"repeats": self.options.repeats, "commit": machine.commit()}
        self.save(cell=name, what="rounds")

    def contenders(self):
        """Peers without threads take part with one only."""
        return [
            f"{peer.name}/{threads}"
            for threads in self.options.threads
            for peer in self.peers
            if threads == 1 or peer.threaded
        ]

    def sweep(self, key, cell, C, dual):
        peer = peers.by_name(key.split("/")[0])
        tolerances = peer.tolerances
        if peer.name == peers.OURS and cell != measure.PICTURED:
            tolerances = measure.TARGETS
        try:
            swept = measure.sweep(self.worker(key), peer, C, dual, tolerances)
        except PeerError as error:
            self.workers.pop(key).close()
            print(f"{self.name} {cell} {key}: {error}", file=sys.stderr, flush=True)
            return {"runs": [], "ended": f"failed: {str(error).strip().splitlines()[-1]}"}
        self.results["convert"].setdefault(key, self.worker(key).convert_seconds)
        return swept

    def worker(self, key):
        if key not in self.workers:
            peer_name, threads = key.split("/")
            self.workers[key] = Worker(peer_name, self.folder, int(threads))
        return self.workers[key]

    def save(self, cell, what):
        known = self.results.get("versions", {})
        self.results |= machine.setting(self.peers)
        self.results["versions"] = known | self.results["versions"]
        store.write(self.name, self.results)
        print(f"{time.strftime('%H:%M:%S')} {self.name} {cell}: {what}", flush=True)


def _options():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    names, known = datasets.NAMES, tuple(peers.MODULES)
    parser.add_argument("--data", nargs="+", choices=names, default=None, help="all")
    parser.add_argument("--peers", nargs="+", choices=known, default=known, help="all")
    parser.add_argument("--C", nargs="*", type=float, default=measure.COSTS)
    parser.add_argument("--lam", nargs="*", type=float, default=measure.LAMS)
    parser.add_argument("--threads", nargs="+", type=int, default=(1, 2))
    parser.add_argument("--repeats", type=int, default=None, help="rounds to take medians of: 5")
    parser.add_argument("--quick", action="store_true", help="two small data sets, one round")
    parser.add_argument(
        "--fresh", action="store_true", help="measure the chosen data sets and peers again"
    )
    parser.add_argument("--results", type=Path, default=store.RESULTS, help="folder to write to")
    options = parser.parse_args()
    options.data = options.data or (datasets.QUICK if options.quick else names)
    options.repeats = options.repeats or (1 if options.quick else 5)
    return options


def _runnable(names):
    """The peers that can run here; ours always takes part, since it gives the reference."""
    runnable = []
    for name in dict.fromkeys((peers.OURS, *names)):
        peer = peers.by_name(name)
        reason = peer.available()
        if reason is None:
            runnable.append(peer)
        else:
            print(f"{peer.title}: left out: {reason}", flush=True)
    return runnable


def _forget(name, options):
    """Drop the sweeps of the chosen peers; the others' stay, and all are timed again."""
    results = store.read(name)
    for cell in results.get("cells", {}).values():
        cell.pop("rounds", None)
        if peers.OURS in options.peers:
            cell.pop("reference", None)
        for key in [key for key in cell["sweeps"] if key.split("/")[0] in options.peers]:
            del cell["sweeps"][key]
    if results:
        store.write(name, results)


def _same_versions(name, runnable):
    """Results of two versions must not stand side by side."""
    known = store.read(name).get("versions", {})
    for key, version in machine.versions(runnable).items():
        if known.get(key, version) != version:
            sys.exit(
                f"results/{name}.json was made with {key} {known[key]}, here is {version}: "
                "use --fresh, or remove it"
            )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")
