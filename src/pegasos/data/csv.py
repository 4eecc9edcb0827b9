"""CSV files: a line is a row of numbers, or one of its fields is a text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data import labels
from pegasos.data.csv_rows import Part
from pegasos.data.csv_table import SHOWN, Table
from pegasos.data.dataset import Data, DataError, Options


def read(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file."""
    table = Table(path, options)
    parts, codes = [], []
    distinct: dict[str, int] = {}
    for part in table.parts():
        if part.labels is not None:
            codes.append(labels.numbered(distinct, part.labels))
            part.labels = None
        parts.append(part)
    y = labels.from_text(list(distinct))[np.concatenate(codes)] if codes else None
    whole = Part(
        np.concatenate([part.X for part in parts]),
        None,
        np.concatenate([part.weight for part in parts]),
        [text for part in parts for text in part.text],
        bad=[line for part in parts for line in part.bad][:SHOWN],
        bad_count=sum(part.bad_count for part in parts),
    )
    return _data(table, whole, y)


def blocks(path: str | os.PathLike[str], options: Options) -> Iterator[Data]:
    """The file in order, a few megabytes at a time.

    Labels are numbers or strings in all blocks alike, as in the first one.
    """
    table = Table(path, options)
    numeric: bool | None = None
    for part in table.parts():
        y: NDArray[Any] | None = None
        if part.labels is not None:
            y = labels.from_text(part.labels)
            if numeric is None and part.labels:
                numeric = y.dtype.kind != "U"
            if numeric is False:
                y = np.array(part.labels, dtype=np.str_)
            elif y.dtype.kind == "U":
                raise _late_name(table, part, part.labels)
        yield _data(table, part, y)


def _late_name(table: Table, part: Part, texts: list[str]) -> DataError:
    at = next(at for at, text in enumerate(texts) if labels.numeric(text) is None)
    return DataError(
        table.path,
        f"label {texts[at]!r} is no number, while all those far before it are: "
        "to be read in blocks, a file needs labels that are all numbers or all names",
        part.lines[at],
        (table.columns.label or 0) + 1,
    )


def _data(table: Table, part: Part, y: NDArray[Any] | None) -> Data:
    columns = table.columns
    numeric = columns.text is None
    return Data(
        part.X if numeric else None,
        y,
        None if columns.weight is None else part.weight,
        feature_names=columns.feature_names if numeric else None,
        text=None if numeric else part.text,
        bad_lines=tuple(part.bad),
        bad_count=part.bad_count,
        notes=columns.notes,
    )
