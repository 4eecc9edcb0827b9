"""Files: the svmlight reader and the command line against those of others.

    PEGASOS_DATA=folder python -m benchmarks.reading [--rounds 7]

On the RCV1 subset as text: reading it (ours on one and two threads, scikit-learn, and LIBLINEAR's
own program where it is found as liblinear-train or by LIBLINEAR_TRAIN: told to stop at once, its
process and one pass included); training from the file to the model, as processes; predicting
against reading; scoring in memory against SciPy. Interleaved, medians. Writes results/reading.json
and results/reading.md.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks import machine, store
from benchmarks.datasets import real_file
from pegasos.cli.app import make_app
from pegasos.data import read
from pegasos.rows import products

PEGASOS = [sys.executable, "-c", "from pegasos.cli.app import main; main()"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
        path = Path(folder) / "rcv1.svm"
        with gzip.open(real_file("rcv1_ccat_subset.svm.gz")) as packed, path.open("wb") as text:
            shutil.copyfileobj(packed, text)
        lines = [*_equal(path), *_times(path, options.rounds)]
    print("\n".join(lines))
    results = {"lines": lines, "commit": machine.commit()} | machine.setting()
    store.write("reading", results)
    head = ["# Reading files", "", "    python -m benchmarks.reading", ""]
    store.write_text(
        "reading.md", "\n".join([*head, machine.show(results, [results]), "", *lines]) + "\n"
    )


def _equal(path):
    """The arrays are scikit-learn's, to the bit."""
    ours, (X, y) = read(path), load_svmlight_file(str(path))
    same = (
        np.array_equal(ours.X.data, X.data)
        and np.array_equal(ours.X.indices, X.indices)
        and np.array_equal(ours.X.indptr, X.indptr)
        and np.array_equal(ours.y, y)
    )
    assert same
    megabytes = path.stat().st_size / 1e6
    return [f"RCV1 subset, {megabytes:.0f} MB of text; arrays equal to scikit-learn's: {same}", ""]


def _times(path, rounds):
    model, out = path.with_name("model"), path.with_name("out")
    data = read(path)
    w = np.random.default_rng(0).normal(size=(1, data.X.shape[1]))
    app = make_app()
    works = {
        "read, two threads": lambda: read(path, threads=2),
        "read, one thread": lambda: read(path, threads=1),
        "read, scikit-learn": lambda: load_svmlight_file(str(path)),
        "train, the process": lambda: _run([*PEGASOS, "train", path, model, "-q", "--overwrite"]),
        "train, Python running": lambda: _call(app, "train", path, model, "-q", "--overwrite"),
        "predict, Python running": lambda: _call(
            app, "predict", model, path, out, "-q", "--overwrite"
        ),
        "score, ours": lambda: products(data.X, w),
        "score, SciPy": lambda: data.X @ w[0],
    }
    program = os.environ.get("LIBLINEAR_TRAIN") or shutil.which("liblinear-train")
    if program:
        theirs = path.with_name("liblinear")
        quick = [program, "-q", "-s", "3", "-c", "1e-12", "-e", "1e9", path, theirs]
        works["read, LIBLINEAR"] = lambda: _run(quick)
        works["train, LIBLINEAR -s 3"] = lambda: _run([program, "-q", "-s", "3", path, theirs])
    times = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - began)
    seconds = {name: median(all_of) for name, all_of in times.items()}
    return [*_table(seconds), "", *_ratios(seconds)]


def _table(seconds):
    rows = [f"| {name} | {1000 * spent:.1f} |" for name, spent in seconds.items()]
    return ["|  | ms |", "|---|---|", *rows]


def _ratios(seconds):
    pairs = [
        ("read, scikit-learn", "read, two threads", 15),
        ("read, LIBLINEAR", "read, two threads", 4),
        ("train, LIBLINEAR -s 3", "train, the process", 1),
        ("train, LIBLINEAR -s 3", "train, Python running", 3),
        ("score, SciPy", "score, ours", 1),
        ("read, two threads", "predict, Python running", 0.5),
    ]
    rows = [
        f"| {a} / {b} | {seconds[a] / seconds[b]:.2f} | {asked} |"
        for a, b, asked in pairs
        if a in seconds
    ]
    return ["| times as long | ratio | asked for |", "|---|---|---|", *rows]


def _run(command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def _call(app, *arguments):
    """A command in this process; what it prints is not shown."""
    kept, code = sys.stdout, 0
    with open(os.devnull, "w") as sys.stdout:
        try:
            app([str(one) for one in arguments])
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout = kept
    if code != 0:
        raise RuntimeError(f"exit code {code} of {arguments}")


if __name__ == "__main__":
    main()
