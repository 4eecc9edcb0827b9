"""Disks that fail: the Nth write, sync, rename or open, for every N.

What had the name before has it still and an error is raised; or all is there. Never a stray file.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.common.models import random_model
from tests.hardening.campaign import NO_CASE, Campaign

from pegasos import export
from pegasos.data import convert
from pegasos.model import file as model_file

_SHORT = -1  # the call does half of what it was asked for
FAULTS = (
    *((kind, error) for kind in ("open", "write", "sync", "rename")
      for error in (errno.ENOSPC, errno.EIO, errno.EACCES)),
    ("write", _SHORT),
)  # fmt: skip
_KINDS = ("open", "write", "sync", "rename")


@dataclass
class Savers:
    """What writes files, by their names; each can write two contents, 0 and 1."""

    folder: Path
    save: dict[str, Callable[[Path, int], Any]]
    right: dict[str, dict[str, str]]  # with content 1
    library: Any


def start(folder: Path) -> Savers:
    """Every saver has written both."""
    models = [random_model(classes=2, features=5, seed=seed) for seed in (1, 2)]
    sources = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        sources.append(folder / f"{seed}.npz")
        rows = rng.standard_normal((50, 4)).astype(np.float32)
        np.savez(sources[-1], X=rows, y=np.arange(50) % 2)

    def converted(path: Path, which: int) -> None:
        convert.convert(sources[which], path, overwrite=True)

    save: dict[str, Callable[[Path, int], Any]] = {
        "a.model": lambda path, which: model_file.write(models[which], path),
        "a.liblinear": lambda path, which: export.write(models[which], path, "liblinear"),
        "a.onnx": lambda path, which: export.write(models[which], path, "onnx"),
    }
    save |= dict.fromkeys(("a.cache", "a.svm", "a.csv", "a.npz", "a.npy", "a.parquet"), converted)
    library = ctypes.CDLL(None)
    library.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int]
    place, right = folder / "saved", {}
    place.mkdir()
    for which in (1, 0):
        for name in save:
            save[name](place / name, which)
        if which:
            right = {name: contents(place / name) for name in save}
    return Savers(place, save, right, library)


def contents(path: Path) -> dict[str, str]:
    """A file, or all that is in a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()
    }


def case(savers: Savers, number: int) -> Any:
    """One saver, one kind of fault, one place."""
    names = list(savers.save)
    number, which = divmod(number, len(names))
    at, which_fault = divmod(number, len(FAULTS))
    name, (kind, error) = names[which], FAULTS[which_fault]
    path = savers.folder / name
    savers.save[name](path, 0)
    before = contents(savers.folder)
    savers.library.faults_arm(str(savers.folder).encode(), _KINDS.index(kind), at + 1, error)
    raised = None
    try:
        savers.save[name](path, 1)
    except OSError as caught:
        raised = caught
    finally:
        savers.library.faults_off()
    struck = savers.library.faults_struck()
    after = contents(savers.folder)
    assert after.keys() == before.keys(), f"stray or lost: {after.keys() ^ before.keys()}"
    if raised is None:
        assert contents(path) == savers.right[name], "no error, and not all is there"
        return None if struck else NO_CASE  # it got by; or it has not so many calls
    assert after == before, "what was there is not as it was"
    assert error in (raised.errno, _SHORT), f"another error: {raised!r}"
    assert name in str(raised), f"the error does not name the file: {raised!r}"
    return None


def campaigns() -> list[Campaign]:
    """One."""
    return [
        Campaign(
            "disk", "the Nth open, write, sync or rename fails: the old file or the new, whole",
            start=start, case=case, quick=500, full=3000, preload="io.c", cpu_seconds=10.0,
        ),
    ]  # fmt: skip
