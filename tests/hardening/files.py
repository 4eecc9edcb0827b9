"""Files that were damaged, by accident or on purpose: models, caches, checkpoints."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.common.models import random_model
from tests.common.runs import OPTIONS, X, Y
from tests.hardening.campaign import Campaign, drawn, mutated

import pegasos
from pegasos import CheckpointError
from pegasos.data import Data, DataError
from pegasos.data.cache import Cache
from pegasos.data.cache_writer import write_cache
from pegasos.data.npy import HEADER
from pegasos.model import file as model_file
from pegasos.model.file import ModelFileError
from pegasos.model.file.container import sealed
from pegasos.model.file.errors import WrongContent
from pegasos.run.checkpoint import container
from pegasos.solvers import SOLVERS
from pegasos.util.sparse import issparse


@dataclass
class Format:
    """A format: its files as they should be, reading them, and giving them right checksums."""

    files: dict[Path, bytes]
    read: Callable[[Path], None]  # after a change in one; raises `refuses` or asserts sense
    refuses: type[Exception]
    forge: Callable[[Path, bytes], dict[Path, bytes]]  # files with their right checksums

    def try_out(self, changed: dict[Path, bytes], *, may_be_read: bool) -> None:
        """Read with other bytes in some of the files, then put back what was there."""
        for path, data in changed.items():
            path.write_bytes(data)
        try:
            self.read(next(iter(changed)))
        except self.refuses:
            pass
        else:
            same = all(data == self.files[path] for path, data in changed.items())
            assert may_be_read or same, f"{next(iter(changed)).name} was accepted"
        finally:
            for path in changed:
                path.write_bytes(self.files[path])


def model(folder: Path) -> Format:
    """A model of text with names and probabilities."""
    path = folder / "model"
    model_file.write(random_model(kind="text", named=True, calibrated=True), path)

    def read(_: Path) -> None:
        found = model_file.read(path)
        assert np.isfinite(found.coef).all()
        for rows in (np.zeros((2, found.features)), np.ones((2, found.features))):
            found.predict(rows)

    def forge(changed: Path, data: bytes) -> dict[Path, bytes]:
        with suppress(WrongContent):
            return {changed: sealed(data)}
        return {}

    return Format({path: path.read_bytes()}, read, ModelFileError, forge)


def cache(folder: Path) -> Format:
    """A cache of two blocks with weights and queries."""
    path = folder / "a.cache"
    rng = np.random.default_rng(0)
    rows = sparse.random_array((9, 5), density=0.5, format="csr", rng=rng).astype(np.float32)
    rows.sort_indices()
    labels = np.arange(9) % 2
    parts = [Data(rows[lo:hi], labels[lo:hi], np.ones(hi - lo), labels[lo:hi])
             for lo, hi in ((0, 4), (4, 9))]  # fmt: skip
    write_cache(parts, path)

    def read(_: Path) -> None:
        found = Cache(path)
        for number in range(found.n_blocks):
            found.block(number)
        data = found.read()
        dense = data.X.tocsr().toarray() if issparse(data.X) else np.asarray(data.X)
        assert dense.shape[0] == data.n

    manifest = path / "manifest.json"

    def forge(changed: Path, data: bytes) -> dict[Path, bytes]:
        if changed == manifest:
            return {manifest: _sealed(data.rpartition(b',\n"sha256"')[0])}
        told = json.loads(manifest.read_bytes())
        del told["sha256"]
        told["arrays"][changed.stem][2] = zlib.crc32(data[:HEADER])
        for block in told["blocks"]:
            first, size, _ = block[2][changed.stem]
            block[2][changed.stem][2] = zlib.crc32(data[first : first + size])
        return {changed: data, manifest: _sealed(json.dumps(told).encode().removesuffix(b"}"))}

    files = {file: file.read_bytes() for file in sorted(path.iterdir())}
    return Format(files, read, DataError, forge)


def checkpoint(folder: Path) -> Format:
    """Checkpoints of runs on their way, by every solver."""
    copy, files = folder / "copy.ckpt", {}
    for solver in SOLVERS:
        path = folder / f"{solver}.ckpt"
        options = OPTIONS | {"solver": solver, "tol": 1e-12}
        pegasos.solve(X, Y, max_epochs=3, checkpoint=path, **options)
        files |= {file: file.read_bytes() for file in sorted(path.iterdir()) if file.stat().st_size}

    def read(changed: Path) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(changed.parent, copy)
        options = OPTIONS | {"solver": changed.parent.stem, "tol": 1e-12}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other kernels
            result = pegasos.solve(X, Y, resume=copy, max_epochs=6, **options)
        assert np.isfinite(result.w).all()
        primal = result.certificate.primal
        kind = "free" if SOLVERS[changed.parent.stem].exact else "regularized"
        found = pegasos.certify(
            X, Y, result.w, result.b, result.duals, C=OPTIONS["C"], intercept=kind
        )
        assert found.dual <= primal * (1 + 1e-9), "it is better than the best"
        assert result.certificate.dual <= found.primal * (1 + 1e-9), "a bound above the optimum"

    def forge(changed: Path, data: bytes) -> dict[Path, bytes]:
        if changed.name == "manifest.json":
            text = data.rstrip(b"\n").rpartition(b"\n")[0]
            return {changed: text + f"\n{zlib.crc32(text):08x}\n".encode()}
        return {changed: _forged_container(data)}

    return Format(files, read, CheckpointError, forge)


def _sealed(body: bytes) -> bytes:
    """A cache's manifest, of which the last line and bracket are still to come."""
    return body + b',\n"sha256": "%s"}\n' % hashlib.sha256(body).hexdigest().encode()


