"""Charts as SVG, by hand: a few shapes over two axes.

Strings are escaped here. Values can be read without a script: shapes have titles, which browsers
show; the page's script finds the nearest point of a ``data-chart``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from pegasos.report.axes import Axis
from pegasos.report.text import clean

_LETTER = 6.6  # units of a character's width


class Chart:
    """Axes, and what is drawn over them; sizes are in units of the picture, about a pixel."""

    def __init__(
        self,
        label: str,
        x: Axis,
        y: Axis,
        *,
        width: int = 420,
        height: int = 280,
        small: bool = False,
    ) -> None:
        """``label`` says what it shows, for those who cannot see it; ``small`` is for many."""
        self.label, self.x, self.y, self.small = label, x, y, small
        self.width, self.height = width, height
        longest = max(len(y.tick(value)) for value in y.ticks()) if not small else 0
        self.left = 6.0 if small else 26 + _LETTER * longest
        self.top, self.right, self.bottom = (6.0, 6.0, 6.0) if small else (14.0, 14.0, 44.0)
        self._shapes: list[Markup] = []

    @property
    def w(self) -> float:
        """Of the plot."""
        return self.width - self.left - self.right

    @property
    def h(self) -> float:
        """Of the plot."""
        return self.height - self.top - self.bottom

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is."""
        return (
            round(self.left + self.w * self.x.place(x), 1),
            round(self.top + self.h * (1 - self.y.place(y)), 1),
        )

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str, name: str = "") -> None:
        """A line through points; ``name`` is what the script calls it."""
        points = " ".join(f"{x:g},{y:g}" for x, y in self._points(xs, ys))
        said = Markup(' data-name="{}"').format(clean(name)) if name else ""
        self._draw('<polyline class="{}" points="{}"{}/>', f"line {kind}", points, said)

    def area(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> None:
        """What lies between two lines."""
        around = self._points(xs, high) + self._points(xs, low)[::-1]
        self._draw(
            '<polygon class="area" points="{}"/>', " ".join(f"{x:g},{y:g}" for x, y in around)
        )

    def dots(
        self, xs: Sequence[float], ys: Sequence[float], titles: Sequence[str], kind: str = ""
    ) -> None:
        """Points, each with what it says."""
        for (x, y), title in zip(self._points(xs, ys), titles, strict=True):
            self._draw(
                '<circle class="{}" cx="{}" cy="{}" r="3.5"><title>{}</title></circle>',
                f"dot {kind}".strip(), f"{x:g}", f"{y:g}", clean(title),
            )  # fmt: skip

    def bar(self, x0: float, x1: float, height: float, title: str, kind: str = "") -> None:
        """A bar from the bottom."""
        left, top = self.at(x0, height)
        right, foot = self.at(x1, self.y.low)
        self._draw(
            '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            f"bar {kind}".strip(), f"{left:g}", f"{top:g}", f"{max(0.5, right - left - 0.6):g}",
            f"{foot - top:g}", clean(title),
        )  # fmt: skip

    def across(self, y: float, text: str) -> None:
        """A thin level line, with a word at its left end."""
        _, at = self.at(self.x.low, y)
        self._straight("rule", self.left, at, self.left + self.w, at)
        self._text("word", self.left + 5, at - 5 if at > self.top + 16 else at + 13, "start", text)

    def upright(self, x: float, before: str, after: str) -> None:
        """A thin upright line, with a word on either side."""
        at, _ = self.at(x, self.y.low)
        self._straight("rule", at, self.top, at, self.top + self.h)
        self._text("word", at - 5, self.top + 13, "end", before)
        self._text("word", at + 5, self.top + 13, "start", after)

    def diagonal(self) -> None:
        """What chance, or perfect calibration, gives."""
        (x0, y0), (x1, y1) = self.at(0, 0), self.at(1, 1)
        self._straight("rule", x0, y0, x1, y1)

    def svg(self) -> Markup:
        """The picture."""
        marks = Markup("").join([*self._axes(), *self._shapes])
        x, y = self.x, self.y
        return Markup(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}" data-chart="" '
            'data-box="{}" data-x="{}" data-y="{}">{}</svg>'
        ).format(
            "chart small" if self.small else "chart", self.width, self.height, clean(self.label),
            " ".join(f"{v:g}" for v in (self.left, self.top, self.w, self.h)),
            _said(x), _said(y), marks,
        )  # fmt: skip

    def _axes(self) -> list[Markup]:
        shapes = self._shapes
        self._shapes = []
        self._draw(
            '<rect class="plot" x="{}" y="{}" width="{}" height="{}"/>',
            *(f"{v:g}" for v in (self.left, self.top, self.w, self.h)),
        )
        if not self.small:
            self._ticks()
        marks, self._shapes = self._shapes, shapes
        return marks

    def _ticks(self) -> None:
        foot = self.top + self.h
        for value in self.x.ticks(self._room()):
            at, _ = self.at(value, self.y.low)
            self._straight("grid", at, self.top, at, foot)
            self._text("tick", at, foot + 15, "middle", self.x.tick(value))
        for value in self.y.ticks():
            _, at = self.at(self.x.low, value)
            self._straight("grid", self.left, at, self.left + self.w, at)
            self._text("tick", self.left - 6, at + 4, "end", self.y.tick(value))
        self._text("name", self.left + self.w / 2, self.height - 8, "middle", self.x.label)
        middle = self.top + self.h / 2
        self._draw(
            '<text class="name" x="12" y="{}" text-anchor="middle" transform="rotate(-90 12 {})">'
            "{}</text>",
            f"{middle:g}", f"{middle:g}", clean(self.y.label),
        )  # fmt: skip

    def _room(self) -> int:
        """How many values of the x axis can be named side by side."""
        longest = max(len(self.x.tick(value)) for value in self.x.ticks())
        return max(2, min(7, int(self.w / (_LETTER * longest + 14))))

    def _straight(self, kind: str, *ends: float) -> None:
        line = '<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        self._draw(line, kind, *(f"{e:g}" for e in ends))

    def _text(self, kind: str, x: float, y: float, anchor: str, text: str) -> None:
        if not text:
            return
        self._draw(
            '<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>',
            kind, f"{x:g}", f"{y:g}", anchor, clean(text),
        )  # fmt: skip

    def _points(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        return [self.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]

    def _draw(self, shape: str, *values: Any) -> None:
        self._shapes.append(Markup(shape).format(*values))


def _said(axis: Axis) -> str:
    """An axis for the script: its ends, whether it is logarithmic, and its name."""
    kind = "log" if axis.log else "percent" if axis.percent else "linear"
    return f"{axis.low!r} {axis.high!r} {kind} {clean(axis.label)}"


def meter(value: float, title: str, kind: str = "") -> Markup:
    """A share of 1 as a small bar; with a sign, to both sides of the middle."""
    size = min(1.0, abs(value))
    if kind == "signed":
        x, width = (50 - 50 * size, 50 * size) if value < 0 else (50, 50 * size)
        colour = "minus" if value < 0 else "plus"
    else:
        x, width, colour = 0, 100 * size, kind or "plus"
    return Markup(
        '<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><rect class="track" width="100" height="10"/>'
        '<rect class="{}" x="{}" width="{}" height="10"/></svg>'
    ).format(clean(title), escape(colour), f"{x:.4g}", f"{width:.4g}")
