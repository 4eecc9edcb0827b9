"""Subnormal numbers, at most three times as slow; and the processor as it was found."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.hardening.campaign import Campaign

import pegasos

SOLVERS = ("pegasos", "sgdr", "sgds", "sgdm", "dual", "newton", "interior")
CELLS = [(solver, csr, dtype) for solver in SOLVERS for csr in (False, True)
         for dtype in (np.float32, np.float64)]  # fmt: skip
_SUBNORMAL = {np.float32: 1e-41, np.float64: 1e-310}


def start(_: Path) -> Any:
    """Rows of which a fit takes a while."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30))
    return X, np.where(X[:, 0] > 0, 1, -1)


def slower(data: Any, number: int) -> float:
    """How many times the time it takes with subnormal values."""
    X, y = data
    solver, csr, dtype = CELLS[number % len(CELLS)]
    seconds = []
    for scale in (1.0, _SUBNORMAL[dtype]):
        rows = (X * scale).astype(dtype)
        assert (rows != 0).any()
        kept = sparse.csr_array(rows) if csr else rows
        seconds.append(min(_seconds(kept, y, solver) for _ in range(5)))
    return seconds[1] / seconds[0]


def _seconds(rows: Any, y: Any, solver: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        pegasos.solve(rows, y, C=1.0, tol=1e-9, solver=solver, max_epochs=10, n_jobs=1,
                      intercept="none", seed=0)  # fmt: skip
        return time.perf_counter() - began


def control() -> bytes:
    """The control word of the x87 unit, and that of SSE without its flags."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    environment = (ctypes.c_uint8 * 64)()
    assert library.fegetenv(environment) == 0
    found = bytes(environment)
    mxcsr = int.from_bytes(found[28:32], "little") & ~0x3F
    return found[:2] + mxcsr.to_bytes(4, "little")


def unchanged(data: Any, number: int) -> None:
    """Rounding, flushing and traps are as before: here, and in a thread."""
    X, y = data
    solver = SOLVERS[number % len(SOLVERS)]
    before = control() if platform.machine() == "x86_64" else b""
    elsewhere: list[bytes] = []

    def fit(jobs: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pegasos.solve(X * 1e-300, y, C=1.0, solver=solver, max_epochs=2, n_jobs=jobs, seed=0)
        elsewhere.append(control() if before else b"")

    for jobs in (1, 2):
        fit(jobs)
        thread = threading.Thread(target=fit, args=(jobs,))
        thread.start()
        thread.join()
    assert set(elsewhere) == {before}, "the control word is another"
    assert np.float64(5e-324) * 1.0 != 0, "subnormal numbers are flushed"


def campaigns() -> list[Campaign]:
    """Two."""
    return [
        Campaign(
            "subnormal", "subnormal values: at most 3 times as slow", start=start, case=slower,
            quick=3, full=len(CELLS), counted=lambda: len(CELLS), cpu_seconds=60.0, most_above=3.0,
        ),
        Campaign(
            "control-word", "the floating-point control word after import and fits: as it was",
            start=start, case=unchanged, quick=7, full=28, counted=lambda: 28, cpu_seconds=60.0,
        ),
    ]  # fmt: skip
