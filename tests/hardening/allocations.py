"""Memory that runs out in the core, at every allocation: MemoryError, nothing lost, no crash."""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.hardening.campaign import NO_CASE, Campaign

import pegasos
from pegasos import _core
from pegasos.data import read
from pegasos.data.svmlight import write_svmlight

_SOLVERS = ("pegasos", "sgds", "dual", "newton", "interior")


@dataclass
class Calls:
    """Calls into the core, and the library that counts their allocations."""

    calls: list[Callable[[], Any]]
    right: list[bytes]  # what each finds
    library: Any


def start(folder: Path) -> Calls:
    """Every call is made once, so that what is allocated once is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    rows = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    y, three = np.where(X[:, 0] > 0, 1, -1), rng.integers(3, size=300)
    file = folder / "a.svm"
    write_svmlight(rows, y, file)

    def fit(X: Any, solver: str, jobs: int) -> Callable[[], Any]:
        def call() -> Any:
            return pegasos.solve(
                X, y, C=1.0, solver=solver, max_epochs=3, seed=0, n_jobs=jobs, intercept="none"
            )

        return call

    calls: list[Callable[[], Any]] = [
        fit(which, solver, jobs) for which in (X, rows) for solver in _SOLVERS for jobs in (1, 2)
    ]
    calls += [
        lambda: pegasos.LinearSVC(C=1.0, max_iter=3).fit(rows, three),
        lambda: pegasos.LinearSVC(multi_class="crammer_singer", max_iter=3).fit(rows, three),
        lambda: pegasos.SVC(C=1.0, max_iter=100).fit(X[:100], y[:100]),
        lambda: read(file),
        lambda: write_svmlight(rows, y, folder / "b.svm", overwrite=True),
        lambda: fitted.decision_function(rows),
        lambda: pegasos.certify(rows, y, np.zeros(8), 0.0, np.zeros(300), C=1.0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = pegasos.LinearSVC(C=1.0, max_iter=3).fit(rows, three)
        right = [found_by(call()) for call in calls]
    library = ctypes.CDLL(None)
    library.memory_watch.argtypes = [ctypes.c_void_p]
    library.memory_count.restype = library.memory_live.restype = ctypes.c_long
    core = ctypes.CDLL(_core.__file__)
    library.memory_watch(ctypes.cast(core.PyInit__core, ctypes.c_void_p))
    return Calls(calls, right, library)


def found_by(result: Any) -> bytes:
    """The bits of what a call returns."""
    if hasattr(result, "w"):
        return bytes(np.asarray(result.w).tobytes())
    if hasattr(result, "coef_"):
        return bytes(np.asarray(result.coef_).tobytes())
    return b""


def case(calls: Calls, number: int) -> Any:
    """One call, with one allocation that fails."""
    at, which = divmod(number, len(calls.calls))
    library, call = calls.library, calls.calls[which]
    before, raised = library.memory_live(), False
    library.memory_arm(at + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = found_by(call())
        except MemoryError:
            raised = True
        struck = library.memory_struck()
        library.memory_arm(0)
        if not raised and not struck:
            return NO_CASE  # it has not so many allocations
        if not raised:  # where there is no memory for a thread, the caller does its work
            assert found == calls.right[which], "an allocation failed, and nobody was told"
            return None
        gc.collect()
        lost = library.memory_live() - before
        assert lost <= 0, f"{lost} allocations are lost"
        call()  # as if nothing had been
    return None


def campaigns() -> list[Campaign]:
    """One."""
    return [
        Campaign(
            "memory", "the Nth allocation of the core fails: MemoryError, nothing leaks",
            start=start, case=case, quick=60, full=3000, preload="memory.cpp", cpu_seconds=20.0,
        ),
    ]  # fmt: skip
