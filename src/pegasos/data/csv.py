"""CSV files: a line is a row of numbers, or one of its fields is a text.

Blocks of lines without quotes are read by NumPy. A block in which that fails, and from the
first quote on the rest of the file, goes through Python's csv module row by row, which finds the
line and the field of what is wrong.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pegasos.data import labels
from pegasos.data.columns import NO_NUMBER, Columns, assign
from pegasos.data.dataset import SHOWN, BadLine, Data, DataError, Options, joined
from pegasos.data.files import compression, open_binary
from pegasos.util.files import AnyPath

_BOM = b"\xef\xbb\xbf"
_LONGEST_FIELD = 1 << 30
_ODD = re.compile(rb"[\r\x1c-\x1f]")  # ends of lines, and what only some readers take for spaces
_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")


def read(path: AnyPath, options: Options) -> Data:
    """The whole file."""
    table = _Table(path, options)
    distinct: dict[str, int] = {}
    parts = [
        part.data if part.labels is None
        else replace(part.data, y=labels.numbered(distinct, part.labels))
        for part in table.parts()
    ]  # fmt: skip
    data = joined(parts)
    return data if data.y is None else replace(data, y=labels.from_text(list(distinct))[data.y])


def blocks(path: AnyPath, options: Options) -> Iterator[Data]:
    """The file in order, a few megabytes at a time.

    Labels are numbers or strings in all blocks alike, as in the first one.
    """
    table = _Table(path, options)
    numeric: bool | None = None
    for data, texts, lines in table.parts():
        if texts is None:
            yield data
            continue
        y = labels.from_text(texts)
        if numeric is None and texts:
            numeric = y.dtype.kind != "U"
        if numeric is False:
            y = np.array(texts, dtype=np.str_)
        elif y.dtype.kind == "U":
            at = next(at for at, text in enumerate(texts) if labels.numeric(text) is None)
            raise DataError(
                path,
                f"label {texts[at]!r} is no number, while all those far before it are: "
                "to be read in blocks, a file needs labels that are all numbers or all names",
                lines[at],
                (table.columns.label or 0) + 1,
            )
        yield replace(data, y=y)


def delimiter_of(path: AnyPath, options: Options) -> str:
    """What separates fields: as the options say, else by the file's name."""
    if options.delimiter is None:
        name = Path(path).name.lower().removesuffix(compression(path))
        return "\t" if name.endswith((".tsv", ".tab")) else ","
    if len(options.delimiter) != 1 or options.delimiter in '"\r\n':
        raise ValueError(f"delimiter must be one character, got {options.delimiter!r}")
    return options.delimiter


class _Part(NamedTuple):
    """Some rows, their labels apart."""

    data: Data
    labels: list[str] | None  # as they are written; None if the file has none
    lines: Sequence[int]  # where each row begins


