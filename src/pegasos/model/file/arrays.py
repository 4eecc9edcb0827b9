"""Arrays of a model file: numbers as they are, strings as UTF-8 bytes and where each one ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.model.file.errors import WrongContent

Arrays = dict[str, NDArray[Any]]

ROOM = 1 << 24
"""Bytes that may be allocated whatever the size of the file."""

_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
            "float32", "float64")  # fmt: skip


def take(arrays: Arrays, name: str, ndim: int, *types: str) -> NDArray[Any]:
    """The array of that name, of one of the types; it is taken out of ``arrays``."""
    if name not in arrays:
        raise WrongContent(f"the array {name!r} is missing")
    array = arrays.pop(name)
    if array.ndim != ndim or array.dtype.name not in types:
        raise WrongContent(
            f"{name!r} is an array of {array.dtype.name} of shape {array.shape}, and should be of "
            f"{' or '.join(types)} and have {ndim} dimensions"
        )
    return array


def put_text(arrays: Arrays, name: str, texts: Sequence[str]) -> None:
    """Strings, any."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    arrays[f"{name}.utf8"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    arrays[f"{name}.ends"] = np.cumsum([len(text) for text in encoded], dtype=np.int64)


def take_text(arrays: Arrays, name: str) -> list[str]:
    """The strings."""
    data = take(arrays, f"{name}.utf8", 1, "uint8").tobytes()
    ends = take(arrays, f"{name}.ends", 1, "int64")
    check_ends(name, ends, len(data))
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    try:
        return [
            data[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise WrongContent(f"{name!r} is no UTF-8: {error}") from None


def check_ends(name: str, ends: NDArray[Any], size: int) -> None:
    """Where parts of an array end: never before the one before, the last at its end."""
    last = int(ends[-1]) if ends.size else 0
    if last != size or (ends.size and ends[0] < 0) or (np.diff(ends) < 0).any():
        raise WrongContent(f"{name!r} has parts that do not fit its size of {size}")


def put_array(arrays: Arrays, name: str, array: NDArray[Any]) -> str:
    """Any array of numbers, truth values or strings; returns what ``take_array`` needs to know."""
    array = np.asarray(array)
    if array.dtype.name in _NUMBERS:
        arrays[name] = array
        return "numbers"
    if array.dtype.kind == "b":
        arrays[name] = array.astype(np.uint8)
        return "bool"
    texts: Any = array.tolist() if array.ndim == 1 else [None]
    if array.dtype.kind in "UTO" and all(isinstance(text, str) for text in texts):
        put_text(arrays, name, texts)
        return "objects" if array.dtype.kind == "O" else "text"
    raise WrongContent(
        f"{name!r} is an array of {array.dtype} of shape {array.shape}: what is saved are numbers, "
        "truth values, and strings in one dimension"
    )


def take_array(arrays: Arrays, name: str, kind: Any, room: int = ROOM) -> NDArray[Any]:
    """The array; strings that would take more than ``room`` bytes come as objects."""
    if kind in ("numbers", "bool"):
        types = _NUMBERS if kind == "numbers" else ("uint8",)
        array = take(arrays, name, arrays[name].ndim if name in arrays else 0, *types)
        if kind == "numbers":
            return array
        if (array > 1).any():
            raise WrongContent(f"{name!r} has truth values other than 0 and 1")
        return array.astype(np.bool_)
    if kind not in ("text", "objects"):
        raise WrongContent(f"{name!r} has the unknown kind {kind!r}")
    texts = take_text(arrays, name)
    # A text array gives all strings the room of the longest, and drops trailing zeros.
    width = max(map(len, texts), default=0)
    if kind == "text" and 4 * width * len(texts) <= room:
        return np.array(texts, dtype=f"U{max(1, width)}")
    return np.array(texts, dtype=object)
