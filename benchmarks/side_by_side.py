"""Is one checkout slower than another? Both are timed in one run, in turn.

    PEGASOS_DATA=folder python -m benchmarks.side_by_side --old ../before --new .

A cell is a data set, a strength of regularization and a number of threads, as in the benchmark
against peers; ``auto`` trains it to a certified 1e-3. For each, three processes hold the data: one
of the new checkout, two of the old one, each with the checkout's own ``.venv/bin/python``. In every
round each of them fits, in an order that rotates. Ratios are taken round by round, so that what the
machine does to all three cancels; their medians are printed. A cell is marked where new/old is more
than 3% above what the two old processes differ by. The exit code is 1 if one is.

Build both checkouts first. Nothing else should run on the machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pegasos
from benchmarks import datasets, machine, measure, peers
from benchmarks.arrays import load_rows, save_rows
from benchmarks.worker import thread_environment

TOL = 1e-3
ALLOWED = 1.03  # new/old, beyond what two runs of the old one differ by
LEAST_SECONDS = 0.2  # that an answer takes: a quick fit is repeated, and its median counts
ROOT = Path(__file__).parents[1]
ROLES = ("old", "new", "again")


def main():
    options = _options()
    results = machine.setting() | {"rounds": options.rounds, "cells": {}}
    try:
        for name, threads, cells in _chosen(options):
            for cell, C, times in _timed(name, threads, cells, options):
                results["cells"][cell] = judged(times) | {"C": C, "times": times}
                print(_line(cell, results["cells"][cell]), flush=True)
                if options.json is not None:
                    options.json.write_text(json.dumps(results, indent=1) + "\n")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    if not results["cells"]:
        sys.exit("no cell was timed")
    slower = [cell for cell, found in results["cells"].items() if found["slower"]]
    print(f"{len(slower)} of {len(results['cells'])} cells slower: {', '.join(slower) or 'none'}")
    sys.exit(1 if slower else 0)


def judged(times):
    """Medians of ratios taken round by round, and whether the new one is slower."""
    new, again = (
        median(a / b for a, b in zip(times[role], times["old"], strict=True))
        for role in ("new", "again")
    )
    noise = max(again, 1 / again)
    old = median(times["old"])
    return {"old": old, "new/old": new, "again/old": again, "slower": new > ALLOWED * noise}


def _line(cell, found):
    return (
        f"{cell:40} old {found['old']:8.4f} s  new/old {found['new/old']:6.3f}  "
        f"old again/old {found['again/old']:6.3f}{'  SLOWER' if found['slower'] else ''}"
    )


def _chosen(options):
    """(data set, threads, strengths) of the cells whose names have ``only`` in them."""
    for name in datasets.NAMES:
        for threads in options.threads:
            names = {cell: _named(name, cell, threads) for cell in measure.cells(1)}
            chosen = [cell for cell, whole in names.items() if options.only in whole]
            if chosen:
                yield name, threads, chosen


def _named(name, cell, threads):
    return f"{name} {cell} {threads} thread{'s' * (threads > 1)}"


def _timed(name, threads, cells, options):
    """(cell, C, times by role) of the cells of a data set; three processes hold it."""
    try:
        X, y = datasets.module(name).load()
    except datasets.MissingError as missing:
        print(f"{name}: skipped: {missing}", file=sys.stderr)
        return
    costs = measure.cells(y.size)
    with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
        save_rows(folder, X, y)
        del X
        trees = {"old": options.old, "new": options.new, "again": options.old}
        asked = {}
        try:
            for role in ROLES:
                asked[role] = Asked(trees[role], folder, threads)
            for cell in cells:
                yield _named(name, cell, threads), costs[cell], _rounds(asked, costs[cell], options)
        finally:
            for process in asked.values():
                process.end()


def _rounds(asked, C, options):
    times = {role: [] for role in ROLES}
    for turn in range(options.rounds + 1):  # the first one warms up
        first = turn % len(ROLES)
        for role in ROLES[first:] + ROLES[:first]:
            seconds = asked[role].fit(C)
            if turn:
                times[role].append(seconds)
    return times


class Asked:
    """A process of a checkout that holds the data and fits when asked to."""

    def __init__(self, tree, folder, threads):
        # ``benchmarks`` is this one for all; ``pegasos`` is what the checkout's Python has.
        program = [tree / ".venv/bin/python", "-P", "-m", "benchmarks.side_by_side"]
        arguments = [*program, "--serve", folder, "--threads", threads]
        with thread_environment(threads):
            self.process = subprocess.Popen(
                [*map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=tree,
            )  # fmt: skip
        used = Path(self._answer())
        if not used.is_relative_to(tree):
            self.end()
            sys.exit(f"{tree}/.venv uses the pegasos of {used}: build it in {tree}")

    def fit(self, C):
        """Seconds of a fit."""
        self.process.stdin.write(f"{C!r}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.end()
            sys.exit("a process ended without an answer; what it said is above")
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()


def _serve(folder, threads):
    """Answer where ``pegasos`` is; then, for every C that is read, with seconds."""
    ours = peers.by_name(peers.OURS)
    data = ours.convert(*load_rows(folder))
    print(json.dumps(pegasos.__file__), flush=True)
    for line in sys.stdin:
        C, seconds, began = float(line), [], time.perf_counter()
        while time.perf_counter() - began < LEAST_SECONDS:
            start = time.perf_counter()
            fit = ours.fit(data, C, TOL, threads)
            seconds.append(time.perf_counter() - start)
            if not fit.gap <= TOL:
                sys.exit(f"C={C:g}: not certified within {TOL:g}: {fit.gap:g}")
        print(json.dumps(median(seconds)), flush=True)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, metavar="CHECKOUT")
    parser.add_argument("--new", type=Path, metavar="CHECKOUT")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a cell's name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--json", type=Path, metavar="FILE", help="to write all times to")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is None and None in (options.old, options.new):
        parser.error("give --old and --new")
    if options.serve is None:
        options.old, options.new = options.old.resolve(), options.new.resolve()
    return options


if __name__ == "__main__":
    given = _options()
    if given.serve is None:
        main()
    else:
        _serve(given.serve, given.threads[0])
