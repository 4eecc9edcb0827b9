"""What readers return: rows and labels, and how to say what is wrong with a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.util.files import FileError

SHOWN = 20
"""Bad lines kept in detail."""

MOST_FEATURES = 1 << 26
"""An index beyond this is taken for a mistake unless the number of features is declared."""


class DataError(FileError):
    """A file of data that cannot be read, and where: ``path``, ``line`` and ``column``."""


@dataclass(frozen=True)
class Data:
    """Some rows of a file, or all."""

    X: Any  # (n, d), CSR or an array; None where ``text`` is the only content
    y: Any = None  # (n,) numbers or strings, or a CSR indicator (n, labels); None: no labels
    sample_weight: NDArray[np.float64] | None = None
    qid: NDArray[np.int64] | None = None  # query of each row, as in svmlight files
    feature_names: tuple[str, ...] | None = None
    label_names: NDArray[np.float64] | None = None  # of the columns of an indicator matrix
    first_index: int | None = None  # where the indices of an svmlight file begin
    text: Sequence[str] | None = None  # of the text column
    bad_lines: tuple[BadLine, ...] = ()  # the first of those skipped
    bad_count: int = 0  # all that were skipped
    notes: tuple[str, ...] = ()  # what was decided on the way, for people

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.text) if self.X is None and self.text is not None else self.X.shape[0]


VALUES = 1 << 20
"""Stored values in a slice, about."""


def slices(data: Data, rows: int | None = None) -> Iterator[Data]:
    """All rows in order, ``rows`` at a time; None: about ``VALUES`` stored values."""
    n, d = data.X.shape
    if rows is None:
        stored = max(getattr(data.X, "nnz", n * d), n, 1)
        rows = max(1, VALUES * n // stored)
    if rows >= n:
        yield data
        return
    for lo in range(0, n, rows):
        yield take(data, lo, min(n, lo + rows))


def take(data: Data, lo: int, hi: int) -> Data:
    """The rows from ``lo`` to ``hi``; what was skipped and noted stays with the first."""
    found = {name: getattr(data, name) for name in ("X", "y", "sample_weight", "qid", "text")}
    part: dict[str, Any] = {
        name: None if value is None else value[lo:hi] for name, value in found.items()
    }
    return replace(data, **part) if lo == 0 else replace(data, **part, bad_lines=(), bad_count=0)


def joined(parts: Sequence[Data]) -> Data:
    """The rows of a table that came in parts, all with the same columns."""

    def column(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    texts = [part.text or () for part in parts]
    return replace(
        parts[0],
        X=column("X"),
        y=column("y"),
        sample_weight=column("sample_weight"),
        text=None if parts[0].text is None else [text for some in texts for text in some],
        bad_lines=tuple(bad for part in parts for bad in part.bad_lines)[:SHOWN],
        bad_count=sum(part.bad_count for part in parts),
    )


ALIGNED = 128
"""Rows: blocks that begin at multiples of it can be sampled (``pegasos.solvers.by_blocks``)."""


class Chunks(ABC):
    """Blocks of rows that can be read in any order, any number of times: data larger than memory.

    ``pegasos.data.chunks`` has those of files. To bring rows of your own, say how many blocks there
    are, and read one.
    """

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """How many blocks there are."""

    @abstractmethod
    def read(self, number: int) -> Data:
        """The rows of a block: ``Data(X, y, sample_weight)``."""

    def expect(self, number: int) -> None:  # noqa: B027 - a hint
        """Hear that this block will be read soon."""

    @property
    def in_place(self) -> bool:
        """Whether blocks that were read take no memory: they are kept then."""
        return False

    def whole(self) -> Data | None:
        """All rows in place, if they fit the memory of the machine: there is no need for blocks."""
        return None


@dataclass(frozen=True)
class BadLine:
    """A line that was skipped."""

    line: int
    column: int
    what: str


@dataclass(frozen=True)
class Options:
    """How a file is to be read; what a format has no use for must be left alone."""

    format: str | None = None  # one of ``pegasos.data.FORMATS``; None goes by the file's name
    features: int | None = None  # declared number of features
    zero_based: bool | Literal["auto"] = False  # svmlight: indices begin with 0
    multilabel: bool = False  # svmlight: labels like 1,3,7
    skip_bad_lines: bool = False  # svmlight and CSV
    label: str | int | None = None  # CSV, Parquet: the label's column; None: "label", or the first
    labels: bool | None = None  # True: there must be labels; False: none; None: if they are there
    weight: str | int | None = None  # CSV, Parquet: the column of sample weights
    weight_there: bool = True  # CSV, Parquet: False if that column may be missing
    text: str | int | None = None  # CSV, Parquet: a column of text
    header: bool | None = None  # CSV; None: there is one if the first line has no number
    delimiter: str | None = None  # CSV; None: by the file's name, .tsv has tabs
    block_bytes: int = 1 << 21  # CSV: text at a time; what is made of it takes some ten times that
    dtype: type[np.float32] | type[np.float64] = np.float64
    threads: int | None = None
