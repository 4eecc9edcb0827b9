"""The npy format: headers that are checked before anything is allocated, files that grow."""

from __future__ import annotations

import io
import math
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from pegasos.data.dataset import DataError
from pegasos.util.files import AnyPath

HEADER = 128
"""Bytes of the headers we write; the longest we need is shorter."""

_LONGEST_HEADER = 4096


def check_header(
    path: Any, stream: BinaryIO, file_size: int
) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, type, whether columns are together, and where the values begin.

    DataError unless the size of the file fits the header at the beginning of ``stream``.
    """
    start = io.BytesIO(stream.read(_LONGEST_HEADER))
    try:
        version = npy_format.read_magic(start)
        read = {
            (1, 0): npy_format.read_array_header_1_0,
            (2, 0): npy_format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(start, max_header_size=_LONGEST_HEADER)
    except Exception as error:  # numpy evaluates a literal: errors of all kinds
        raise DataError(path, f"no header of an npy file ({error})") from None
    if dtype.hasobject:
        raise DataError(path, "holds Python objects, which are not read: save numbers or strings")
    if any(size < 0 for size in shape):
        raise DataError(path, f"the header has the shape {shape}")
    wanted = start.tell() + dtype.itemsize * math.prod(map(int, shape))
    if wanted != file_size:
        what = f"{file_size} bytes, while its header asks for {wanted}"
        raise DataError(path, f"{what}: truncated?")
    return shape, dtype, fortran, start.tell()


def map_array(path: AnyPath) -> NDArray[Any]:
    """An npy file, memory-mapped."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        shape, dtype, fortran, begin = check_header(path, file, size)
        if not math.prod(shape):  # there is nothing to map
            return np.empty(shape, dtype)
        mapped = np.memmap(file, dtype, "r", begin, shape, "F" if fortran else "C")
        return np.asarray(mapped)  # a plain array: SciPy is slower with subclasses


def crc(array: NDArray[Any]) -> int:
    """The CRC-32 of a contiguous array's bytes."""
    return zlib.crc32(array.reshape(-1).view(np.uint8).data)


class GrowingArray:
    """An npy file to whose end rows are added; its header is written by ``close``."""

    def __init__(self, path: Path, dtype: Any, row: tuple[int, ...] = ()) -> None:
        """``row`` is the shape of one row."""
        self.path, self.dtype, self.row = path, np.dtype(dtype).newbyteorder("<"), row
        self.rows = 0
        self._file = open(path, "wb")  # noqa: SIM115 - until close
        self._file.write(bytes(HEADER))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what was written so far."""
        return self.rows, *self.row

    def add(self, rows: NDArray[Any]) -> tuple[int, int, int]:
        """Write rows; the byte where they begin, how many they take, and their CRC."""
        plain = np.ascontiguousarray(rows, dtype=self.dtype)
        begin = self._file.tell()
        self._file.write(plain.reshape(-1).view(np.uint8).data)
        self.rows += plain.shape[0]
        return begin, plain.nbytes, crc(plain)

    def close(self) -> bytes:
        """Write the header; it is returned, too."""
        told = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {self.shape}, }}"
        size = HEADER - 10  # after the magic, the version and the size itself
        start = npy_format.magic(1, 0) + size.to_bytes(2, "little")
        header = start + told.encode().ljust(size - 1) + b"\n"
        with self._file:
            self._file.seek(0)
            self._file.write(header)
        return header

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()
