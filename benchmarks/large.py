"""Rows on disk against rows in memory: ``python -m benchmarks.large [--rows N] [--folder F]``.

A stand-in of RCV1's shape and size is generated as svmlight text (1.1 GB), trained by ``pegasos
train --memory 300M``, whose anonymous memory is watched from outside, and, from the cache that is
left, by ``solve`` on blocks and in memory, in turn. Ratios are of medians.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import pegasos
from pegasos.chunk_rows import ChunkRows
from pegasos.data.cache import Cache
from pegasos.data.chunks import CacheChunks
from pegasos.data.svmlight import write_svmlight
from pegasos.data.synthetic import make_news


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


def timed(X, y, jobs):
    """Seconds, epochs and the objective of a fit."""
    began = time.perf_counter()
    found = pegasos.solve(X, y, C=1.0, tol=1e-3, seed=0, n_jobs=jobs)
    return time.perf_counter() - began, found.epochs, found.certificate.primal


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
        cache = Cache.open(text.with_name("news.svm.cache"))
        rows, data = ChunkRows(CacheChunks(cache)), cache.read()
        cases = {
            "blocks": (rows, None, 1),
            "memory": (data.X, data.y, 1),
            "two": (data.X, data.y, 2),
        }
        times = {name: [] for name in cases}
        for _ in range(options.repeats):
            for name, case in cases.items():
                seconds, epochs, primal = timed(*case)
                times[name].append((seconds, epochs, primal))
        medians = {name: np.median(runs, axis=0) for name, runs in times.items()}
        for name, (seconds, epochs, primal) in medians.items():
            ratio = medians["blocks"][0] / seconds
            print(f"{name}: {seconds:.2f} s, {epochs:.3g} epochs, primal {primal:.6f}; "
                  f"blocks take {ratio:.2f} times as long")  # fmt: skip
        print(f"{len(rows.ranges())} blocks")


if __name__ == "__main__":
    main()
