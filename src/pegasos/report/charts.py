"""Charts as SVG, by hand: a few shapes over two axes.

Strings are escaped here. Values can be read without a script: shapes have titles, which browsers
show; the page's script finds the nearest point of a ``data-chart``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from pegasos.report.text import clean, number

Values = Sequence[float] | NDArray[np.float64]

_LETTER = 6.6  # units of a character's width


@dataclass(frozen=True)
class Axis:
    """From values to places between 0 and 1."""

    label: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False

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
        if self.log and not 0.9e-3 < value < 1e4:
            return f"1e{round(math.log10(value))}".replace("-", "−")
        return number(value, 3)


_SMALLEST = 1e-300  # value that an axis is drawn around: steps of smaller ones would be 0


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))


def linear(label: str, values: Iterable[float], *, zero: bool = False) -> Axis:
    """An axis that has room for all values, and for 0 if asked."""
    found = np.asarray([v for v in values if math.isfinite(v)] or [0.0, 1.0])
    low, high = float(found.min()), float(found.max())
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-12 * max(1.0, abs(high)):  # one value: room around it
        room = 0.5 * (abs(high) if abs(high) > _SMALLEST else 1.0)
        low, high = low if zero and low == 0 else low - room, high + room
    step = _round_step((high - low) / 5)
    return Axis(label, math.floor(low / step) * step, math.ceil(high / step) * step)


def logarithmic(label: str, values: Iterable[float]) -> Axis:
    """The same for positive values: whole powers of ten."""
    found = [math.log10(v) for v in values if 0 < v < math.inf] or [0.0]
    low, high = math.floor(min(found) + 1e-9), math.ceil(max(found) - 1e-9)
    return Axis(label, 10.0**low, 10.0 ** max(high, low + 1), log=True)


class Chart:
    """Axes, and what is drawn over them; sizes are in units of the picture, about a pixel."""

    def __init__(
        self, label: str, x: Axis, y: Axis, width: int = 420, height: int = 280, small: bool = False
    ) -> None:
        """``label`` says what it shows, for those who cannot see it; ``small`` is for many."""
        self.label, self.x, self.y, self.small = label, x, y, small
        self.width, self.height = width, height
        longest = 0 if small else max(len(y.tick(value)) for value in y.ticks())
        self.left, self.top = (6.0, 6.0) if small else (26 + _LETTER * longest, 14.0)
        self.w = width - self.left - (6.0 if small else 14.0)  # of the plot
        self.h = height - self.top - (6.0 if small else 44.0)
        self._shapes: list[Markup] = []
        self._draw(
            '<rect class="plot" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>',
            self.left, self.top, self.w, self.h,
        )  # fmt: skip
        if not small:
            self._ticks()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is."""
        return (
            round(self.left + self.w * self.x.place(float(x)), 1),
            round(self.top + self.h * (1 - self.y.place(float(y))), 1),
        )

    def line(self, xs: Values, ys: Values, name: str) -> None:
        """A line through points; ``name`` is what the script calls it."""
        around = self._around(xs, ys)
        self._draw('<polyline class="line" points="{}" data-name="{}"/>', around, clean(name))

    def area(self, xs: Values, low: Values, high: Values) -> None:
        """What lies between two lines."""
        around = self._around([*xs, *xs[::-1]], [*high, *low[::-1]])
        self._draw('<polygon class="area" points="{}"/>', around)

    def dots(self, xs: Values, ys: Values, titles: Sequence[str]) -> None:
        """Points, each with what it says."""
        for x, y, title in zip(xs, ys, titles, strict=True):
            self._draw(
                '<circle class="dot" cx="{:g}" cy="{:g}" r="3.5"><title>{}</title></circle>',
                *self.at(x, y), clean(title),
            )  # fmt: skip

    def bar(self, x0: float, x1: float, height: float, title: str, kind: str = "") -> None:
        """A bar from the bottom."""
        left, top = self.at(x0, height)
        right, foot = self.at(x1, self.y.low)
        self._draw(
            '<rect class="{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}"><title>{}</title>'
            "</rect>",
            f"bar {kind}".strip(), left, top, max(0.5, right - left - 0.6), foot - top,
            clean(title),
        )  # fmt: skip

    def across(self, y: float, text: str) -> None:
        """A thin level line, with a word at its left end."""
        at = self._level("rule", y)
        self._text("word", self.left + 5, at - 5 if at > self.top + 16 else at + 13, "start", text)

    def upright(self, x: float, before: str, after: str) -> None:
        """A thin upright line, with a word on either side."""
        at = self._plumb("rule", x)
        self._text("word", at - 5, self.top + 13, "end", before)
        self._text("word", at + 5, self.top + 13, "start", after)

    def diagonal(self) -> None:
        """What chance, or perfect calibration, gives."""
        self._straight("rule", *self.at(0, 0), *self.at(1, 1))

    def svg(self) -> Markup:
        """The picture."""
        return Markup(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}" data-chart="" '
            'data-box="{:g} {:g} {:g} {:g}" data-x="{}" data-y="{}">{}</svg>'
        ).format(
            "chart small" if self.small else "chart", self.width, self.height, clean(self.label),
            self.left, self.top, self.w, self.h, _said(self.x), _said(self.y),
            Markup("").join(self._shapes),
        )  # fmt: skip

    def _ticks(self) -> None:
        longest = max(len(self.x.tick(value)) for value in self.x.ticks())
        room = int(self.w / (_LETTER * longest + 14))  # for values side by side
        for value in self.x.ticks(max(2, min(7, room))):
            at = self._plumb("grid", value)
            self._text("tick", at, self.top + self.h + 15, "middle", self.x.tick(value))
        for value in self.y.ticks():
            at = self._level("grid", value)
            self._text("tick", self.left - 6, at + 4, "end", self.y.tick(value))
        self._text("name", self.left + self.w / 2, self.height - 8, "middle", self.x.label)
        middle = self.top + self.h / 2
        self._draw(
            '<text class="name" x="12" y="{:g}" text-anchor="middle" '
            'transform="rotate(-90 12 {:g})">{}</text>',
            middle, middle, clean(self.y.label),
        )  # fmt: skip

    def _level(self, kind: str, y: float) -> float:
        _, at = self.at(self.x.low, y)
        self._straight(kind, self.left, at, self.left + self.w, at)
        return at

    def _plumb(self, kind: str, x: float) -> float:
        at, _ = self.at(x, self.y.low)
        self._straight(kind, at, self.top, at, self.top + self.h)
        return at

    def _straight(self, kind: str, *ends: float) -> None:
        self._draw('<line class="{}" x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}"/>', kind, *ends)

    def _text(self, kind: str, x: float, y: float, anchor: str, text: str) -> None:
        if text:
            shape = '<text class="{}" x="{:g}" y="{:g}" text-anchor="{}">{}</text>'
            self._draw(shape, kind, x, y, anchor, clean(text))

    def _around(self, xs: Values, ys: Values) -> str:
        points = (self.at(x, y) for x, y in zip(xs, ys, strict=True))
        return " ".join(f"{x:g},{y:g}" for x, y in points)

    def _draw(self, shape: str, *values: Any) -> None:
        self._shapes.append(Markup(shape).format(*values))


def _said(axis: Axis) -> str:
    """An axis for the script: its ends, whether it is logarithmic, and its name."""
    return f"{axis.low!r} {axis.high!r} {'log' if axis.log else 'linear'} {clean(axis.label)}"


def meter(value: float, title: str, kind: str = "") -> Markup:
    """A share of 1 as a small bar; with a sign, to both sides of the middle."""
    size = min(1.0, abs(value))
    if kind == "signed":
        x, width = (50 - 50 * size, 50 * size) if value < 0 else (50, 50 * size)
        kind = "minus" if value < 0 else "plus"
    else:
        x, width = 0, 100 * size
    return Markup(
        '<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><rect class="track" width="100" height="10"/>'
        '<rect class="{}" x="{:.4g}" width="{:.4g}" height="10"/></svg>'
    ).format(clean(title), kind or "plus", x, width)
