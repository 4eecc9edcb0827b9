"""The same bits: over runs, threads and lengths of slices; of fits side by side; after forks."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.hardening.campaign import Campaign, drawn

import pegasos
from pegasos.run import schedule

THREADS = (1, 2, 3, 8)
SOLVERS = ("pegasos", "sgdr", "sgds", "sgdm", "dual", "newton", "interior")
ESTIMATORS = ("ovr", "ovo", "crammer_singer", "cv", "svc")
RUNS = 20


@dataclass
class Data:
    """Rows, labels, and the bits that were found first."""

    X: Any
    rows: Any
    y: Any
    classes: Any
    found: dict[Any, str] = field(default_factory=dict)


def start(_: Path) -> Data:
    """Enough rows for several threads to pay."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 40))
    rows = sparse.csr_array(X * (rng.random(X.shape) < 0.3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(4000) > 0, 1, -1)
    return Data(X, rows, y, rng.integers(3, size=4000))


def bits(data: Data, what: str, csr: bool, jobs: int) -> str:
    """SHA-256 of a model."""
    X = data.rows if csr else data.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what in SOLVERS:
            result = pegasos.solve(
                X, data.y, C=1.0, tol=1e-4, solver=what, max_epochs=20, seed=1, n_jobs=jobs,
                intercept="none",
            )  # fmt: skip
            parts = [result.w, result.duals]
        elif what == "cv":
            model = pegasos.LinearSVCCV(Cs=[0.1, 1.0], cv=2, n_jobs=jobs, random_state=0)
            parts = [model.fit(X[:1000], data.classes[:1000]).coef_]
        elif what == "svc":
            parts = [pegasos.SVC(n_jobs=jobs).fit(X[:800], data.y[:800]).dual_coef_]
        else:
            model = pegasos.LinearSVC(multi_class=what, max_iter=20, n_jobs=jobs, random_state=0)
            parts = [model.fit(X, data.classes).coef_]
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def _cells() -> list[tuple[str, bool, int]]:
    return [(what, csr, jobs) for what in (*SOLVERS, *ESTIMATORS) for csr in (False, True)
            for jobs in THREADS]  # fmt: skip


def run_again(data: Data, number: int) -> None:
    """One more run of a cell: with slices of any length, the same bits."""
    cells = _cells()
    cell = cells[number % len(cells)]
    with _slices(drawn("bits", number)):
        found = bits(data, *cell)
    assert data.found.setdefault(cell, found) == found, f"other bits: {cell}"


@contextmanager
def _slices(rng: np.random.Generator) -> Iterator[None]:
    """Pauses at random rows."""
    plain = schedule.next_slice, schedule.first_slice

    def any_length(*_: Any) -> int:
        return int(10 ** rng.uniform(0, 5))

    schedule.next_slice = schedule.first_slice = any_length
    try:
        yield
    finally:
        schedule.next_slice, schedule.first_slice = plain


def side_by_side(data: Data, number: int) -> None:
    """Fits in eight threads on one X find what each finds alone."""
    rng = drawn("side by side", number)
    cells = [_cells()[rng.integers(len(_cells()))] for _ in range(8)]
    alone = [bits(data, *cell) for cell in cells]
    found: list[str | None] = [None] * 8

    def fit(k: int) -> None:
        found[k] = bits(data, *cells[k])

    workers = [threading.Thread(target=fit, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == alone, [cell for cell, one, two in zip(cells, found, alone, strict=True)
                            if one != two]  # fmt: skip


def fork(data: Data, number: int) -> None:
    """A child that was forked after a fit with threads fits, too, and finds the same."""
    rng = drawn("fork", number)
    cell = ("sgds", "dual", "newton", "ovr")[rng.integers(4)], bool(rng.integers(2)), 2
    expected = bits(data, *cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's, of forks while there are threads
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if bits(data, *cell) == expected else 1)
        except BaseException:
            os._exit(2)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def campaigns() -> list[Campaign]:
    """Three."""
    cells = len(_cells())
    return [
        Campaign(
            "bits", "the same seed and threads (1, 2, 3, 8), slices of any length: the same bits",
            start=start, case=run_again, quick=2 * cells, full=RUNS * cells, cpu_seconds=60.0,
        ),
        Campaign(
            "side-by-side", "eight fits at once on one X: the bits of each alone",
            start=start, case=side_by_side, quick=2, full=50, cpu_seconds=120.0,
        ),
        Campaign(
            "forks", "fits in children forked after fits with threads: no hang, the same bits",
            start=start, case=fork, quick=12, full=200, cpu_seconds=60.0,
        ),
    ]  # fmt: skip
