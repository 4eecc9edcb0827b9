"""svmlight (LIBSVM) text: LABEL INDEX:VALUE ... a line, read block by block and written.

The parser is the core's (``svmlight.cpp``). Text is read in blocks whose lines are split over
threads, into arrays that grow in place: so a file of any size, compressed or from a pipe, takes
its rows in memory and some megabytes more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos import _core
from pegasos.data.csr import make_csr
from pegasos.data.dataset import MOST_FEATURES, BadLine, Chunks, Data, DataError, Options
from pegasos.data.files import compression, create_binary, open_binary
from pegasos.util import sparse, threads
from pegasos.util.atomic import atomic_path
from pegasos.util.files import AnyPath

_BLOCK_BYTES = 1 << 19  # of text, for each thread
_CHUNK_BYTES = 1 << 22  # of text that is read in any order
_LOOK = 1 << 16  # bytes of a line that are held to find its end
_LONGEST_LINE = 1 << 28


def read(path: AnyPath, options: Options) -> Data:
    """All rows of a file."""
    text = _Text(path, options)
    if not compression(path) and Path(path).is_file():
        text.parser.expect(Path(path).stat().st_size)
    for _ in text.parsed():
        pass
    data = text.take()
    if data.n == 0:
        raise DataError(path, "there are no rows in it")
    return text.settled(data)


def blocks(path: AnyPath, options: Options) -> Iterator[Data]:
    """The rows in order, some megabytes of text at a time; each block is as wide as its indices.

    With ``zero_based="auto"`` the file is read twice.
    """
    base = _first_index(path, options) if options.zero_based == "auto" else None
    text = _Text(path, options, base)
    for _ in text.parsed():
        data = text.take()
        if data.n:
            yield text.settled(data)


def _first_index(path: AnyPath, options: Options) -> int:
    """Where indices begin, if ``zero_based="auto"`` leaves it open: all lines are looked at."""
    scan = _Text(path, options)
    for _ in scan.parsed():
        scan.take()
    return scan.decided()


class SvmlightChunks(Chunks):
    """Blocks of a plain file in any order; lines are checked when they are read.

    Every visit of a block parses it again: a cache is several times faster, and takes room.
    """

    def __init__(self, path: AnyPath, options: Options, block_bytes: int | None = None) -> None:
        """Find lines that begin about so many bytes apart."""
        if compression(path) or not Path(path).is_file():
            raise DataError(
                path, "only a plain file is read in any order: unpack it, or convert it to a cache"
            )
        if options.multilabel:
            raise DataError(path, "rows of several labels are not read by blocks")
        if options.zero_based == "auto":
            options = replace(options, zero_based=_first_index(path, options) == 0)
        self.path, self._options = Path(path), options
        self._starts = _line_starts(self.path, block_bytes or _CHUNK_BYTES)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._starts) - 1

    def read(self, number: int) -> Data:
        """The rows of a block."""
        begin, end = self._starts[number : number + 2]
        text = _Text(self.path, self._options)
        with self.path.open("rb") as file:
            file.seek(begin)
            text.feed(
                np.frombuffer(file.read(end - begin), dtype=np.uint8),
                last=True,
                lines_before=lambda: _lines_before(file, begin),
            )
        return text.take()


class _Text:
    """A file on its way through the parser."""

    def __init__(self, path: AnyPath, options: Options, base: int | None = None) -> None:
        self.path, self.options = path, options
        self.skipped = self.listed = 0  # bad lines told of so far
        self.threads = threads.cores() if options.threads is None else options.threads
        self.guess = options.zero_based == "auto" and base is None
        first = base if base is not None else 1 if options.zero_based is False else 0
        self.first = None if self.guess else first
        self.parser = _core.SvmlightParser(
            first_index=first,
            features=0 if self.guess else options.features or 0,
            most_features=max(MOST_FEATURES, options.features or 0) + self.guess,
            multilabel=options.multilabel,
            skip_bad_lines=options.skip_bad_lines,
            single=options.dtype is np.float32,
        )

    def parsed(self) -> Iterator[None]:
        """Parse the file; a pause after every block."""
        buffer = np.empty(_BLOCK_BYTES * self.threads, dtype=np.uint8)
        held = 0  # bytes of a line that goes on
        with open_binary(self.path) as file:
            while True:
                # A buffered reader reads until the room is full or the file ends.
                got = file.readinto(buffer[held:])  # type: ignore[attr-defined]
                last = got < buffer.size - held
                size = held + got
                used = self.feed(buffer[:size], last)
                yield
                if last:
                    return
                held = size - used
                if held == buffer.size:
                    buffer = self.larger(buffer)
                else:
                    buffer[:held] = buffer[used:size].copy()

    def feed(
        self, text: NDArray[np.uint8], last: bool, lines_before: Callable[[], int] = lambda: 0
    ) -> int:
        """Parse whole lines; how many bytes they took. Errors count ``lines_before``, too."""
        used: int = self.parser.feed(text, last=last, threads=self.threads)
        if self.parser.error is not None:
            line, column, what = self.parser.error
            raise DataError(self.path, what, line + lines_before(), column)
        return used

    def larger(self, buffer: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Room for a line longer than a block."""
        if 2 * buffer.size > _LONGEST_LINE:
            raise DataError(
                self.path, f"a line is longer than {_LONGEST_LINE >> 20} MB: is this svmlight text?"
            )
        wider = np.empty(2 * buffer.size, dtype=np.uint8)
        wider[: buffer.size] = buffer
        return wider

    def take(self) -> Data:
        """What was parsed since the last call, before it is known where indices begin."""
        labels, label_ends, ends, indices, values, queries = self.parser.take()
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), ends])
        width = max(1, self.options.features or 0, self.parser.largest_index + 1)
        X = make_csr(values, indices, indptr, width)
        y: Any = labels
        names = None
        if self.options.multilabel:
            names, codes = np.unique(labels, return_inverse=True)
            ones = np.ones(labels.size, dtype=np.int8)
            starts = np.concatenate([np.zeros(1, dtype=np.int64), label_ends])
            y = make_csr(ones, codes.astype(np.int32), starts, names.size).scipy()
        skipped = self.parser.bad_count - self.skipped
        new = self.parser.bad_lines[self.listed :]  # the first of all are kept
        self.skipped, self.listed = self.skipped + skipped, self.listed + len(new)
        return Data(
            X,
            y,
            qid=queries if queries.size else None,
            label_names=names,
            first_index=self.first,
            bad_lines=tuple(BadLine(*bad) for bad in new),
            bad_count=skipped,
        )

    def decided(self) -> int:
        """The first index, where it was left open."""
        return 0 if self.parser.smallest_index == 0 else 1

    def settled(self, data: Data) -> Data:
        """Indices that begin with 0, whatever they do in the file."""
        if not self.guess:
            return data
        first, width = self.decided(), data.X.shape[1]
        seen = self.parser.smallest_index
        if first == 1:
            data.X.indices[:] -= 1
            width = max(1, width - 1)
        declared = self.options.features
        if declared is not None and data.X.indices.size and data.X.indices.max() >= declared:
            raise DataError(
                self.path,
                f"index {self.parser.largest_index} is beyond the declared {declared} features, "
                f"indices beginning with {first}",
            )
        X = make_csr(data.X.data, data.X.indices, data.X.indptr, declared or width)
        note = f"indices begin with {first}: the smallest is {max(seen, 0)}"
        return replace(data, X=X, first_index=first, notes=(*data.notes, note))


