"""Some of the rows of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pegasos.data.dataset import Data

VALUES = 1 << 20
"""Stored values in a slice, about."""


def slices(data: Data, rows: int | None = None) -> Iterator[Data]:
    """All rows in order, ``rows`` at a time; None: about ``VALUES`` stored values."""
    n, d = data.X.shape
    if rows is None:
        stored = max(getattr(data.X, "nnz", n * d), n, 1)
        rows = max(1, VALUES * n // stored)
    if rows >= n:
        yield data
        return
    for lo in range(0, n, rows):
        yield take(data, lo, min(n, lo + rows))


def take(data: Data, lo: int, hi: int) -> Data:
    """The rows from ``lo`` to ``hi``; what was skipped and noted stays with the first."""
    found = {name: getattr(data, name) for name in ("X", "y", "sample_weight", "qid", "text")}
    part: dict[str, Any] = {
        name: None if value is None else value[lo:hi] for name, value in found.items()
    }
    return replace(data, **part) if lo == 0 else replace(data, **part, bad_lines=(), bad_count=0)
