"""A file of named arrays and a little JSON, every byte of it under a checksum.

    8 bytes   "pegasos" and the version of the format
    8 bytes   length of the header
    4 bytes   CRC-32 of the header
    header    JSON: "about", whatever was given; "arrays", for each its name, type, shape, order
              and CRC-32
    arrays    one after the other

Arrays are written from where they are and read to where they will be: no copy of any is made.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.run.checkpoint import CheckpointError
from pegasos.util.atomic import atomic_write

SEPARATOR = "|"
"""Between a group's name and an array's."""

_MAGIC = b"pegasos\x01"
_START = struct.Struct("<8sQI")
_MOST_HEADER = 1 << 26
_TYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"}
_AT_ONCE = 1 << 24  # bytes
_LINE = 64  # bytes of a cache line: where arrays begin in memory

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class _Entry:
    name: str
    dtype: str
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    crc: int
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class Container:
    """A file whose header was read and checked."""

    def __init__(self, path: Path) -> None:
        """Read the header."""
        self.path = path
        with path.open("rb") as file:
            self.about, entries = _header(path, file)
        self._groups: dict[str, dict[str, _Entry]] = defaultdict(dict)
        for entry in entries.values():
            group, _, name = entry.name.rpartition(SEPARATOR)
            self._groups[group][name] = entry

    def arrays(self, group: str = "") -> Arrays:
        """The arrays of a group, named GROUP|NAME; or those of none. Writable, and aligned."""
        with self.path.open("rb") as file:
            return {name: self._array(file, entry) for name, entry in self._groups[group].items()}

    def _array(self, file: BinaryIO, entry: _Entry) -> NDArray[Any]:
        buffer = np.empty(entry.size + _LINE, dtype=np.uint8)
        first = -buffer.ctypes.data % _LINE
        data = buffer[first : first + entry.size]
        file.seek(entry.offset)
        crc = 0
        for part in _parts(data):
            if file.readinto(part) != part.nbytes:  # type: ignore[attr-defined]
                raise _damaged(self.path, "it became shorter while it was read")
            crc = zlib.crc32(part, crc)
        if crc != entry.crc:
            raise _damaged(self.path, f"the checksum of {entry.name} does not match")
        return data.view(entry.dtype).reshape(entry.shape, order=entry.order)


def write(path: str | os.PathLike[str], about: dict[str, Any], arrays: Arrays) -> None:
    """Write a file, whole or not at all."""
    entries, flat = [], []
    for name, array in arrays.items():
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        whole = np.ascontiguousarray(array.T if fortran else array)
        data, crc = whole.reshape(-1).view(np.uint8), 0
        for part in _parts(data):
            crc = zlib.crc32(part, crc)
        flat.append(data)
        entries.append([name, array.dtype.str, array.shape, "F" if fortran else "C", crc])
    header = json.dumps({"about": about, "arrays": entries}).encode()
    if len(header) > _MOST_HEADER:
        raise ValueError(f"{path}: a header of {len(header)} bytes is more than there may be")
    with atomic_write(path) as file:
        file.write(_START.pack(_MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        for data in flat:
            for part in _parts(data):
                file.write(part)


def _parts(data: NDArray[np.uint8]) -> Iterator[memoryview]:
    return (data[lo : lo + _AT_ONCE].data for lo in range(0, data.size, _AT_ONCE))


def _header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], dict[str, _Entry]]:
    size = os.fstat(file.fileno()).st_size
    start = file.read(_START.size)
    if len(start) < _START.size or start[:7] != _MAGIC[:7]:
        raise CheckpointError(path, "is no part of a checkpoint, or is damaged at its start")
    magic, length, crc = _START.unpack(start)
    if magic != _MAGIC:
        raise CheckpointError(path, f"has format version {magic[7]}; this pegasos reads version 1")
    if length > min(_MOST_HEADER, size - _START.size):
        raise _damaged(path, f"its header has {length} bytes, of a file of {size}")
    text = file.read(length)
    if zlib.crc32(text) != crc:
        raise _damaged(path, "the checksum of its header does not match")
    try:
        header = json.loads(text)
        about, entries, end = header["about"], {}, _START.size + length
        for name, dtype, shape, order, check in header["arrays"]:
            whole = all(type(n) is int and n >= 0 for n in shape)
            if dtype not in _TYPES or order not in ("C", "F") or not whole:
                raise ValueError(f"array {name!r}: {dtype!r}, {shape!r}, {order!r}")
            entry = _Entry(str(name), dtype, tuple(shape), order, int(check), end)
            entries[entry.name] = entry
            end += entry.size
        if not isinstance(about, dict) or end != size:
            raise ValueError(f"it describes {end} bytes of {size}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"its header makes no sense ({error})") from None
    return about, entries


def _damaged(path: Path, what: str) -> CheckpointError:
    return CheckpointError(path, f"is damaged: {what}. Resume from a copy, or train anew")
