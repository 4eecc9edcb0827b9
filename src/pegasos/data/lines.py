"""A text file as blocks of whole lines, or line by line, with their numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pegasos.data.dataset import DataError
from pegasos.data.files import open_binary

_BOM = b"\xef\xbb\xbf"


class Lines:
    """The lines of a file, from wherever the last call left off."""

    def __init__(self, path: str | os.PathLike[str], block_bytes: int) -> None:
        """Open ``path``; a byte order mark of UTF-8 is passed over."""
        self.path, self.block_bytes = path, block_bytes
        self.line = 1  # number of the line that comes next
        self._stream = open_binary(path)
        self._rest = self._stream.read(len(_BOM)).removeprefix(_BOM)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def block(self) -> bytes:
        """Some whole lines, each with its end; nothing at the end of the file."""
        parts = [self._rest]
        while more := self._stream.read(self.block_bytes):
            cut = more.rfind(b"\n") + 1
            parts.append(more[:cut] if cut else more)
            if cut:
                self._rest = more[cut:]
                break
        else:
            self._rest = b""
        found = b"".join(parts)
        if found and not found.endswith(b"\n"):
            found += b"\n"
        self.line += found.count(b"\n")
        return found

    def back(self, block: bytes) -> None:
        """Take back the lines last given, or the last of them."""
        self._rest = block + self._rest
        self.line -= block.count(b"\n")

    def one(self) -> bytes:
        """A single line."""
        block = self.block()
        cut = block.find(b"\n") + 1
        self.back(block[cut:])
        return block[:cut]

    def each(self) -> Iterator[tuple[int, bytes]]:
        """Line by line, with numbers and without ends."""
        while block := self.block():
            yield from numbered(block, self.line - block.count(b"\n"))


def numbered(block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a block, with numbers and without ends."""
    return enumerate(block.removesuffix(b"\n").split(b"\n"), first)


def decode(path: object, line: int, raw: bytes) -> str:
    """A line of UTF-8; DataError for other bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        what = f"byte {raw[error.start]:#04x} at place {error.start + 1} of the line is not UTF-8"
        raise DataError(path, f"{what}: convert the file to UTF-8", line) from None
