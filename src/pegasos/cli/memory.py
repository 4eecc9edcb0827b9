"""What memory a fit takes; rows that would take too much of it are read a block at a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.cli.commands import Train
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.reading import Prepared, columns_of, describe, options_of, read_prepared
from pegasos.cli.say import Voice, size
from pegasos.data import format_of
from pegasos.data.dataset import Data, Options
from pegasos.sites import Blocks
from pegasos.solve import rows_of
from pegasos.solvers.auto import MOST_FEATURES
from pegasos.util import sparse
from pegasos.util.memory import available

_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SHARE = 0.7  # of the free memory that rows may take
_PACKED = {".gz": 4, ".bz2": 5, ".xz": 6, ".zst": 4, ".parquet": 3}  # what they become, roughly
# Bytes of a run's own memory: the interpreter and its libraries; for every row norms, labels and
# weights, and for every lane duals (at work and of the last certificate), labels and lists; for
# every feature and lane weights, sums and their copies.
_BASE, _ROW, _ROW_LANE, _FEATURE_LANE = 90e6, 34, 26, 96


def rows_of_job(voice: Voice, job: Train, path: Path) -> Prepared:
    """Rows in memory, or on disk if they would not fit."""
    whole = _why_whole(job)
    budget = _budget(voice, job, path) if job.memory is not None or whole is None else None
    if budget is None:
        return read_prepared(voice, path, job)
    if whole is not None:
        raise whole
    return _read_large(voice, job, path, budget)


def _why_whole(job: Train) -> CommandError | None:
    """What keeps rows from being read a block at a time."""
    if job.fit.multi_class != "ovr":
        return CommandError(f"--multi-class {job.fit.multi_class} needs the rows in memory")
    if job.cv is not None:
        return CommandError("--cv needs the rows in memory: leave out --memory")
    if job.prepare.text is not None or job.prepare.scale != "none":
        return UsageError(
            "--memory takes rows of numbers as they are: leave out --text and --scale"
        )
    if job.read.multilabel:
        return UsageError("--memory takes classes, not rows with several labels")
    return None


def _budget(voice: Voice, job: Train, path: Path) -> int | None:
    """The memory that a fit may take where rows are read a block at a time; None: all at once.

    Without --memory that is decided by the size of the file: parsed, a row of text takes about as
    much as it did.
    """
    if job.memory is not None:
        return _parsed_size(job.memory)
    free = available()
    if free is None or not path.is_file():
        return None
    need = path.stat().st_size * _PACKED.get(path.suffix, 1)
    if need <= _SHARE * free:
        return None
    voice.tell(
        f"{path}: {size(need)} of rows would hardly fit {size(free)} of memory: they are read "
        "a block at a time (--memory says how much they may take)"
    )
    return int(_SHARE * free)


def _parsed_size(text: str) -> int:
    """Bytes of 300M, 2G, 2GiB, ..."""
    plain = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = plain[-1:] if plain[-1:] in "KMGT" else ""
    try:
        number = float(plain.removesuffix(unit))
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise UsageError(f"--memory {text}: write a number and K, M, G or T, like 300M")
    return int(number * _UNITS[unit])


def _read_large(voice: Voice, job: Train, path: Path, memory: int) -> Prepared:
    """Rows in a cache beside the file, or in ``--cache-dir``, that are read a block at a time."""
    from pegasos.data.cache import Cache  # most fits need none of this
    from pegasos.data.chunks import CacheChunks

    began = time.perf_counter()
    options = options_of(job.read, labels=True, n_jobs=job.fit.threads)
    cache = _cached(voice, path, options, job.cache_dir)
    opened = Cache(cache)
    rows, y, weight = rows_of(CacheChunks(opened), job.fit.threads)
    (n, d), classes = rows.shape, np.unique(y).size
    lanes = 1 if classes == 2 else classes
    need = _BASE + n * (_ROW + _ROW_LANE * lanes) + _FEATURE_LANE * d * lanes
    if d <= MOST_FEATURES:
        need += 24 * d * d + 110 * n  # of the second-order solvers
    if need > memory:
        raise CommandError(
            f"{n:,} rows of {d:,} features need {size(need)} of memory even when they stay on "
            f"disk: --memory allows {size(memory)}"
        )
    data = Data(rows, y, weight, feature_names=opened.manifest.feature_names)
    describe(voice, path, data)
    if isinstance(rows, Blocks):
        voice.tell(f"  read a block at a time from {cache} ({len(rows.parts())} blocks)")
    else:
        voice.tell(f"  mapped from {cache}: they fit the memory that files may have")
    return Prepared(data, (), options, columns_of(job), time.perf_counter() - began)


def _cached(voice: Voice, path: Path, options: Options, folder: Path | None) -> Path:
    """The cache of a file: itself, one that is there and newer, or a new one."""
    from pegasos.data.cache_manifest import NAME
    from pegasos.data.convert import convert

    if format_of(path) == "cache":
        return path
    place = (path.parent if folder is None else folder) / f"{path.name}.cache"
    if not place.parent.is_dir():
        raise CommandError(f"{place.parent}: there is no such folder")
    manifest = place / NAME
    if manifest.exists() and manifest.stat().st_mtime >= path.stat().st_mtime:
        voice.tell(f"{place} is there and newer than {path}: it is used")
        return place
    if place.exists() and not manifest.exists():
        raise CommandError(f"{place} is there and no cache: move it, or give --cache-dir")
    voice.tell(f"{path} is converted to {place} first")
    try:
        convert(path, place, options, overwrite=place.exists())
    except OSError as error:
        raise CommandError(f"{place} could not be written: {error.strerror or error}") from None
    return place


def memory_needed(X: Any, lanes: int, second_order: bool) -> str:
    """What a fit is expected to take at most, the rows included (``benchmarks/memory.py``)."""
    n, d = X.shape
    need = _bytes_of(X) + lanes * (16 * n + 24 * d) + 80e6
    if second_order:
        need += 150 * n + 24 * d**2
    return size(need)


def _bytes_of(X: Any) -> int:
    """Bytes of the rows, as far as they are in memory."""
    if isinstance(X, Blocks):
        return 0
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(int(array.nbytes) for array in arrays if not _mapped(array))


def _mapped(array: Any) -> bool:
    """Whether it is pages of a file, which are the system's."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None
