"""Numbers of any size: a finite model and a proof that holds, or a warning, or a named error."""

from __future__ import annotations

import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.hardening.campaign import Campaign

import pegasos

SCALES = (1e-310, 1e-200, 1e-100, 1e-20, 1.0, 1e20, 1e100, 1e200, 1e300)
LAMS = (1e-12, 1e-6, 1e-4, 1e-2, 1.0, 1e6)
SHAPES = ("plain", "zero rows", "duplicates", "one huge row", "one row", "one class",
          "constant column", "wide")  # fmt: skip
SOLVERS = ("pegasos", "sgdr", "sgds", "sgdm", "dual", "newton", "interior", "auto")
TYPES = tuple(itertools.product(("dense", "csr"), (np.float32, np.float64)))
_EPOCHS = 30
_MOST = 10.0  # times what the same takes on plain numbers

CELLS = tuple(itertools.product(SHAPES, SCALES, LAMS, TYPES, SOLVERS))


def rows_of(shape: str, scale: float) -> tuple[Any, Any]:
    """Rows and labels of that shape."""
    rng = np.random.default_rng(SHAPES.index(shape))
    n, d = {"one row": (1, 4), "wide": (20, 400)}.get(shape, (60, 5))
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if shape == "zero rows":
        X[::3] = 0
    elif shape == "duplicates":
        X, y = np.repeat(X[:6], 10, axis=0), np.repeat(y[:6], 10)
        y[::7] *= -1
    elif shape == "one class":
        y[:] = 1.0
    elif shape == "constant column":
        X[:, 1] = 1.0
    X *= scale
    if shape == "one huge row":
        X[7] = 1e200
    return X, y


def objective_bounds(X: Any, y: Any, lam: float, w: Any, b: float, a: Any) -> tuple[float, float]:
    """P and D in extended precision, by the formulas alone; rows as they were given."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X).astype(np.longdouble)
    w, a = np.asarray(w, dtype=np.longdouble), np.asarray(a, dtype=np.longdouble)
    n, lam = np.longdouble(len(y)), np.longdouble(lam)
    primal = lam / 2 * (w @ w) + np.maximum(0, 1 - y * (X @ w + b)).sum() / n
    v = (a * y) @ X / (lam * n)
    return float(primal), float(a.sum() / n - lam / 2 * (v @ v))


def _case(base: dict[Any, float], number: int) -> None:
    """One cell of the grid, in an order that mixes them."""
    cell = CELLS[number * 7919 % len(CELLS)]
    shape, scale, lam, (layout, dtype), solver = cell
    X, y = rows_of(shape, scale)
    with np.errstate(over="ignore", under="ignore"):
        X = X.astype(dtype)
    rows = sparse.csr_array(X) if layout == "csr" else X
    key = (shape, layout, dtype, solver)
    if key not in base:
        usual = shape not in ("one huge row", "one row", "one class")
        plain, signs = rows_of(shape if usual else "plain", 1.0)
        plain = plain.astype(dtype)
        plain = sparse.csr_array(plain) if layout == "csr" else plain
        base[key] = max(_fit(plain, signs, one, solver)[1] for one in (1e-4, 1e-6))
    try:
        result, seconds = _fit(rows, y, lam, solver)
    except (ValueError, ArithmeticError, MemoryError) as error:
        words = str(error)
        named = ("X ", "lam", "two classes", "scale", "finite", "overflow")
        assert any(name in words for name in named), words
        return
    assert np.isfinite(result.w).all(), "the model is not finite"
    assert np.isfinite(result.b).all(), "the intercept is not finite"
    certificate = result.certificate
    assert (certificate.primal >= 0).all(), "P is negative, or no number"
    assert (certificate.dual >= 0).all(), "D is negative, or no number"
    _confirm(rows, y, lam, result)
    limit = _MOST * max(base[key], 0.02)
    if seconds > limit:  # another try: the machine may have been busy
        seconds = min(seconds, _fit(rows, y, lam, solver)[1])
    assert seconds <= limit, f"{seconds:.3g} s, on plain numbers {base[key]:.3g} s"


def _confirm(rows: Any, y: Any, lam: float, result: Any) -> None:
    """P and D of the returned model and duals, computed by other means."""
    a = np.asarray(result.duals)[:, 0]
    assert (a >= 0).all(), "negative duals"
    assert (a <= 1).all(), "duals outside of the box"
    with np.errstate(all="ignore"):
        primal, dual = objective_bounds(rows, y, lam, result.w.ravel(), 0.0, a)
    if not np.isfinite(primal) or not np.isfinite(dual):
        return  # beyond extended precision, too
    told = result.certificate.lane(0)
    slack = 1e-9 * max(abs(primal), 1e-300) + float(told.rounding)
    assert told.primal >= primal - slack, f"P is {primal}, told {told.primal}"
    assert told.dual <= primal + slack, f"D is told {told.dual}, above P = {primal}"
    assert dual <= told.primal + slack, f"D is {dual}, above P told {told.primal}"
    if result.stop_reason == "converged":
        gap = told.primal - told.dual
        assert gap <= 1.001e-3 * told.dual + 1e-300, "converged, but not proven"


def _fit(rows: Any, y: Any, lam: float, solver: str) -> tuple[Any, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        result = pegasos.solve(
            rows,
            y[:, None],
            lam=lam,
            solver=solver,
            intercept="none",
            max_epochs=_EPOCHS,
            seed=0,
            n_jobs=1,
        )
        return result, time.process_time() - began


def campaigns() -> list[Campaign]:
    """One."""
    return [
        Campaign(
            "numbers", "scale x lam x shape x layout x type x solver: finite, and proven or told",
            start=_start, case=_case, quick=300, full=len(CELLS), counted=lambda: len(CELLS),
            cpu_seconds=30.0,
        ),
    ]  # fmt: skip


def _start(_: Path) -> dict[Any, float]:
    return {}
