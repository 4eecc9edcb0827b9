"""Rows in host memory, or on disk, that visit the device a block at a time.

Blocks go through two pinned buffers and a stream of their own: while one is computed with, the
next is copied, and the one after that is read. Host tensors that are pinned already are copied from
where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

Read = Callable[[int, int], Tensor]
"""Rows lo..hi-1 on the host."""

_BUFFERS = 2


class Stream:
    """(n, d) rows that are copied to a device whenever they are visited."""

    def __init__(
        self,
        read: Read,
        ranges: list[tuple[int, int]],
        features: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """``ranges`` are the blocks, ``dtype`` that of most; nothing is read yet."""
        self.read, self.ranges, self.dtype, self.device = read, ranges, dtype, device
        self.shape = (ranges[-1][1], features)
        self._rows = max(hi - lo for lo, hi in ranges)
        self._buffers: dict[tuple[int, torch.dtype, bool], Tensor] = {}
        self._stream = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)
            self._copied = [torch.cuda.Event() for _ in range(_BUFFERS)]  # out of the host's buffer
            self._used = [torch.cuda.Event() for _ in range(_BUFFERS)]  # the device's buffer

    def visit(self) -> Iterator[tuple[int, int, Tensor]]:
        """Every block on the device; the tensor is good until the next is asked for."""
        if self._stream is None:
            for lo, hi in self.ranges:
                yield lo, hi, self.read(lo, hi)
            return
        yield from self._overlapped(self._stream)

    def _overlapped(self, stream: torch.cuda.Stream) -> Iterator[tuple[int, int, Tensor]]:
        main = torch.cuda.current_stream(self.device)
        stream.wait_stream(main)  # what uses the buffers still, of a visit before
        with ThreadPoolExecutor(1, thread_name_prefix="pegasos-read") as pool:
            waiting = [pool.submit(self._fetch, 0, stream)]
            for i, (lo, hi) in enumerate(self.ranges):
                if i + 1 < len(self.ranges):
                    waiting.append(pool.submit(self._fetch, i + 1, stream))
                rows = waiting.pop(0).result()
                main.wait_event(self._copied[i % _BUFFERS])
                yield lo, hi, rows
                self._used[i % _BUFFERS].record(main)

    def _buffer(self, place: int, dtype: torch.dtype, *, here: bool) -> Tensor:
        """On the device, or pinned on the host, where rows are not pinned themselves."""
        key = place, dtype, here
        if key not in self._buffers:
            where = {"device": self.device} if here else {"pin_memory": True}
            size = (self._rows, self.shape[1])
            self._buffers[key] = torch.empty(size, dtype=dtype, **where)
        return self._buffers[key]

    def _fetch(self, i: int, stream: torch.cuda.Stream) -> Tensor:
        """Read block i and start to copy it, once its buffers are free."""
        lo, hi = self.ranges[i]
        place = i % _BUFFERS
        rows = self.read(lo, hi)
        here = self._buffer(place, rows.dtype, here=True)[: hi - lo]
        if not rows.is_pinned():
            self._copied[place].synchronize()  # the buffer was copied from
            rows = self._buffer(place, rows.dtype, here=False)[: hi - lo].copy_(rows)
        with torch.cuda.stream(stream):
            stream.wait_event(self._used[place])
            here.copy_(rows, non_blocking=True)
            self._copied[place].record(stream)
        return here
