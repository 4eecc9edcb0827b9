"""Files and folders that appear whole or not at all.

What is written goes to a temporary sibling, then to the disk, and only then takes the name. If
anything fails on the way, Ctrl-C included, what had the name before has it still, and the sibling
is removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pegasos.util.files import AnyPath

TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.tmp(\..*)?")
"""Names of what is being written, or was when its process was killed."""

_NO_FSYNC = (errno.EINVAL, errno.ENOTSUP)  # file systems that cannot do it for folders


@contextmanager
def atomic_write(path: AnyPath, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A binary file to write to, which takes the place of ``path`` at the end of the block."""
    with atomic_path(path, overwrite=overwrite) as unfinished, open(unfinished, "wb") as file:
        yield file


@contextmanager
def atomic_path(path: AnyPath, *, overwrite: bool = True) -> Iterator[Path]:
    """The same for what writes to a file by its name: a path that ends as ``path`` does.

    Links are followed to the file they stand for. An existing file keeps its permissions, a new
    one gets the usual ones. Without ``overwrite`` an existing file raises FileExistsError.
    """
    target = Path(os.path.realpath(path))
    temporary = _sibling(target)
    with _naming(path, temporary):
        _check_free(target, path, overwrite)
        try:
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            with open(temporary, "xb"):
                if mode is not None:  # before there is anything to read
                    os.chmod(temporary, mode | stat.S_IRUSR | stat.S_IWUSR)
            yield temporary
            _sync(temporary)
            if mode is not None:
                os.chmod(temporary, mode)
            _check_free(target, path, overwrite)  # again: somebody may have been faster
            _take_place(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


@contextmanager
def atomic_folder(path: AnyPath, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of ``path`` at the end of the block.

    With ``overwrite`` an existing folder is moved aside, and removed once the new one is in place.
    """
    target = Path(os.path.realpath(path))
    temporary, aside = _sibling(target), _sibling(target)
    with _naming(path, temporary):
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is a file, not a folder", str(path))
        _check_free(target, path, overwrite, folder=True)
        try:
            os.mkdir(temporary)
            yield temporary
            for root, _, names in os.walk(temporary):
                for name in names:
                    _sync(Path(root) / name)
                _sync(Path(root))
            _check_free(target, path, overwrite, folder=True)
            try:
                if target.exists():
                    os.rename(target, aside)
                os.rename(temporary, target)
                _sync(target.parent)
            except BaseException:
                if target.exists() and not temporary.exists():
                    os.rename(target, temporary)
                if aside.exists():
                    os.rename(aside, target)
                raise
            shutil.rmtree(aside, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _sibling(target: Path) -> Path:
    """A name that nobody has; hidden, short enough for any target, and ends as it does."""
    ending = "".join(target.suffixes[-2:])[-50:]
    return target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}.tmp{ending}"


def _check_free(target: Path, path: AnyPath, overwrite: bool, *, folder: bool = False) -> None:
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "is there already, and may not be replaced", str(path))
    if not folder and target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if not folder and target.exists() and not target.is_file():  # /dev/null would be gone
        raise FileExistsError(errno.EEXIST, "is a device or a pipe, not a file", str(path))


def _take_place(temporary: Path, target: Path) -> None:
    """Rename over ``target``; if the folder cannot be made to remember it, undo that."""
    before = _sibling(target)
    existed = target.exists()
    try:
        if existed:
            with suppress(OSError):  # no hard links here: the last failure cannot be undone
                os.link(target, before)
        try:
            os.replace(temporary, target)
            _sync(target.parent)
        except BaseException:
            if before.exists():
                os.replace(before, target)
            elif not existed and not temporary.exists():
                os.unlink(target)
            raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(before)


def _sync(place: Path) -> None:
    """Make the contents of a file last, or the names in a folder."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FSYNC or not place.is_dir():
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _naming(path: AnyPath, temporary: Path) -> Iterator[None]:
    """Errors of the system name ``path``, not the temporary sibling, or nothing."""
    try:
        yield
    except OSError as error:
        named = error.filename is not None and not str(error.filename).startswith(str(temporary))
        if error.errno is None or (named and str(error.filename) != str(temporary.parent)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
