"""Rows in host memory, or on disk, that visit the device a block at a time.

Blocks go through two pinned buffers and a stream of their own: while one is computed with, the
next is copied, and the one after that is read. Host tensors that are pinned already are copied from
where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

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
        """``ranges`` are the blocks; nothing is read yet."""
        self.read, self.ranges, self.dtype, self.device = read, ranges, dtype, device
        self.shape = (ranges[-1][1], features)
        self._rows = max(hi - lo for lo, hi in ranges)
        self._pinned: dict[int, Tensor] = {}  # made when rows are not pinned themselves
        self._here: list[Tensor] = []
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def visit(self) -> Iterator[tuple[int, int, Tensor]]:
        """Every block on the device; the tensor is good until the next is asked for."""
        if self._stream is None:
            for lo, hi in self.ranges:
                yield lo, hi, self.read(lo, hi).to(self.dtype)
            return
        yield from self._overlapped(self._stream)

    def _overlapped(self, stream: torch.cuda.Stream) -> Iterator[tuple[int, int, Tensor]]:
        self._allocate()
        copied = [torch.cuda.Event() for _ in range(_BUFFERS)]
        used = [torch.cuda.Event() for _ in range(_BUFFERS)]
        main = torch.cuda.current_stream(self.device)
        with ThreadPoolExecutor(1, thread_name_prefix="pegasos-read") as pool:
            waiting = [pool.submit(self._fetch, i, stream, copied, used) for i in range(1)]
            for i, (lo, hi) in enumerate(self.ranges):
                if i + 1 < len(self.ranges):
                    waiting.append(pool.submit(self._fetch, i + 1, stream, copied, used))
                self._finish(waiting.pop(0))
                main.wait_event(copied[i % _BUFFERS])
                yield lo, hi, self._here[i % _BUFFERS][: hi - lo]
                used[i % _BUFFERS].record(main)

    def _allocate(self) -> None:
        if self._here:
            return
        size = (self._rows, self.shape[1])
        for _ in range(_BUFFERS):
            self._here.append(torch.empty(size, dtype=self.dtype, device=self.device))

    def _fetch(
        self,
        i: int,
        stream: torch.cuda.Stream,
        copied: list[torch.cuda.Event],
        used: list[torch.cuda.Event],
    ) -> None:
        """Read block i and start to copy it, once its buffers are free."""
        lo, hi = self.ranges[i]
        place = i % _BUFFERS
        rows = self.read(lo, hi)
        if not rows.is_pinned() or rows.dtype != self.dtype:
            copied[place].synchronize()  # the buffer was copied from
            if place not in self._pinned:
                size = (self._rows, self.shape[1])
                self._pinned[place] = torch.empty(size, dtype=self.dtype, pin_memory=True)
            rows = self._pinned[place][: hi - lo].copy_(rows)
        with torch.cuda.stream(stream):
            stream.wait_event(used[place])
            self._here[place][: hi - lo].copy_(rows, non_blocking=True)
            copied[place].record(stream)

    @staticmethod
    def _finish(future: Future[None]) -> None:
        future.result()
