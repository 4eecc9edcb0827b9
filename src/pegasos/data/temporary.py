"""Files and folders that appear whole or not at all: written beside, flushed, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def new_file(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """A path to write to; it becomes ``path`` if all goes well, and leaves nothing otherwise.

    It ends as ``path`` does, so that what writes can go by the name.
    """
    path = Path(path)
    _refuse(path, overwrite)
    folder = Path(tempfile.mkdtemp(prefix=".tmp-", dir=path.parent))
    try:
        unfinished = folder / path.name
        yield unfinished
        _flush(unfinished)
        os.replace(unfinished, path)
        _flush(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_folder(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill; it becomes ``path`` if all goes well, and leaves nothing otherwise.

    A folder that is replaced is moved aside first: for a moment there is none, never half of one.
    """
    path = Path(path)
    _refuse(path, overwrite)
    parent = Path(tempfile.mkdtemp(prefix=".tmp-", dir=path.parent))
    unfinished, before = parent / path.name, parent / "before"
    unfinished.mkdir()
    try:
        yield unfinished
        for file in unfinished.iterdir():
            _flush(file)
        _flush(unfinished)
        if path.exists():
            os.rename(path, before)
        try:
            os.rename(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.rename(before, path)
            raise
        _flush(path.parent)
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def _refuse(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; overwrite it only if you mean to (overwrite=True)")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
