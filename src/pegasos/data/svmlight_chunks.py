"""Blocks of svmlight text in any order: an index of lines says where each begins.

Every visit of a block parses it again. A cache is several times faster, and takes room on the disk.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pegasos.data.dataset import Chunks, Data, DataError, Options
from pegasos.data.files import compression
from pegasos.data.svmlight import first_index, parsed_part

_BLOCK_BYTES = 1 << 22  # of text
_LOOK = 1 << 16  # bytes that are read at once to find the end of a line


class SvmlightChunks(Chunks):
    """A plain file; lines are checked when they are read."""

    def __init__(
        self, path: str | os.PathLike[str], options: Options, block_bytes: int | None = None
    ) -> None:
        """Find lines that begin about so many bytes apart."""
        if compression(path) or not Path(path).is_file():
            raise DataError(
                path, "only a plain file is read in any order: unpack it, or convert it to a cache"
            )
        if options.multilabel:
            raise DataError(path, "rows of several labels are not read by blocks")
        self.path = Path(path)
        if options.zero_based == "auto":
            options = replace(options, zero_based=first_index(path, options) == 0)
        self._options = options
        self._index = _line_starts(self.path, block_bytes or _BLOCK_BYTES)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._index) - 1

    def read(self, number: int) -> Data:
        """The rows of a block."""
        return parsed_part(self.path, self._options, *self._index[number : number + 2])


def _line_starts(path: Path, step: int) -> list[int]:
    """Where some lines begin, the first among them; and where the file ends."""
    size = path.stat().st_size
    if size == 0:
        raise DataError(path, "there are no rows in it")
    starts = [0]
    with path.open("rb") as file:
        while starts[-1] + step < size:
            file.seek(starts[-1] + step - 1)  # a line may begin right there
            place = file.tell()
            while piece := file.read(_LOOK):
                end = piece.find(b"\n")
                if end >= 0:
                    starts.append(place + end + 1)
                    break
                place += len(piece)
            else:
                break
    return [start for start in starts if start < size] + [size]
