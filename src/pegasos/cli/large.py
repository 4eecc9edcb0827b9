"""Data larger than memory: ``pegasos train --memory``."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from pegasos.cli.arguments import PrepareArguments, ReadArguments
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.reading import Prepared, columns_of, describe, options_of
from pegasos.cli.say import Voice, size
from pegasos.data import format_of
from pegasos.data.cache import Cache
from pegasos.data.cache_manifest import NAME
from pegasos.data.chunks import CacheChunks
from pegasos.data.convert import convert
from pegasos.data.dataset import Data, Options
from pegasos.sites import Blocks
from pegasos.solve import rows_of
from pegasos.solvers.auto import MOST_FEATURES

# Bytes of a run's own memory: the interpreter and its libraries; for every row norms, labels and
# weights, and for every lane duals (at work and of the last certificate), labels and lists; for
# every feature and lane weights, sums and their copies.
_BASE, _ROW, _ROW_LANE, _FEATURE_LANE = 90e6, 34, 26, 96


def read_large(
    voice: Voice,
    path: Path,
    read: ReadArguments,
    prepare: PrepareArguments,
    n_jobs: int | None,
    memory: int,
    folder: Path | None,
) -> Prepared:
    """Rows in a cache beside the file, or in ``folder``, that are read a block at a time."""
    began = time.perf_counter()
    if prepare.text is not None or prepare.scale != "none":
        raise UsageError("--memory takes rows of numbers as they are: leave out --text and --scale")
    if read.multilabel:
        raise UsageError("--memory takes classes, not rows with several labels")
    options = options_of(read, labels=True, n_jobs=n_jobs)
    cache = _cached(voice, path, options, folder)
    opened = Cache(cache)
    rows, y, weight = rows_of(CacheChunks(opened), n_jobs)
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
    return Prepared(data, (), options, columns_of(read, prepare), time.perf_counter() - began)


def _cached(voice: Voice, path: Path, options: Options, folder: Path | None) -> Path:
    """The cache of a file: itself, one that is there and newer, or a new one."""
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
