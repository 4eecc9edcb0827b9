"""Rows on disk against rows in memory: ``python -m benchmarks.large [--rows N] [--folder F]``.

A stand-in of RCV1's shape and size is generated as svmlight text (1.1 GB), trained by ``pegasos
train --memory 300M``, whose anonymous memory is watched from outside, and, from the cache that is
left, by ``solve`` on blocks and in memory, in turn: to 1e-3, and for five epochs, certificates
included. Ratios are of medians. The file is in the page cache, so this is not about disks.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import pegasos
from pegasos.data.cache import Cache
from pegasos.data.chunks import CacheChunks
from pegasos.data.svmlight import write_svmlight
from pegasos.data.synthetic import make_news
from pegasos.sites.chunk_rows import ChunkRows


def watched(command):
    """Seconds, and the most anonymous memory in megabytes, of a command."""
    began, most = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for line in status.splitlines():
            if line.startswith("RssAnon"):
                most = max(most, int(line.split()[1]))
        time.sleep(0.01)
    if process.wait() != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, most / 1024


def timed(X, y, jobs, **limits):
    """Seconds, epochs and the objective of a fit."""
    began = time.perf_counter()
    found = pegasos.solve(X, y, seed=0, n_jobs=jobs, solver="dual", **limits)
    return time.perf_counter() - began, found.epochs, found.certificate.primal


def compared(what, cases, repeats, **limits):
    """All cases in turn; how much longer blocks take."""
    times = {name: [] for name in cases}
    for _ in range(repeats):
        for name, case in cases.items():
            times[name].append(timed(*case, **limits))
    medians = {name: np.median(runs, axis=0) for name, runs in times.items()}
    for name, (seconds, epochs, primal) in medians.items():
        threads = name.split()[1]
        ratio = seconds / medians[f"memory {threads}"][0]
        print(f"{what}, {name}: {seconds:.2f} s, {epochs:.3g} epochs, primal {primal:.6f}; "
              f"{ratio:.2f} times as long as in memory")  # fmt: skip


def main():
    """Generate, train, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=804_414)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        text = folder / "news.svm"
        if not text.exists():
            write_svmlight(*make_news(options.rows), text)
        program = str(Path(sys.executable).with_name("pegasos"))
        train = [program, "train", str(text), str(folder / "model")]
        for what in ("converting", "cached"):
            seconds, most = watched([*train, "--overwrite", "--memory", "300M"])
            print(f"pegasos train --memory 300M, {what}: {seconds:.1f} s, at most {most:.0f} MB")
        cache = Cache(text.with_name("news.svm.cache"))
        size = sum(part[1] for block in cache.manifest.blocks for part in block.ranges.values())
        rows, data = ChunkRows(CacheChunks(cache, size // 128)), cache.read()
        print(f"{len(rows.ranges())} blocks")
        cases = {}
        for jobs in (1, 2):
            cases[f"memory {jobs}"] = data.X, data.y, jobs
            cases[f"blocks {jobs}"] = rows, None, jobs
        compared("five epochs", cases, options.repeats, C=1.0, tol=0, max_epochs=5)
        for C in (1.0, 10.0):
            compared(f"to 1e-3, C = {C:g}", cases, options.repeats, C=C, tol=1e-3)


if __name__ == "__main__":
    main()
