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
from pegasos.data.dataset import BadLine, Data, DataError, Options


def read(path: str | os.PathLike[str], options: Options) -> Data:
    """The whole file."""
    table = Table(path, options)
    columns = table.columns
    parts, distinct, codes = [], labels.Distinct(), []
    for part in table.parts():
        if part.labels is not None:
            codes.append(distinct.codes(part.labels))
            part.labels = None
        parts.append(part)
    y = labels.from_text(distinct.texts)[np.concatenate(codes)] if codes else None
    return _data(
        table,
        np.concatenate([part.X for part in parts]) if columns.text is None else None,
        y,
        np.concatenate([part.weight for part in parts]) if columns.weight is not None else None,
        [text for part in parts for text in part.text] if columns.text is not None else None,
        [line for part in parts for line in part.bad][:SHOWN],
        sum(part.bad_count for part in parts),
    )


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
        has_weight, has_text = table.columns.weight is not None, table.columns.text is not None
        yield _data(
            table, None if has_text else part.X, y, part.weight if has_weight else None,
            part.text if has_text else None, part.bad, part.bad_count,
        )  # fmt: skip


def _late_name(table: Table, part: Part, texts: list[str]) -> DataError:
    at = next(at for at, text in enumerate(texts) if labels.numeric(text) is None)
    return DataError(
        table.path,
        f"label {texts[at]!r} is no number, while all those far before it are: "
        "to be read in blocks, a file needs labels that are all numbers or all names",
        part.lines[at],
        (table.columns.label or 0) + 1,
    )


def _data(
    table: Table,
    X: NDArray[Any] | None,
    y: NDArray[Any] | None,
    weight: NDArray[np.float64] | None,
    text: list[str] | None,
    bad: list[BadLine],
    bad_count: int,
) -> Data:
    columns = table.columns
    return Data(
        X,
        y,
        weight,
        feature_names=columns.feature_names if text is None else None,
        text=text,
        bad_lines=tuple(bad),
        bad_count=bad_count,
        notes=columns.notes,
    )