def _line_starts(path: Path, step: int) -> list[int]:
    """Where some lines begin, the first among them; and where the file ends."""
    size = path.stat().st_size
    if size == 0:
        raise DataError(path, "there are no rows in it")
    starts = [0]
    with path.open("rb") as file:
        while starts[-1] + step < size:
            file.seek(starts[-1] + step - 1)  # a line may begin right there
            while (piece := file.readline(_LOOK)) and not piece.endswith(b"\n"):
                pass
            starts.append(file.tell())
    return [start for start in starts if start < size] + [size]


def _lines_before(file: BinaryIO, end: int) -> int:
    """How many lines end before a byte."""
    file.seek(0)
    return sum(
        file.read(min(_BLOCK_BYTES, end - at)).count(b"\n") for at in range(0, end, _BLOCK_BYTES)
    )


def write_blocks(blocks: Iterable[Data], path: AnyPath, *, first_index: int = 1) -> None:
    """Write rows to a new file as they come, their indices from 1, or from 0."""
    with create_binary(path) as file:
        for data in blocks:
            if data.sample_weight is not None:
                raise DataError(path, "svmlight has no place for weights: write a cache")
            file.write(_text_of(data, first_index))


def write_svmlight(
    X: Any,
    y: ArrayLike,
    path: AnyPath,
    *,
    zero_based: bool = False,
    qid: ArrayLike | None = None,
    overwrite: bool = False,
) -> None:
    """Write rows X (n, d), sparse or dense, and their labels; zeros are left out.

    ``y`` holds numbers (n,), or is an indicator matrix (n, labels) of 0 and 1. Values are written
    in the fewest digits that read back as the same bits.
    """
    queries = None if qid is None else np.ascontiguousarray(qid, dtype=np.int64)
    labels: Any = y if sparse.issparse(y) else np.asarray(y)
    names = np.arange(labels.shape[1], dtype=np.float64) if labels.ndim == 2 else None
    data = Data(X, labels, qid=queries, label_names=names)
    with atomic_path(path, overwrite=overwrite) as unfinished:
        write_blocks([data], unfinished, first_index=0 if zero_based else 1)


