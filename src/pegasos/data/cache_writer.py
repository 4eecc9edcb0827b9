"""Writing a cache, block by block: no more than a block is in memory."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.data.cache_manifest import NAME, STARTS, Array, Block, Manifest
from pegasos.data.csr import check_csr, check_dense
from pegasos.data.dataset import Data, DataError, slices
from pegasos.data.labels import numbered
from pegasos.data.npy import HEADER, GrowingArray, header_bytes, map_array
from pegasos.util import sparse
from pegasos.util.atomic import atomic_folder

_VALUES = (np.float32, np.float64, np.int8, np.uint8)
_EXACT = 2**53


def write_cache(
    blocks: Iterable[Data],
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    overwrite: bool = False,
) -> Manifest:
    """Write rows to a new folder, which appears when it is whole.

    ``features`` is their number if more than the rows show. Only a cache is ever overwritten.
    """
    if Path(path).is_dir() and overwrite and not (Path(path) / NAME).exists():
        raise FileExistsError(f"{path} is a folder, but not a cache: it is not overwritten")
    with atomic_folder(path, overwrite=overwrite) as folder:
        writer = CacheWriter(folder, path)
        try:
            for data in blocks:
                writer.add(data)
            return writer.finish(features)
        finally:
            writer.abandon()


class CacheWriter:
    """The files of a cache while they grow."""

    def __init__(
        self, folder: Path, path: str | os.PathLike[str], narrow: int = int(np.iinfo(np.int32).max)
    ) -> None:
        """``path`` is what errors call the cache.

        Up to ``narrow`` stored values, indices take four bytes: the core wants both of one type.
        """
        self._folder, self._path, self._narrow = folder, path, narrow
        self._arrays: dict[str, GrowingArray] = {}
        self._blocks: list[tuple[int, dict[str, tuple[int, int]]]] = []  # rows; entries, CRC
        self._features = self._stored = self._label_count = 0
        self._sparse = True
        self._kind: str | None = None
        self._names: dict[str | float, int] = {}  # of labels that are text, or of an indicator
        self._feature_names: tuple[str, ...] | None = None

    def add(self, data: Data) -> None:
        """Write some rows."""
        if data.X is None:
            raise DataError(self._path, "a cache holds numbers, not text")
        for part in slices(data):
            if part.n:
                self._add(part)

    def finish(self, features: int | None = None) -> Manifest:
        """Write the headers and the manifest."""
        self._features = max(self._features, features or 0)
        if not self._blocks or not self._features:
            raise DataError(self._path, "there are no rows, or no features")
        files = {name: file.close() for name, file in self._arrays.items()}
        names = tuple(self._names) if self._kind in ("text", "indicator") else None
        manifest = Manifest(
            sum(rows for rows, _ in self._blocks),
            self._features,
            self._stored,
            {
                name: Array(h.dtype.str, h.shape, zlib.crc32(header_bytes(h.shape, h.dtype)))
                for name, h in files.items()
            },
            self._placed(),
            self._kind,
            names,
            self._feature_names,
        )
        (self._folder / NAME).write_bytes(manifest.render())
        return manifest

    def abandon(self) -> None:
        """Close what is open."""
        for file in self._arrays.values():
            file.abandon()

    def _add(self, data: Data) -> None:
        first = not self._blocks
        parts = self._rows(data, first) | self._labels(data, first)
        if data.sample_weight is not None:
            parts["weights"] = np.asarray(data.sample_weight, np.float64)
        if data.qid is not None:
            parts["qid"] = np.asarray(data.qid, np.int64)
        if first:
            self._feature_names = data.feature_names
            for name, part in parts.items():
                file = GrowingArray(self._folder / f"{name}.npy", part.dtype, part.shape[1:])
                if name in STARTS:
                    file.add(np.zeros(1))
                self._arrays[name] = file
        if set(parts) != set(self._arrays):
            what = f"{sorted(parts)} after rows with {sorted(self._arrays)}"
            raise DataError(self._path, f"all rows must have the same arrays, got {what}")
        if "indices" in parts and not self._is_narrow(parts["indices"]):
            self._widen()
        written = {n: (len(part), self._arrays[n].add(part)) for n, part in parts.items()}
        self._blocks.append((data.n, written))

    def _rows(self, data: Data, first: bool) -> dict[str, NDArray[Any]]:
        X = data.X
        if first:
            self._sparse = sparse.issparse(X)
        if self._sparse != sparse.issparse(X) or (
            not self._sparse and not first and X.shape[1] != self._features
        ):
            raise DataError(self._path, "all rows must be sparse, or dense with as many columns")
        self._features = max(self._features, X.shape[1])
        if not self._sparse:
            values = self._values(np.asarray(X), first)
            check_dense(self._path, values)
            self._stored += values.size
            return {"values": values}
        csr = X.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        starts = csr.indptr.astype(np.int64)
        check_csr(self._path, csr.data, csr.indices, starts, X.shape[1])
        starts, self._stored = starts[1:] + self._stored, self._stored + csr.indices.size
        indices = csr.indices
        if first and self._is_narrow(indices):
            indices = indices.astype(np.int32)
        return {"values": self._values(csr.data, first), "indices": indices, "indptr": starts}

    def _values(self, values: NDArray[Any], first: bool) -> NDArray[Any]:
        if values.dtype not in _VALUES:
            values = values.astype(np.float64)
        if not first and not np.can_cast(values.dtype, self._arrays["values"].dtype):
            before = self._arrays["values"].dtype
            raise DataError(self._path, f"values of {values.dtype} after values of {before}")
        return values

    def _labels(self, data: Data, first: bool) -> dict[str, NDArray[Any]]:
        y = data.y
        if y is None:
            return {}
        if sparse.issparse(y):
            return self._indicator(y.tocsr(), data.label_names, first)
        y = np.asarray(y)
        if y.dtype.kind in "biuf":
            kind = "float" if y.dtype.kind == "f" else "int"
            if self._kind == "int" and kind == "float":
                self._kind = "float"  # the file holds float64 all the time
            self._known({"int", "float"}, kind, first)
            y = y.astype(np.float64)
            if not np.isfinite(y).all() or (kind == "int" and (np.abs(y) >= _EXACT).any()):
                raise DataError(self._path, "labels must be finite, and whole ones below 2^53")
            return {"labels": y}
        self._known({"text"}, "text", first)
        return {"labels": numbered(self._names, map(str, y.tolist()))}

    def _indicator(
        self, y: Any, names: NDArray[np.float64] | None, first: bool
    ) -> dict[str, NDArray[Any]]:
        self._known({"indicator"}, "indicator", first)
        called = np.arange(y.shape[1]) if names is None else names
        own = numbered(self._names, map(float, called))
        starts = y.indptr[1:].astype(np.int64) + self._label_count
        self._label_count += y.indices.size
        return {"label_indices": own[y.indices], "label_indptr": starts}

    def _known(self, kinds: set[str], kind: str, first: bool) -> None:
        if first:
            self._kind = kind
        elif self._kind not in kinds:
            raise DataError(self._path, f"labels of kind {kind} after labels of kind {self._kind}")

    def _is_narrow(self, indices: NDArray[Any]) -> bool:
        return max(self._stored, int(indices.max(initial=0))) <= self._narrow

    def _widen(self) -> None:
        """From now on, and for all that is written already, indices take eight bytes."""
        file = self._arrays["indices"]
        if file.dtype.itemsize == 8:
            return
        file.close()
        before = map_array(file.path)
        file.path.unlink()  # mapped, it stays until we are done
        wide = self._arrays["indices"] = GrowingArray(file.path, np.int64)
        lo = 0
        for _, written in self._blocks:
            entries, _ = written["indices"]
            written["indices"] = entries, wide.add(before[lo : lo + entries])
            lo += entries

    def _placed(self) -> tuple[Block, ...]:
        at = {
            name: HEADER + (file.dtype.itemsize if name in STARTS else 0)
            for name, file in self._arrays.items()
        }
        out, row = [], 0
        for rows, written in self._blocks:
            ranges = {}
            for name, (entries, crc) in written.items():
                size = entries * self._arrays[name].row_bytes
                ranges[name] = at[name], size, crc
                at[name] += size
            out.append(Block(row, rows, ranges))
            row += rows
        return tuple(out)
