"""Axes of charts: where values go, and which of them are named."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pegasos.report.text import number


@dataclass(frozen=True)
class Axis:
    """From values to places between 0 and 1."""

    label: str
    low: float
    high: float
    log: bool = False
    percent: bool = False

    def place(self, value: float) -> float:
        """Where a value is; beyond the ends, at them."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(v, 1e-300)) for v in (value, low, high))
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def ticks(self, most: int = 6) -> list[float]:
        """Round values, not more than so many."""
        if self.log:
            lowest = math.ceil(math.log10(self.low) - 1e-9)
            highest = math.floor(math.log10(self.high) + 1e-9)
            by = max(1, math.ceil((highest - lowest + 1) / most))
            return [10.0**power for power in range(lowest, highest + 1, by)]
        step = _round_step((self.high - self.low) / max(1, most - 1))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def tick(self, value: float) -> str:
        """A value as it is written."""
        if self.percent:
            return f"{round(100 * value, 6):g}%".replace("-", "−")
        if self.log and not 0.9e-3 < value < 1e4:
            return f"1e{round(math.log10(value))}".replace("-", "−")
        return number(value, 3)


_SMALLEST = 1e-300  # value that an axis is drawn around: steps of smaller ones would be 0


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))


def linear(label: str, values: Iterable[float], *, zero: bool = False, **options: bool) -> Axis:
    """An axis that has room for all values, and for 0 if asked."""
    found = np.asarray([v for v in values if math.isfinite(v)] or [0.0, 1.0])
    low, high = float(found.min()), float(found.max())
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-12 * max(1.0, abs(high)):  # one value: room around it
        room = 0.5 * (abs(high) if abs(high) > _SMALLEST else 1.0)
        low, high = low if zero and low == 0 else low - room, high + room
    step = _round_step((high - low) / 5)
    return Axis(label, math.floor(low / step) * step, math.ceil(high / step) * step, **options)


def logarithmic(label: str, values: Iterable[float]) -> Axis:
    """The same for positive values: whole powers of ten."""
    found = [math.log10(v) for v in values if 0 < v < math.inf] or [0.0]
    low, high = math.floor(min(found) + 1e-9), math.ceil(max(found) - 1e-9)
    return Axis(label, 10.0**low, 10.0 ** max(high, low + 1), log=True)


def unit(label: str) -> Axis:
    """From 0 to 1."""
    return Axis(label, 0.0, 1.0)
