"""Rows on a device, or on their way to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.rows import Rows
from pegasos.sites.device.csr import CsrRows
from pegasos.sites.device.products import AnyRows, squared_norms
from pegasos.sites.device.stream import Stream


@dataclass(frozen=True)
class DeviceRows(Rows):
    """Rows, none of which is in the core's."""

    _: KW_ONLY
    source: Tensor | CsrRows | Stream  # (n, d)
    norms: Tensor  # (n,) |x|^2 in float64, the constant feature included; ``squared_norms`` has
    worst: int  # the largest of them alone, that of this row

    @property
    def resident(self) -> bool:
        """Whether all rows are on the device."""
        return not isinstance(self.source, Stream)

    def largest(self) -> int:
        """The row with the largest norm."""
        return self.worst

    def visit(self) -> Iterator[tuple[int, int, Any]]:
        """All rows, in one block or in several: (lo, hi, the rows)."""
        if isinstance(self.source, Stream):
            yield from self.source.visit()
            return
        yield 0, self.n, self.source


def device_rows(source: Tensor | CsrRows | Stream, bias: float) -> DeviceRows:
    """Check the rows and take their norms; raises for values that are no finite numbers."""
    n, d = source.shape
    if n < 1 or d < 1:
        raise ValueError(f"X has no rows or no columns: its shape is ({n}, {d})")
    blocks = source.visit() if isinstance(source, Stream) else [(0, n, source)]
    norms, worst, largest = [], 0, -1.0
    for lo, _, X in blocks:
        found, row, most = _norms(X, lo, bias)
        norms.append(found)
        if most > largest:
            worst, largest = row, most
    every = norms[0] if len(norms) == 1 else torch.cat(norms)
    size, longest, index = float(d), d, 0
    if isinstance(source, CsrRows):
        size, longest, index = len(source.values) / n, int(source.starts.diff().max()), 8
    size_in_bytes = size * float(source.dtype.itemsize + index)
    core = _core.Rows.dense(np.broadcast_to(np.zeros((1, d)), (n, d)), bias)  # takes no memory
    return DeviceRows(
        core, np.array([largest]), size, size_in_bytes, longest, None, source=source, norms=every,
        worst=worst,
    )  # fmt: skip


def _norms(X: AnyRows, first: int, bias: float) -> tuple[Tensor, int, float]:
    """Norms, the number of the row with the largest, and that."""
    norms = squared_norms(X)
    if bias:
        norms += bias**2
    value, at = norms.max(0)
    largest, worst = torch.stack([value, at.double()]).tolist()  # asked for once
    if not math.isfinite(largest):
        row = int((~torch.isfinite(norms)).nonzero()[0])
        here = X[row : row + 1]
        values = here.to_dense()[0] if isinstance(here, CsrRows) else here[0]
        wrong = (~torch.isfinite(values)).nonzero()
        if len(wrong):
            raise ValueError(
                f"X contains NaN or infinity (inf) at row {first + row}, column {int(wrong[0])}"
            )
        raise ValueError(
            f"X is too large for float64: the squared norm of row {first + row} overflows; scale "
            "the features"
        )
    return norms, first + int(worst), largest