def _forged_container(data: bytes) -> bytes:
    """The same arrays and header with the checksums that they should have."""
    start = container._START
    size = min(int.from_bytes(data[8:16], "little"), max(0, len(data) - start.size))
    header, arrays = data[start.size : start.size + size], data[start.size + size :]
    with suppress(Exception):  # what is no header is left as it is
        told = json.loads(header)
        at = 0
        for entry in told["arrays"]:
            length = int(np.prod(entry[2])) * np.dtype(entry[1]).itemsize
            entry[4] = zlib.crc32(arrays[at : at + length])
            at += length
        header = json.dumps(told).encode()
    return start.pack(data[:8].ljust(8), len(header), zlib.crc32(header)) + header + arrays


def _mutants(name: str) -> Callable[[Format, int], None]:
    def case(format: Format, number: int) -> None:
        rng = drawn(name, number)
        path = list(format.files)[rng.integers(len(format.files))]
        format.try_out({path: mutated(rng, format.files[path])}, may_be_read=False)

    return case


def _forgeries(name: str) -> Callable[[Format, int], None]:
    def case(format: Format, number: int) -> None:
        rng = drawn(name, number)
        path = list(format.files)[rng.integers(len(format.files))]
        forged = format.forge(path, mutated(rng, format.files[path]))
        if forged:
            format.try_out(forged, may_be_read=True)

    return case


def _truncations(format: Format, number: int) -> None:
    for path, data in format.files.items():
        if number < len(data):
            format.try_out({path: data[:number]}, may_be_read=False)
            return
        number -= len(data)
    raise AssertionError("there are not so many bytes")


_FORMATS: dict[str, tuple[Callable[[Path], Format], int]] = {
    "model": (model, 20_000), "cache": (cache, 20_000), "checkpoint": (checkpoint, 20_000),
}  # fmt: skip


def _bytes_of(start: Callable[[Path], Format]) -> int:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return sum(len(data) for data in start(Path(folder)).files.values())


def campaigns() -> list[Campaign]:
    """Three for each format."""
    found: list[Any] = []
    for name, (start, full) in _FORMATS.items():
        common = {"start": start, "sanitized": True, "group": "fuzz", "memory": 64 << 20}
        mutants, forgeries = f"{name}-mutants", f"{name}-forgeries"
        found += [
            Campaign(
                mutants, f"damaged {name} files: refused by name", case=_mutants(mutants),
                quick=300, full=full, **common,
            ),
            Campaign(
                forgeries, f"the same with right checksums: refused, or a {name} that makes sense",
                case=_forgeries(forgeries), quick=300, full=full, **common,
            ),
            Campaign(
                f"{name}-truncations", f"{name} files cut off at every byte", case=_truncations,
                quick=200, full=100_000, counted=partial(_bytes_of, start), **common,
            ),
        ]  # fmt: skip
    return found
