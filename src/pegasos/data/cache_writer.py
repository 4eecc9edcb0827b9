"""Writing a cache, block by block: no more than a block is in memory."""

from __future__ import annotations

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
from pegasos.data.npy import GrowingArray, map_array
from pegasos.util import sparse
from pegasos.util.atomic import atomic_folder
from pegasos.util.files import AnyPath

_VALUES = (np.float32, np.float64, np.int8, np.uint8)
_EXACT = 2**53
_NARROW = int(np.iinfo(np.int32).max)


def write_cache(
    blocks: Iterable[Data], path: AnyPath, *, features: int | None = None, overwrite: bool = False
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

    def __init__(self, folder: Path, path: AnyPath, narrow: int = _NARROW) -> None:
        """``path`` is what errors call the cache.

        Up to ``narrow`` stored values, indices take four bytes: the core wants both of one type.
        """
        self._folder, self._path, self._narrow = folder, path, narrow
        self._arrays: dict[str, GrowingArray] = {}  # none before the first rows
        self._blocks: list[Block] = []
        self._rows = self._features = self._stored = self._label_count = 0
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
        manifest = Manifest(
            self._rows,
            self._features,
            self._stored,
            self._kind,
            tuple(self._names) if self._kind in ("text", "indicator") else None,
            self._feature_names,
            {
                name: Array(file.dtype.str, file.shape, zlib.crc32(file.close()))
                for name, file in self._arrays.items()
            },
            self._blocks,
        )
        (self._folder / NAME).write_bytes(manifest.render())
        return manifest

    def abandon(self) -> None:
        """Close what is open."""
        for file in self._arrays.values():
            file.abandon()

    def _add(self, data: Data) -> None:
        parts = self._values(data.X) | self._labels(data)
        if data.sample_weight is not None:
            parts["weights"] = np.asarray(data.sample_weight, np.float64)
        if data.qid is not None:
            parts["qid"] = np.asarray(data.qid, np.int64)
        if not self._arrays:
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
        ranges = {name: self._arrays[name].add(part) for name, part in parts.items()}
        self._blocks.append(Block(self._rows, data.n, ranges))
        self._rows += data.n

    def _values(self, X: Any) -> dict[str, NDArray[Any]]:
        first, is_sparse = not self._arrays, sparse.issparse(X)
        other = self._sparse != is_sparse or not (is_sparse or X.shape[1] == self._features)
        if other and not first:
            raise DataError(self._path, "all rows must be sparse, or dense with as many columns")
        self._sparse, self._features = is_sparse, max(self._features, X.shape[1])
        X = sparse.canonical(X) if is_sparse else np.asarray(X)
        values = X.data if is_sparse else X
        if values.dtype not in _VALUES:
            values = values.astype(np.float64)
        if not first and not np.can_cast(values.dtype, self._arrays["values"].dtype):
            before = self._arrays["values"].dtype
            raise DataError(self._path, f"values of {values.dtype} after values of {before}")
        starts, self._stored = self._stored, self._stored + values.size
        if not is_sparse:
            check_dense(self._path, values)
            return {"values": values}
        indptr = X.indptr.astype(np.int64)
        check_csr(self._path, values, X.indices, indptr, X.shape[1])
        narrow = first and self._is_narrow(X.indices)
        indices = X.indices.astype(np.int32) if narrow else X.indices
        return {"values": values, "indices": indices, "indptr": indptr[1:] + starts}

    def _labels(self, data: Data) -> dict[str, NDArray[Any]]:
        y = data.y
        if y is None:
            return {}
        if sparse.issparse(y):
            self._label_kind("indicator")
            y = y.tocsr()
            called = np.arange(y.shape[1]) if data.label_names is None else data.label_names
            own = numbered(self._names, map(float, called))
            starts = y.indptr[1:].astype(np.int64) + self._label_count
            self._label_count += y.indices.size
            return {"label_indices": own[y.indices], "label_indptr": starts}
        y = np.asarray(y)
        if y.dtype.kind not in "biuf":
            self._label_kind("text")
            return {"labels": numbered(self._names, map(str, y.tolist()))}
        kind = "float" if y.dtype.kind == "f" else "int"
        self._label_kind(kind)
        y = y.astype(np.float64)
        if not np.isfinite(y).all() or (kind == "int" and (np.abs(y) >= _EXACT).any()):
            raise DataError(self._path, "labels must be finite, and whole ones below 2^53")
        return {"labels": y}

    def _label_kind(self, kind: str) -> None:
        known = self._kind or kind
        if known != kind and not {known, kind} <= {"int", "float"}:
            raise DataError(self._path, f"labels of kind {kind} after labels of kind {known}")
        self._kind = kind if known == kind else "float"  # in the file they are float64 all the time

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
        for block in self._blocks:
            lo, entries = wide.rows, block.ranges["indices"][1] // before.itemsize
            block.ranges["indices"] = wide.add(before[lo : lo + entries])
