"""Rows from anywhere, on a device or on their way to it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pegasos.sites import Blocks
from pegasos.sites.device.arrays import device_of, rows_tensor
from pegasos.sites.device.csr import csr_rows
from pegasos.sites.device.rows import DeviceRows, device_rows
from pegasos.sites.device.stream import Stream
from pegasos.util import sparse

BLOCK_BYTES = 1 << 29
"""Of a block that is copied to the device."""

_ROW_BYTES = 300  # of variables, for each row of a lane
_SHARE = 0.7  # of the memory that is free


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
