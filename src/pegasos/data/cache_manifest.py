"""The manifest of a cache: what its arrays are, where its blocks lie, and their checksums.

The last line of the file is the SHA-256 of all before it. So damage of any byte shows before the
contents are believed; what they say is checked all the same, since a checksum proves no sense.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pegasos.data.dataset import DataError
from pegasos.data.npy import HEADER

NAME = "manifest.json"
FORMAT, VERSION = "pegasos cache", 1

_TYPES: dict[str, tuple[str, ...]] = {
    "indptr": ("<i8",),
    "indices": ("<i4", "<i8"),
    "values": ("<f4", "<f8", "|i1", "|u1"),
    "weights": ("<f8",),
    "qid": ("<i8",),
}
STARTS = {"indptr": ("indices", "values"), "label_indptr": ("label_indices",)}
"""Arrays that say where rows begin in others: n + 1 entries, a 0 before the first block."""

_LABELS: dict[str | None, tuple[dict[str, str], type | None]] = {
    None: ({}, None),
    "int": ({"labels": "<f8"}, None),
    "float": ({"labels": "<f8"}, None),
    "text": ({"labels": "<i4"}, str),
    "indicator": ({"label_indptr": "<i8", "label_indices": "<i4"}, float),
}
"""The arrays of each kind of labels, and what their names are."""

_LARGEST = 1 << 30
_SEAL = ',\n"sha256": "%s"}\n'


class Array(NamedTuple):
    """One npy file."""

    dtype: str
    shape: tuple[int, ...]
    header_crc: int

    @property
    def row_size(self) -> int:
        """Bytes of an entry of the first dimension."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape[1:])

    @property
    def file_size(self) -> int:
        """Bytes of the file."""
        return HEADER + self.shape[0] * self.row_size


class Block(NamedTuple):
    """Rows that are checked together."""

    row: int
    rows: int
    ranges: dict[str, tuple[int, int, int]]  # array -> first byte, bytes, CRC


