"""Number types, samples of rows, phases of several ranges, and caches."""

import tempfile
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.same_bits.fits import LOSSES, SOLVERS, solved
from benchmarks.same_bits.toys import FEATURES, SAMPLED, SITES, Blocks, toy
from pegasos.data.chunks import CacheChunks, spill

KINDS = ("float32", "int8", "uint8")
SAMPLED_ENDS = tuple(range(0, SAMPLED[0] + 1, 2176))
LONG = 1_000_000, 56  # several ranges in each phase
WIDE = 30_000, 300  # several ranges of the matrix
WIDE_SPARSE = 30_000, 240


def shapes():
    for k, (solver, kind) in enumerate(product(SOLVERS, KINDS)):
        rows, lanes = ("dense", "one lane") if k % 2 else ("csr", "lanes")
        data = toy(rows, kind=kind)
        labels = data.labels(lanes)
        name = f"{solver} {rows} {kind} {lanes}"
        yield name, partial(solved, data.X, labels, solver=solver, lam=1e-2)
    for solver in SOLVERS:
        yield f"{solver} csr int64 indices", partial(_with_indices, np.int64, solver)
        by_column = np.asfortranarray(toy().X)
        yield f"{solver} dense by column", partial(solved, by_column, toy().signs, solver=solver)
        for rows in FEATURES:
            yield f"{solver} {rows} cache", partial(_of_cache, toy(rows), solver)
    for solver, rows, loss, site in product(("newton", "auto"), FEATURES, LOSSES, SITES):
        threads = 1 if (rows == "dense") == (loss == "hinge") else 2
        intercept = ("none", "free")[(rows == "dense") ^ (site == "disk")]
        options = {"solver": solver, "loss": loss, "n_jobs": threads, "intercept": intercept}
        name = f"{solver} {loss} {intercept} {rows} {threads} threads {site} sampled"
        yield name, partial(_sampled, rows, site, **options)
    for solver, threads in product(("newton", "interior", "dual", "sgds"), (1, 2)):
        long = {"solver": solver, "n_jobs": threads, "max_epochs": 3, "tol": 1e-4}
        yield f"{solver} {threads} threads, ranges of rows", partial(_large, LONG, "int8", **long)
        if solver in ("newton", "interior"):
            wide = long | {"intercept": "free"}
            name = f"{solver} {threads} threads, ranges of the matrix"
            yield f"{name} dense", partial(_large, WIDE, "float32", **wide)
            yield f"{name} csr", partial(_large, WIDE_SPARSE, "float32", "csr", **wide)


def _with_indices(kind, solver):
    X = toy("csr").X.copy()
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    return solved(X, toy("csr").y, solver=solver)


def _of_cache(data, solver):
    """Blocks of a memory-mapped cache."""
    with tempfile.TemporaryDirectory(prefix="pegasos-bits-") as folder:
        cache = spill([(data.X, data.y, data.weight)], Path(folder) / "rows").cache
        size = data.X.data.nbytes // 6
        chunks = CacheChunks(cache, block_bytes=size)
        if chunks.n_blocks < 3:
            raise RuntimeError(f"{chunks.n_blocks} blocks are too few")
        return solved(chunks, None, solver=solver)


def _sampled(rows, site, **options):
    data = toy(rows, *SAMPLED)
    X = data.X if site == "memory" else Blocks(data.X, data.y, None, SAMPLED_ENDS)
    return solved(X, data.y, **options)


def _large(shape, kind, rows="dense", **options):
    data = toy(rows, *shape, kind)
    return solved(data.X, data.y, **options)
