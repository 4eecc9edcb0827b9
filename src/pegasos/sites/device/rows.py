"""Rows from anywhere, on a device or on their way to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pegasos import _core
from pegasos.rows import NotFiniteError, Rows
from pegasos.sites import Blocks
from pegasos.sites.device.arrays import device_of, rows_tensor
from pegasos.sites.device.csr import CsrRows, csr_rows
from pegasos.sites.device.products import AnyRows, squared_norms
from pegasos.sites.device.stream import Stream
from pegasos.util import sparse

BLOCK_BYTES = 1 << 29
"""Of a block that is copied to the device."""

_ROW_BYTES = 300  # of variables, for each row of a lane
_SHARE = 0.7  # of the memory that is free


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
            column = int(wrong[0])
            raise NotFiniteError(float(values[column]), first + row, column)
        raise ValueError(
            f"X is too large for float64: the squared norm of row {first + row} overflows; scale "
            "the features"
        )
    return norms, first + int(worst), largest


def rows_on_device(X: Any, device: Any, bias: float) -> tuple[DeviceRows, torch.device]:
    """X on its device, or streamed to it if it does not fit; checked."""
    if isinstance(X, Blocks):
        here = device_of(None, device)
        return device_rows(_of_blocks(X, here), bias), here
    if sparse.issparse(X):
        here = device_of(None, device)
        return device_rows(csr_rows(X).to(here), bias), here
    here = device_of(X, device)
    tensor = rows_tensor(X)
    return device_rows(_brought(tensor, here), bias), here


def _brought(X: Tensor, device: torch.device) -> Tensor | Stream:
    """X itself, a copy, or a stream."""
    if X.device == device:
        return X
    if X.numel() * X.element_size() <= room(device, X.shape[0]):
        return X.to(device)
    return stream_of(X, device)


def stream_of(X: Tensor, device: torch.device, block_bytes: int = BLOCK_BYTES) -> Stream:
    """Rows on the host that visit the device a block at a time."""
    step = max(1, block_bytes // (X.shape[1] * X.element_size()))
    ranges = [(lo, min(len(X), lo + step)) for lo in range(0, len(X), step)]
    return Stream(lambda lo, hi: X[lo:hi], ranges, X.shape[1], X.dtype, device)


def _of_blocks(rows: Blocks, device: torch.device) -> Stream:
    """Blocks that are read anew at every visit."""
    refused = "blocks of sparse rows are not trained on a device: leave device out"
    if not (rows.of_arrays and rows.has_rows):
        raise TypeError(refused)
    ranges = rows.parts()

    def read(lo: int, hi: int) -> Tensor:
        block = rows.block(lo, hi, 1)
        if sparse.issparse(block):
            raise TypeError(refused)
        rows.expect(hi % ranges[-1][1])
        return rows_tensor(block)

    return Stream(read, ranges, rows.shape[1], read(*ranges[0]).dtype, device)


def room(device: torch.device, n: int) -> float:
    """Bytes of the device that X may take."""
    if device.type != "cuda":
        return float("inf")
    free, _ = torch.cuda.mem_get_info(device)
    return _SHARE * float(free - _ROW_BYTES * n)