def _text_of(data: Data, first_index: int) -> bytes:
    X = data.X if sparse.issparse(data.X) else sparse.csr_matrix(np.asarray(data.X))
    X = X.tocsr()
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    n = X.shape[0]
    values = X.data if X.dtype == np.float32 else X.data.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("X holds NaN or infinity, which svmlight text has no words for")
    labels, label_ends = _labels(data, n)
    indices = X.indices if X.indices.dtype == np.int32 else X.indices.astype(np.int64)
    text: bytes = _core.svmlight_text(
        labels=labels,
        label_ends=label_ends,
        queries=None if data.qid is None else np.ascontiguousarray(data.qid),
        ends=X.indptr[1:].astype(np.int64),
        indices=np.ascontiguousarray(indices),
        values=np.ascontiguousarray(values),
        first_index=first_index,
    )
    return text


def _labels(data: Data, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    y = data.y
    if y is None:
        return np.zeros(n), None
    if y.shape[0] != n:
        raise ValueError(f"X has {n} rows, y {y.shape[0]}")
    if y.ndim == 1:
        try:
            labels = np.ascontiguousarray(y, dtype=np.float64)
        except ValueError:
            raise ValueError(
                f"svmlight labels are numbers, got {y[0]!r}: number the classes first"
            ) from None
        if not np.isfinite(labels).all():
            raise ValueError("y holds NaN or infinity")
        return labels, None
    indicator = sparse.csr_matrix(y)
    indicator.eliminate_zeros()
    names = np.arange(y.shape[1]) if data.label_names is None else data.label_names
    empty = (np.diff(indicator.indptr) == 0) & (np.diff(sparse.csr_matrix(data.X).indptr) == 0)
    if empty.any():
        raise ValueError(
            f"row {int(np.argmax(empty))} has neither labels nor values: a line of svmlight text "
            "would be empty"
        )
    return names[indicator.indices].astype(np.float64), indicator.indptr[1:].astype(np.int64)
