"""Rows of CSV one at a time, each field checked."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pegasos.data import labels
from pegasos.data.columns import NO_NUMBER, Columns

_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")


class Row(NamedTuple):
    """A row that is right; what the file does not have is empty, or 1."""

    line: int  # where it begins
    values: list[float]
    label: str
    weight: float
    text: str


class BadRowError(Exception):
    """What is wrong with a row, and the number of its field, from 1."""

    def __init__(self, column: int, what: str) -> None:
        """As they are."""
        super().__init__(what)
        self.column, self.what = column, what


class Fields:
    """The fields of rows as what their columns say."""

    def __init__(self, columns: Columns, dtype: type[np.float32] | type[np.float64]) -> None:
        """Numbers must fit ``dtype``."""
        self._columns, self._dtype = columns, np.dtype(dtype)
        self._largest = float(np.finfo(dtype).max)

    def row(self, line: int, fields: list[str]) -> Row:
        """A row, or BadRowError."""
        columns = self._columns
        label, weight, text = "", 1.0, ""
        if len(fields) != columns.count:
            what = f"{len(fields)} fields in this row where {columns.count} are expected"
            raise BadRowError(min(len(fields), columns.count) + 1, what)
        values = self._numbers([fields[at] for at in columns.features])
        if columns.label is not None:
            label = fields[columns.label].strip()
            if labels.missing(label):
                raise self._wrong(columns.label, f"the label is {label!r}, so it is missing")
        if columns.weight is not None:
            weight = self._number(fields[columns.weight], columns.weight)
            if weight < 0:
                raise self._wrong(columns.weight, f"the weight {weight:g} is negative")
        if columns.text is not None:
            text = fields[columns.text]
        return Row(line, values, label, weight, text)

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
        short = repr(text if len(text) <= 40 else text[:37] + "...")
        if text.strip().lower() in _MISSING:
            what = f"the value {text!r} is missing: fill it in, or leave the row out"
        elif value is not None or _is_infinite(text):
            what = f"{short} is not a finite {self._dtype.name}"
        else:
            what = f"{short} is {NO_NUMBER}"
        raise self._wrong(at, what)

    def _wrong(self, at: int, what: str) -> BadRowError:
        return BadRowError(at + 1, f"{self._columns.called(at)}: {what}")


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False