class Manifest(NamedTuple):
    """All of it, in the order of the file."""

    rows: int
    features: int
    stored: int  # values
    labels: str | None  # their kind
    label_names: tuple[Any, ...] | None  # strings of "text", numbers of "indicator"
    feature_names: tuple[str, ...] | None
    arrays: dict[str, Array]
    blocks: Sequence[Block]

    @property
    def sparse(self) -> bool:
        """Whether rows are CSR."""
        return "indptr" in self.arrays

    @property
    def ragged(self) -> dict[str, str]:
        """What says where rows begin, of arrays with as many entries in a row as it happens."""
        there = (starts for starts in STARTS if starts in self.arrays)
        return {entries: starts for starts in there for entries in STARTS[starts]}

    def render(self) -> bytes:
        """The bytes of the file."""
        told = {"format": FORMAT, "version": VERSION, **self._asdict()}
        body = json.dumps(told, allow_nan=False).removesuffix("}")
        return (body + _SEAL % hashlib.sha256(body.encode()).hexdigest()).encode()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a cache; DataError for anything that cannot be right."""
    file = folder / NAME
    if not file.exists():
        what = f"no {NAME} in this folder: not a cache, or one that was never finished"
        raise DataError(folder, what)
    if file.stat().st_size > _LARGEST:
        raise DataError(file, "too large to be the manifest of a cache")
    return parse(file, file.read_bytes())


def parse(path: Any, raw: bytes) -> Manifest:
    """The manifest in ``raw``."""
    cut = len(raw) - len(_SEAL % ("0" * 64))
    body = raw[: max(cut, 0)]
    if raw[len(body) :] != (_SEAL % hashlib.sha256(body).hexdigest()).encode():
        raise DataError(path, "the checksum of the manifest is wrong: damaged, or not one of ours")
    try:
        told = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"the manifest is not JSON: {error}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise DataError(path, "this is the manifest of something else than a cache of pegasos")
    if told.get("version") != VERSION:
        what = f"the cache has version {told.get('version')!r}, this package reads {VERSION}"
        raise DataError(path, f"{what}: make it anew, or use the package that wrote it")
    try:
        return _believed(told)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(path, f"the manifest contradicts itself: {error!s:.200}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} in JSON")


def _must(true: bool, what: str) -> None:
    if not true:
        raise ValueError(what)


def _count(value: Any, what: str, least: int = 0) -> int:
    _must(type(value) is int and least <= value < 1 << 62, f"{what} is {value!r:.40}")
    return int(value)


def _believed(told: dict[str, Any]) -> Manifest:
    arrays, (labels, named) = told["arrays"], _LABELS[told["labels"]]
    types = _TYPES | {name: (dtype,) for name, dtype in labels.items()}
    found = Manifest(
        _count(told["rows"], "rows", 1),
        _count(told["features"], "features", 1),
        _count(told["stored"], "stored values"),
        told["labels"],
        _names(told["label_names"], named, "label_names"),
        _names(told["feature_names"], str, "feature_names"),
        {name: _array(name, types.get(name, ()), *array) for name, array in arrays.items()},
        [_block(*block) for block in told["blocks"]],
    )
    _fits(found, labels)
    names, called = found.label_names, found.feature_names
    _must((names is None) == (named is None), "label_names")
    _must(len(set(names or ())) == len(names or ()), "label_names are not different")
    _must(called is None or len(called) == found.features, "feature_names")
    _tiles(found)
    return found


def _array(name: str, types: tuple[str, ...], dtype: str, shape: list[int], crc: int) -> Array:
    _must(dtype in types, f"array {name!r:.40} of {dtype!r:.40}")
    sizes = tuple(_count(size, f"the shape of {name}") for size in shape)
    return Array(dtype, sizes, _count(crc, "a CRC"))


def _block(row: int, rows: int, ranges: dict[str, list[int]]) -> Block:
    told = {}
    for name, (first, size, crc) in ranges.items():
        told[name] = _count(first, "a byte"), _count(size, "bytes"), _count(crc, "a CRC")
    return Block(_count(row, "a first row"), _count(rows, "rows of a block", 1), told)


def _names(given: Any, kind: type | None, what: str) -> tuple[Any, ...] | None:
    if given is None:
        return None
    _must(isinstance(given, list) and all(type(name) is kind for name in given), what)
    return tuple(given)


def _fits(found: Manifest, labels: dict[str, str]) -> None:
    """The right arrays, each of the right length."""
    arrays, n, ragged = found.arrays, found.rows, found.ragged
    needed = {"values"} | ({"indptr", "indices"} if found.sparse else set()) | labels.keys()
    _must(set(arrays) - {"weights", "qid"} == needed, f"arrays are {sorted(arrays)}")
    for name, array in arrays.items():
        length = found.stored if name in ragged else n + (name in STARTS)
        right = name == "label_indices" or array.shape[0] == length  # of those there are any number
        _must(right, f"{name} has {array.shape[0]} entries, not {length}")
        dense = name == "values" and not found.sparse
        _must(len(array.shape) == 1 + dense, f"the shape of {name}")
    if not found.sparse:
        _must(arrays["values"].shape[1] == found.features, "values have other columns")
        _must(found.stored == n * found.features, "stored values are not rows x features")


def _tiles(found: Manifest) -> None:
    """Blocks cover all rows and all bytes once, in order."""
    row, ragged = 0, found.ragged
    at = {name: HEADER + (name in STARTS) * array.row_size for name, array in found.arrays.items()}
    for block in found.blocks:
        _must(block.row == row, f"a block begins in row {block.row}, not {row}")
        _must(set(block.ranges) == set(found.arrays), f"the arrays of the block of row {row}")
        row += block.rows
        sizes: dict[str, int] = {}
        for name, (first, size, _) in block.ranges.items():
            array = found.arrays[name]
            _must(first == at[name], f"a block of {name} begins at byte {first}")
            at[name] += size
            sizes[name], left = divmod(size, array.row_size)
            right = name in ragged or sizes[name] == block.rows
            _must(not left and right, f"a block of {name} has {size} bytes")
        _must(not found.sparse or sizes["indices"] == sizes["values"], "a block's values")
    _must(row == found.rows, f"blocks have {row} rows of {found.rows}")
    for name, array in found.arrays.items():
        _must(at[name] == array.file_size, f"blocks of {name} end at byte {at[name]}")
