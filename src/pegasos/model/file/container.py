"""The file around a model: a safetensors file whose every byte is under a checksum.

A safetensors file is 8 bytes with the length of a header, the header in JSON, and the arrays. Ours
has one text in the header's metadata, ``pegasos_model``: again JSON, which begins with the SHA-256
of the whole file, taken with zeros in the digest's own place. So any safetensors reader opens it,
and no bit can change unnoticed. Later versions of the format keep that.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.model.file.errors import ModelFileError, NewerFormatError, WrongContent
from pegasos.model.file.plain import dumps, loads
from pegasos.util.files import AnyPath

FORMAT = "pegasos linear model"
VERSION = 1
MOST_HEADER = 1 << 20
"""Bytes: JSON takes many times its size when it is parsed, arrays do not."""

_KEY = "pegasos_model"
_NO_DIGEST = b"0" * 64
_DIGEST = re.compile(rb'"pegasos_model":"\{\\"sha256\\":\\"([0-9a-f]{64})\\"')
_DTYPES = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8"}

_OTHERS = (
    (b"solver_type ", "is a LIBLINEAR model: pegasos.export.read_any reads it"),
    (b"SVM-light", "is an SVM-light model: pegasos.export.read_any reads it"),
    (b"\x80", "looks like a pickle, which is never loaded here: open it with what wrote it"),
    (b"PK\x03\x04", "is a zip archive, perhaps an npz file, and no model"),
    (b"\x93NUMPY", "is a NumPy array, and no model"),
    (b"\x1f\x8b", "is compressed by gzip: unpack it first"),
    (b"{", "looks like JSON, and is no model"),
)


def pack(meta: dict[str, Any], arrays: dict[str, NDArray[Any]], package: str) -> bytes:
    """The bytes of a file."""
    from safetensors.numpy import save

    about = {"format": FORMAT, "version": VERSION, "package": package, **meta}
    text = dumps({"sha256": _NO_DIGEST.decode(), **about})
    whole = {name: np.require(array, requirements="C") for name, array in arrays.items()}
    data = save(whole, metadata={_KEY: text})
    header = _header_end(data) - 8
    if header > MOST_HEADER:
        raise WrongContent(
            f"its parameters and other data take {header} bytes as JSON, more than the "
            f"{MOST_HEADER} that a model file may have"
        )
    return sealed(data)


def sealed(data: bytes) -> bytes:
    """The same file with the right digest."""
    found = _DIGEST.search(data, 8, _header_end(data))
    if found is None:
        raise WrongContent("its header has no digest")
    start, end = found.span(1)
    digest = _digest(data, start, end).encode()
    return b"".join((data[:start], digest, data[end:]))


def unpack(path: AnyPath) -> tuple[dict[str, Any], dict[str, NDArray[Any]], int]:
    """What ``pack`` was given, and the size of the file; every byte of it is checked."""
    data = _read(path)
    size = _header_end(data)
    found = _DIGEST.search(data, 8, size)
    if found is None:  # it was there a moment ago
        raise ModelFileError(path, "changed while it was read: read it again")
    if _digest(data, *found.span(1)).encode() != found[1]:
        raise ModelFileError(
            path,
            "is damaged: its checksum does not match its contents. Copy it again, or save the "
            "model again",
        )
    try:
        header = loads(data[8:size].decode())
        meta = loads(header["__metadata__"][_KEY])
        kinds = {str(entry["dtype"]) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(path, f"has a header that makes no sense: {error}") from None
    _check_version(path, meta)
    if not kinds <= _DTYPES:
        raise ModelFileError(path, f"has arrays of unknown types: {sorted(kinds - _DTYPES)}")
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return meta, load(data), len(data)
    except (SafetensorError, ValueError, OverflowError) as error:
        raise ModelFileError(path, f"has arrays that do not fit the file: {error}") from None


def _header_end(data: bytes) -> int:
    return min(8 + int.from_bytes(data[:8], "little"), len(data))


def _digest(data: bytes, start: int, end: int) -> str:
    whole = hashlib.sha256(memoryview(data)[:start])
    whole.update(_NO_DIGEST)
    whole.update(memoryview(data)[end:])
    return whole.hexdigest()


def _read(path: AnyPath) -> bytes:
    """All bytes, but of a file that is no safetensors file not more than the first few."""
    kind = os.stat(path)
    if stat.S_ISDIR(kind.st_mode):
        raise ModelFileError(path, "is a folder: give the path of the model file in it")
    if not stat.S_ISREG(kind.st_mode):
        raise ModelFileError(path, "is not an ordinary file: copy it to one first")
    with Path(path).open("rb") as file:
        start = file.read(64)
        if not start:
            raise ModelFileError(path, "is empty: it was perhaps never written; save it again")
        length = int.from_bytes(start[:8], "little")
        if start[8:9] != b"{":
            for begin, what in _OTHERS:
                if start.startswith(begin):
                    raise ModelFileError(path, what)
            raise ModelFileError(path, "is no model file, or is cut off or damaged at its start")
        if length > MOST_HEADER or 8 + length > kind.st_size:
            raise ModelFileError(
                path,
                f"says that its header takes {length} bytes of its {kind.st_size}: it is cut off, "
                "damaged, or no model file",
            )
        file.seek(0)
        if _DIGEST.search(file.read(8 + length), 8) is None:
            raise ModelFileError(
                path,
                "is a safetensors file, but no model of this package; or its header is damaged",
            )
        file.seek(0)
        return file.read()


def _check_version(path: AnyPath, meta: Any) -> None:
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ModelFileError(path, "is a safetensors file, but no model of this package")
    version = meta.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(path, f"has no known format version: {version!r}")
    if version > VERSION:
        raise NewerFormatError(
            path,
            f"has format version {version}, written by pegasos {meta.get('package')}; this one "
            f"reads up to version {VERSION}: upgrade pegasos",
        )