class _Table:
    """A file whose columns are known."""

    def __init__(self, path: AnyPath, options: Options) -> None:
        self.path, self.options = path, options
        self._delimiter = delimiter_of(path, options)
        self._largest = float(np.finfo(options.dtype).max)
        # A document may be longer than the module's limit.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        self._bad_lines: list[BadLine] = []  # of the part that is read, the first
        self._bad_count, self._may_skip = 0, False
        self._stream = open_binary(path)
        self._head = b""  # lines that come again
        self._line = 1  # the number of the line that comes next
        try:
            self.columns = self._first()
        except BaseException:
            self._stream.close()
            raise
        self._may_skip = options.skip_bad_lines

    def parts(self) -> Iterator[_Part]:
        """All rows in order; DataError if there are none."""
        rows = bad = 0
        try:
            for part in self._parts():
                rows, bad = rows + len(part.lines), bad + part.data.bad_count
                yield part
        finally:
            self._stream.close()
        if not rows:
            raise DataError(self.path, f"none of {bad} rows is good" if bad else "no rows")

    def _parts(self) -> Iterator[_Part]:
        blocks = self._blocks()
        for block in blocks:
            if self.columns.text is not None or b'"' in block:
                lines = chain.from_iterable(map(io.BytesIO, chain([block], blocks)))
                yield from self._slow(enumerate(lines, self._line))
                return
            part = self._fast(block, self._line)
            if part is None:
                yield from self._slow(enumerate(io.BytesIO(block), self._line))
            else:
                yield part
            self._line += block.count(b"\n")

    def _blocks(self) -> Iterator[bytes]:
        """The text from here on, some whole lines at a time."""
        size = self.options.block_bytes
        while block := self._head + self._stream.read(size) + self._stream.readline():
            self._head = b""
            yield block

    def _first(self) -> Columns:
        """The columns, by the first row; which is given back unless it is a header."""
        seen: list[bytes] = []

        def lines() -> Iterator[bytes]:
            for line in self._stream:
                seen.append(line if seen else line.removeprefix(_BOM))
                yield seen[-1]

        _, row = next(self._records(enumerate(lines(), 1)), (0, None))
        if row is None:
            raise DataError(self.path, "the file is empty")
        header = self.options.header
        found = all(labels.number(one) is None for one in row) if header is None else header
        if found:
            self._line += len(seen)
        else:
            self._head = b"".join(seen)
        names = [name.strip() for name in row] if found else None
        columns = assign(self.path, names, len(row), self.options)
        if header is None:
            what = "header, as none of it is a number" if found else "row, as it has a number"
            columns = replace(columns, notes=(f"the first line is a {what}", *columns.notes))
        return columns

    # By NumPy

    def _fast(self, block: bytes, first: int) -> _Part | None:
        """The rows of a block without quotes; None if anything at all is unusual."""
        columns, delimiter = self.columns, self._delimiter.encode()
        block = block.replace(b"\r\n", b"\n")
        if _ODD.search(block) or len(delimiter) > 1:
            return None
        lines = block.removesuffix(b"\n").split(b"\n")
        if not all(lines) or {line.count(delimiter) for line in lines} != {columns.count - 1}:
            return None
        # What is not ASCII is part of no number: a sign that is none takes its place.
        plain = [line.decode("ascii", "replace") for line in lines]
        try:
            values = np.loadtxt(
                plain, delimiter=self._delimiter, comments=None, usecols=columns.numbers, ndmin=2
            )
            at = columns.label
            texts = None if at is None else [
                line.split(delimiter, at + 1)[at].decode().strip() for line in lines
            ]  # fmt: skip
        except ValueError:  # one that is no number, or not UTF-8
            return None
        X, weight = np.hsplit(values, [len(columns.features)])
        good = np.isfinite(values).all() and not np.abs(X).max(initial=0) > self._largest
        if not good or (weight < 0).any() or any(map(labels.missing, set(texts or ()))):
            return None
        X = np.ascontiguousarray(X, self.options.dtype)
        data = columns.data(X, None, weight.ravel(), None)
        return _Part(data, texts, range(first, first + len(lines)))

    # By the csv module

    def _slow(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[_Part]:
        rows = _Rows(self.columns, self.options.dtype)
        for line, row in self._records(lines):
            try:
                rows.add(line, row)
            except DataError as error:
                self._bad(line, error.column, error.what)
            if rows.size > self.options.block_bytes:
                yield self._part(rows)
                rows = _Rows(self.columns, self.options.dtype)
        yield self._part(rows)

    def _part(self, rows: _Rows) -> _Part:
        bad, count = tuple(self._bad_lines), self._bad_count
        self._bad_lines, self._bad_count = [], 0
        return rows.part(bad_lines=bad, bad_count=count)

    def _records(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, list[str]]]:
        """Rows as fields, with the line each begins in."""
        seen: list[int] = []

        def decoded() -> Iterator[str]:
            for number, raw in lines:
                try:
                    text = raw.decode()
                except UnicodeDecodeError as error:
                    byte, place = raw[error.start], error.start + 1
                    what = f"byte {byte:#04x} at place {place} of the line is not UTF-8"
                    self._bad(number, None, f"{what}: convert the file to UTF-8")
                    continue
                seen.append(number)
                yield text

        reader = csv.reader(decoded(), delimiter=self._delimiter, strict=True)
        while True:
            seen.clear()
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self._bad(seen[0] if seen else 0, None, f"this is no row of CSV: {error}")
                continue
            if len(row) > 1 or (row and row[0].strip()):
                yield seen[0], row

    def _bad(self, line: int, column: int | None, what: str) -> None:
        if not self._may_skip:
            raise DataError(self.path, what, line, column)
        self._bad_count += 1
        if self._bad_count <= SHOWN:
            self._bad_lines.append(BadLine(line, column or 1, what))


class _Rows:
    """Rows that are put together one at a time, each field checked."""

    def __init__(self, columns: Columns, dtype: type[np.float32] | type[np.float64]) -> None:
        self._columns, self._dtype = columns, np.dtype(dtype)
        self._largest = float(np.finfo(dtype).max)
        self._values: list[list[float]] = []
        self._weights: list[float] = []
        self._labels: list[str] = []
        self._texts: list[str] = []
        self._lines: list[int] = []
        self.size = 0  # of their text, about

    def part(self, **bad: Any) -> _Part:
        """All that were added."""
        columns = self._columns
        X = np.array(self._values, self._dtype).reshape(len(self._lines), len(columns.features))
        data = columns.data(X, None, np.array(self._weights), self._texts, **bad)
        return _Part(data, None if columns.label is None else self._labels, self._lines)

    def add(self, line: int, fields: list[str]) -> None:
        """A row; DataError, with the column, leaves all as it was."""
        columns = self._columns
        label, weight = "", 1.0
        if len(fields) != columns.count:
            what = f"{len(fields)} fields in this row where {columns.count} are expected"
            raise DataError(columns.path, what, line, min(len(fields), columns.count) + 1)
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
            self._texts.append(fields[columns.text])
        self._values.append(values)
        self._labels.append(label)
        self._weights.append(weight)
        self._lines.append(line)
        self.size += sum(map(len, fields)) + len(fields)

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

    def _wrong(self, at: int, what: str) -> DataError:
        columns = self._columns
        return DataError(columns.path, f"{columns.called(at)}: {what}", column=at + 1)


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False
