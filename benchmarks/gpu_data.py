"""Generated rows on a device or beside it, times, and counts of what was read, for benchmarks.gpu.

Labels are those of a random hyperplane through the origin (of several classes: of the largest of as
many linear scores), and a tenth of them wrong: flipped, or of several classes drawn at random.
"""

import time
from contextlib import contextmanager
from statistics import median

import torch

from pegasos.sites.device import certify, interior, newton, newton_rows
from pegasos.sites.device.stream import Stream

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEP = 500_000  # rows that are generated at once


def planted(n, d, classes=1, dtype=torch.float32):
    """X on the device, and (n,) labels: -1, +1, or 0 .. classes - 1."""
    options = {"device": DEVICE, "generator": torch.Generator(DEVICE).manual_seed(0)}
    W = torch.randn((d, classes), **options)
    X = torch.empty((n, d), device=DEVICE, dtype=dtype)
    scores = torch.empty((n, classes), device=DEVICE)
    for lo in range(0, n, STEP):
        rows = torch.randn((min(STEP, n - lo), d), **options)
        X[lo : lo + STEP] = rows
        scores[lo : lo + STEP] = rows @ W
    wrong = torch.rand(n, **options) < 0.1
    if classes == 1:
        y = torch.sign(scores[:, 0])
        return X, torch.where(wrong, -y, y)
    drawn = torch.randint(0, classes, (n,), **options)
    return X, torch.where(wrong, drawn, scores.argmax(1))


def falling(n, d):
    """``planted``, with column j times 1/sqrt(1 + j), as the spectra of embeddings fall.

    Labels stay: the weights of their hyperplane are larger by sqrt(1 + j), so all columns matter.
    """
    X, y = planted(n, d)
    return X.mul_(torch.rsqrt(1 + torch.arange(d, device=DEVICE))), y


def planted_on_host(n, d):
    """bfloat16 rows in host memory, pinned if there is a GPU, and labels on the device."""
    X = torch.empty((n, d), dtype=torch.bfloat16, pin_memory=DEVICE == "cuda")
    y = torch.empty(n, device=DEVICE)
    step = max(1, n // 20)
    w = None
    for lo in range(0, n, step):
        options = {"device": DEVICE, "generator": torch.Generator(DEVICE).manual_seed(lo)}
        rows = torch.randn((min(step, n - lo), d), **options)
        w = torch.randn(d, **options) if w is None else w
        X[lo : lo + step] = rows.bfloat16()
        wrong = torch.rand(len(rows), **options) < 0.1
        y[lo : lo + step] = torch.where(wrong, -1.0, 1.0) * torch.sign(rows @ w)
    return X, y


def wait():
    """Until the device has done what it was told to."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed_once(work):
    wait()
    began = time.perf_counter()
    out = work()
    wait()
    return time.perf_counter() - began, out


def timed(work, rounds):
    """The median of the times after a first one, all of them, and what the last gave."""
    work()
    times = []
    for _ in range(rounds):
        seconds, out = timed_once(work)
        times.append(seconds)
    return median(times), times, out


def spread(times):
    """The median and the range, to show."""
    return f"{median(times):.3f} ({min(times):.3f} to {max(times):.3f})"


class Traffic:
    """Bytes of X that passes read, and flops of the matrices."""

    def __init__(self):
        self.bytes = self.flops = 0

    @contextmanager
    def counted(self):
        """Of the passes of both solvers, wherever the rows are."""
        counting = {
            (interior, "products"): self._whole, (interior, "sums"): self._whole,
            (interior, "add_gram"): self._matrix, (newton, "products"): self._whole,
            (newton, "add_some"): self._matrix, (newton, "_changed"): self._changed,
            (newton_rows, "seen"): self._whole, (certify, "products_and_sums"): self._whole,
        }  # fmt: skip
        kept = {(module, name): vars(module)[name] for module, name in counting}
        for (module, name), count in counting.items():
            vars(module)[name] = count(kept[module, name])
        try:
            yield self
        finally:
            for (module, name), work in kept.items():
                vars(module)[name] = work

    def _whole(self, work):
        def counting(X, *rest, **more):
            self.bytes += X.nbytes
            return work(X, *rest, **more)

        return counting

    def _changed(self, work):
        def counting(X, change):
            self.bytes += int(torch.count_nonzero(change)) * X.shape[1] * X.element_size()
            return work(X, change)

        return counting

    def _matrix(self, work):
        def counting(X, picked, *rest):
            # Scales of all rows, or the numbers of some.
            rows = len(picked) if picked.ndim == 1 else int(torch.count_nonzero(picked))
            self.bytes += rows * X.shape[1] * X.element_size()
            self.flops += 2 * rows * X.shape[1] ** 2
            return work(X, picked, *rest)

        return counting

    @contextmanager
    def streamed(self):
        """Of the blocks that visit the device."""
        kept = Stream.visit

        def visit(stream):
            for lo, hi, block in kept(stream):
                self.bytes += block.nbytes
                yield lo, hi, block

        Stream.visit = visit
        try:
            yield self
        finally:
            Stream.visit = kept
