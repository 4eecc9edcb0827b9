"""Formats by the names of files, and which options each has a use for."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from pegasos.data.dataset import Options
from pegasos.data.files import compression

FORMATS = ("svmlight", "csv", "parquet", "arrow", "npz", "npy", "cache")
"""``arrow`` is Feather too."""

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".npy": "npy",
    ".cache": "cache",
}
_TEXT = ("svmlight", "csv")  # may be compressed

_ALWAYS = {"format", "features", "labels", "dtype", "threads"}  # threads: at most so many
_TABLE = {"label", "weight", "weight_there", "text"}
_USES = {
    "svmlight": {"zero_based", "multilabel", "skip_bad_lines"},
    "csv": _TABLE | {"skip_bad_lines", "header", "delimiter", "block_bytes"},
    "parquet": _TABLE,
    "arrow": _TABLE,
    "npz": set(),
    "npy": {"label", "weight"},
    "cache": set(),
}


def format_of(path: str | os.PathLike[str]) -> str:
    """The format of a file, by its name; of a folder, cache.

    Names with any other ending, or none, are svmlight: ``a9a``, ``a9a.t``, ``data.svm.gz``.
    """
    ending = compression(path)
    plain = Path(path).with_suffix("") if ending else Path(path)
    if Path(path).is_dir():
        return "cache"
    found = _ENDINGS.get(plain.suffix.lower(), "svmlight")
    if ending and found not in _TEXT:
        raise ValueError(f"{path}: {found} files are not read compressed: unpack it first")
    return found


def resolved(path: str | os.PathLike[str], options: Options) -> Options:
    """The options with the format to read ``path`` as; ValueError for one it would ignore."""
    found = options.format or format_of(path)
    if found not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {found!r}")
    for field in fields(Options):
        given = getattr(options, field.name)
        if given != field.default and field.name not in _ALWAYS | _USES[found]:
            raise ValueError(f"{field.name}={given!r} is of no use for {path}, a {found} file")
    for name in ("features", "threads", "block_bytes"):  # no threads would read nothing, for ever
        count = getattr(options, name)
        if count is not None and (not isinstance(count, int | np.integer) or count < 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {count!r}")
    dtype = np.dtype(options.dtype).type  # readers compare it: "float32" is as good
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {options.dtype!r}")
    return replace(options, format=found, dtype=dtype)
