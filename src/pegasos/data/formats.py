"""Formats by the names of files, and which options each has a use for."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pegasos.data.dataset import Options
from pegasos.data.files import compression
from pegasos.util.files import AnyPath


class Format(NamedTuple):
    """What reads a format, and how its files are known."""

    module: str
    endings: tuple[str, ...]
    uses: set[str]  # options, beside those of every format
    text: bool = False  # may be compressed


_ALWAYS = {"format", "features", "labels", "dtype", "threads"}  # threads: at most so many
_TABLE = {"label", "weight", "weight_there", "text"}
_CSV = _TABLE | {"skip_bad_lines", "header", "delimiter", "block_bytes"}
KNOWN = {
    "svmlight": Format("svmlight", (), {"zero_based", "multilabel", "skip_bad_lines"}, text=True),
    "csv": Format("csv", (".csv", ".tsv", ".tab"), _CSV, text=True),
    "parquet": Format("arrow", (".parquet", ".pq"), _TABLE),
    "arrow": Format("arrow", (".arrow", ".feather", ".ipc"), _TABLE),
    "npz": Format("arrays", (".npz",), set()),
    "npy": Format("arrays", (".npy",), {"label", "weight"}),
    "cache": Format("cache", (".cache",), set()),
}
FORMATS = tuple(KNOWN)
"""``arrow`` is Feather too."""


def format_of(path: AnyPath) -> str:
    """The format of a file, by its name; of a folder, cache.

    Names with any other ending, or none, are svmlight: ``a9a``, ``a9a.t``, ``data.svm.gz``.
    """
    if Path(path).is_dir():
        return "cache"
    packed = compression(path)
    ending = (Path(path).with_suffix("") if packed else Path(path)).suffix.lower()
    found = next((name for name in FORMATS if ending in KNOWN[name].endings), "svmlight")
    if packed and not KNOWN[found].text:
        raise ValueError(f"{path}: {found} files are not read compressed: unpack it first")
    return found


def resolved(path: AnyPath, options: Options) -> Options:
    """The options with the format to read ``path`` as; ValueError for one it would ignore."""
    found = options.format or format_of(path)
    if found not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {found!r}")
    for field in fields(Options):
        given = getattr(options, field.name)
        if given != field.default and field.name not in _ALWAYS | KNOWN[found].uses:
            raise ValueError(f"{field.name}={given!r} is of no use for {path}, a {found} file")
    for name in ("features", "threads", "block_bytes"):  # no threads would read nothing, for ever
        count = getattr(options, name)
        if count is not None and (not isinstance(count, int | np.integer) or count < 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {count!r}")
    dtype = np.dtype(options.dtype).type  # readers compare it: "float32" is as good
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {options.dtype!r}")
    return replace(options, format=found, dtype=dtype)
