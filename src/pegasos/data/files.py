"""Opening files that may be compressed, by the ending of their names."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pegasos.data.dataset import DataError
from pegasos.util.files import AnyPath

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

COMPRESSED = (".gz", ".bz2", ".zst")

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}
# Python 3.14 has it itself. It is imported only where a .zst file is met.
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
_BUFFER = 1 << 20
_ZSTD_CHUNK = 1 << 12  # a block of zstd may grow 30,000 times: small chunks bound the memory


def compression(path: AnyPath) -> str:
    """The ending in ``COMPRESSED`` that the file's name has, or ""."""
    ending = Path(path).suffix.lower()
    return ending if ending in COMPRESSED else ""


def open_binary(path: AnyPath) -> BinaryIO:
    """The decompressed bytes of a file; a truncated or corrupt one is a DataError when met."""
    ending = compression(path)
    file = open(path, "rb")  # noqa: SIM115 - belongs to the stream returned
    try:
        _check_magic(path, file.peek(4)[:4], ending)  # pipes cannot go back
        raw = _Checked(path, file, _DECOMPRESS[ending](file)) if ending else file
    except BaseException:
        file.close()
        raise
    return raw if raw is file else io.BufferedReader(raw, _BUFFER)


def create_binary(path: AnyPath) -> BinaryIO:
    """A new file, compressed as its name says."""
    ending = compression(path)
    if ending == ".gz":  # without the time, so that equal contents give equal files
        file = open(path, "wb")  # noqa: SIM115 - belongs to the stream returned
        packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
        packed.myfileobj = file  # type: ignore[assignment]  # it is closed with the stream
        return packed  # type: ignore[return-value]
    if ending == ".bz2":
        return bz2.open(path, "wb")  # type: ignore[return-value]
    if ending == ".zst":
        zstd: Any = importlib.import_module(_ZSTD)
        if _ZSTD == "zstandard":
            return zstd.open(path, "wb", cctx=zstd.ZstdCompressor(write_checksum=True))  # type: ignore[no-any-return]
        checked = {zstd.CompressionParameter.checksum_flag: 1}
        return zstd.open(path, "wb", options=checked)  # type: ignore[no-any-return]
    return open(path, "wb")


def _check_magic(path: Any, start: bytes, ending: str) -> None:
    if ending:
        if not start.startswith(_MAGIC[ending]):
            what = "is empty" if not start else f"does not begin like a {ending} file"
            raise DataError(path, f"the file {what}: name it without {ending} if it is plain")
        return
    for other, magic in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(path, f"the file is compressed: its name must end in {other}")


class _Checked(io.RawIOBase):
    """A decompressed stream whose failures are DataErrors that name the file."""

    def __init__(self, path: Any, file: BinaryIO, stream: Any) -> None:
        self._path, self._file, self._stream = path, file, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            found = self._stream.read(len(view))
        except EOFError:
            raise DataError(self._path, "the compressed file ends too early: truncated?") from None
        except Exception as error:
            if getattr(error, "errno", None) is not None or not isinstance(error, _errors()):
                raise  # the disk's, not the contents'
            raise DataError(self._path, f"the compressed file is corrupt: {error}") from None
        view[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


class _ZstdReader:
    """All frames of a zstd file, one after the other; ``read`` raises EOFError inside a frame."""

    def __init__(self, file: BinaryIO) -> None:
        zstd: Any = importlib.import_module(_ZSTD)
        own = zstd.ZstdDecompressor
        self._file, self._new = file, own().decompressobj if _ZSTD == "zstandard" else own
        self._frame: Any = None
        self._ready, self._rest = memoryview(b""), b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            chunk = self._rest or self._file.read(_ZSTD_CHUNK)
            if not chunk:
                if self._frame is not None:
                    raise EOFError
                return b""
            frame = self._frame or self._new()
            self._ready = memoryview(frame.decompress(chunk))
            self._frame = None if frame.eof else frame
            self._rest = frame.unused_data if frame.eof else b""
        out, self._ready = self._ready[:size], self._ready[size:]
        return bytes(out)


def _errors() -> tuple[type[BaseException], ...]:
    """What broken contents raise."""
    module = sys.modules.get(_ZSTD)
    return (OSError, zlib.error) + ((module.ZstdError,) if module is not None else ())


_DECOMPRESS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    ".bz2": lambda file: bz2.BZ2File(file, "rb"),
    ".zst": _ZstdReader,
}
