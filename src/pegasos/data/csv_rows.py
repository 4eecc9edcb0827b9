"""Rows of CSV that are put together one at a time, each field checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pegasos.data import labels
from pegasos.data.columns import NO_NUMBER, Columns
from pegasos.data.dataset import BadLine, Data

_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")


class Part(NamedTuple):
    """Some rows, their labels apart."""

    data: Data
    labels: list[str] | None  # as they are written; None if the file has none
    lines: Sequence[int]  # where each row begins


class BadRowError(Exception):
    """What is wrong with a row, and the number of its field, from 1."""

    def __init__(self, column: int, what: str) -> None:
        """As they are."""
        super().__init__(what)
        self.column, self.what = column, what


class Rows:
    """Rows that are put together one at a time."""

    def __init__(self, columns: Columns, dtype: type[np.float32] | type[np.float64]) -> None:
        """None yet."""
        self._columns, self._dtype = columns, dtype
        self._largest = float(np.finfo(self._dtype).max)
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._values: list[list[float]] = []
        self._labels: list[str] = []
        self._weights: list[float] = []
        self._texts: list[str] = []
        self._lines: list[int] = []
        self.bad: list[BadLine] = []
        self.bad_count = self.size = 0

    def part(self) -> Part:
        """All that were added."""
        columns = self._columns
        X = np.array(self._values, self._dtype).reshape(len(self._lines), len(columns.features))
        data = columns.data(
            X, None, np.array(self._weights), self._texts,
            bad_lines=tuple(self.bad), bad_count=self.bad_count,
        )  # fmt: skip
        return Part(data, self._labels if columns.label is not None else None, self._lines)

    def add(self, line: int, row: list[str]) -> None:
        """A row; BadRowError leaves all as it was."""
        columns = self._columns
        if len(row) != columns.count:
            what = f"{len(row)} fields in this row where {columns.count} are expected"
            raise BadRowError(min(len(row), columns.count) + 1, what)
        values = self._numbers([row[at] for at in columns.features])
        label = None
        if columns.label is not None:
            label = row[columns.label].strip()
            if labels.missing(label):
                raise self._wrong(columns.label, f"the label is {label!r}, so it is missing")
        if columns.weight is not None:
            weight = self._number(row[columns.weight], columns.weight)
            if weight < 0:
                raise self._wrong(columns.weight, f"the weight {weight:g} is negative")
            self._weights.append(weight)
        if label is not None:
            self._labels.append(label)
        if columns.text is not None:
            self._texts.append(row[columns.text])
        self._values.append(values)
        self._lines.append(line)
        self.size += sum(map(len, row)) + len(row)

    def _numbers(self, texts: list[str]) -> list[float]:
        together = "".join(texts)
        if together.isascii() and "_" not in together:  # float takes more than we do
            try:
                values = list(map(float, texts))
            except ValueError:
                pass
            else:
                if all(-self._largest <= value <= self._largest for value in values):
                    return values
        return [
            self._number(text, at) for text, at in zip(texts, self._columns.features, strict=True)
        ]

    def _number(self, text: str, at: int) -> float:
        value = labels.number(text)
        if value is not None and abs(value) <= self._largest:
            return value
        if text.strip().lower() in _MISSING:
            what = f"the value {text!r} is missing: fill it in, or leave the row out"
        elif _is_float(text):
            what = f"{_short(text)} is not a finite {np.dtype(self._dtype).name}"
        else:
            what = f"{_short(text)} is {NO_NUMBER}"
        raise self._wrong(at, what)

    def _wrong(self, at: int, what: str) -> BadRowError:
        return BadRowError(at + 1, f"{self._columns.called(at)}: {what}")


def _is_float(text: str) -> bool:
    try:
        return math.isinf(float(text)) or labels.number(text) is not None
    except ValueError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
