"""CSV files: a line is a row of numbers, or one of its fields is a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pegasos.data import labels
from pegasos.data.csv_table import Table
from pegasos.data.dataset import Data, DataError, Options, joined
from pegasos.util.files import AnyPath


def read(path: AnyPath, options: Options) -> Data:
    """The whole file."""
    table = Table(path, options)
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
    table = Table(path, options)
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
