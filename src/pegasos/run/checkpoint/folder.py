"""A checkpoint: a folder with what a training has done so far, a part for each of its runs.

    manifest.json       whose data and parameters, and what else bits depend on
    running-NAME        the state of a run, as of its last pause that was saved
    done-NUMBER         the outcomes of runs that ended since the last such file
    lock                held while a process works on it

Runs are independent, so that each is saved by itself, at its own pauses; and a training that is
resumed is called again, and finds that some of its runs are done. Every file appears whole or not
at all, so there is a consistent state whenever a process is killed: what is lost is what was done
since the last file, ``every`` seconds at most and the time it takes to write one.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from pegasos.run.checkpoint import CheckpointError, manifest
from pegasos.run.checkpoint.container import SEPARATOR, Arrays, Container, write
from pegasos.util.atomic import TEMPORARY, atomic_folder

_LOCK = "lock"
_DONE = re.compile(r"done-(\d{6})")
_MOST_WAITING = 2000  # outcomes: each takes a part of the file's header

Saved = tuple[dict[str, Any], Arrays]
"""What a run is saved as: JSON, and arrays by name."""


class Checkpoint:
    """An open checkpoint; as a context manager it writes what is left at the end of the block."""

    def __init__(
        self,
        folder: Path,
        every: float,
        about: dict[str, Any],
        lock: int | None,
        *,
        begun: bool = False,
    ) -> None:
        """``folder``, which we hold the ``lock`` of, has a manifest, which says ``about``.

        One that was ``begun`` now goes away with the first error, unless something is in it.
        """
        self.folder, self.every, self.about = folder, every, about
        self.guard = threading.Lock()
        self.waiting: dict[str, Saved] = {}  # outcomes that are not on disk yet
        self.found: dict[str, tuple[Container, str]] = {}  # of runs, by name: where arrays are
        self.used = False  # something of a run is in it
        self._lock, self._begun, self._next = lock, begun, 1
        self._written = time.monotonic()
        self._look()

    def part(self, name: str) -> Part:
        """The part of a run; names tell the runs of a training apart."""
        return Part(self, name)

    def __enter__(self) -> Self:
        """Nothing to do: it is open."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write what is left, unless something failed; let others in."""
        try:
            if kind is None:
                with Part.last_words():
                    self._flush()
            elif self._begun and not self.used:
                shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            if self._lock is not None:
                os.close(self._lock)

    def _look(self) -> None:
        for path in sorted(self.folder.iterdir()):
            if TEMPORARY.fullmatch(path.name):
                with suppress(OSError):
                    path.unlink()  # of a process that was killed while it wrote
            elif path.name.startswith("running-"):
                container = Container(path)
                name = container.about.get("run")
                if not isinstance(name, str):
                    raise CheckpointError(path, "is damaged: it does not say its run")
                self.found[name] = container, ""
        for path in sorted(self.folder.iterdir()):
            number = _DONE.fullmatch(path.name)
            if number is not None:
                self._next = int(number[1]) + 1
                container = Container(path)
                self.found |= {name: (container, name) for name in container.about.get("runs", {})}

    def flush_if_due(self) -> None:
        """Write outcomes, if they have waited for long enough."""
        late = time.monotonic() - self._written >= self.every
        if late or len(self.waiting) >= _MOST_WAITING:
            self._flush()

    def _flush(self) -> None:
        with self.guard:
            if self.waiting:
                runs = {name: about for name, (about, _) in self.waiting.items()}
                arrays = {
                    f"{name}{SEPARATOR}{key}": array
                    for name, (_, own) in self.waiting.items()
                    for key, array in own.items()
                }
                write(self.folder / f"done-{self._next:06d}", {"runs": runs}, arrays)
                self._next += 1
                self.used = True
                self.waiting = {}
                for name in runs:
                    self.running(name).unlink(missing_ok=True)
            self._written = time.monotonic()

    def running(self, name: str) -> Path:
        """Where the state of a run is written."""
        return self.folder / f"running-{name.replace('/', '-')}"


class Part:
    """What one run has of a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        """Nothing is due yet."""
        self.checkpoint, self.name = checkpoint, name
        self._last = time.monotonic()

    def part(self, name: str) -> Part:
        """The part of a run that this one consists of."""
        return Part(self.checkpoint, f"{self.name}/{name}")

    def load(self) -> Saved | None:
        """What was saved of the run, before this process."""
        with self.checkpoint.guard:
            found = self.checkpoint.found.pop(self.name, None)
        if found is None:
            return None
        container, prefix = found
        about = container.about["runs"][self.name] if prefix else container.about
        return about, container.arrays(prefix)

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        self.checkpoint.flush_if_due()
        return time.monotonic() - self._last >= self.checkpoint.every

    def save(self, about: dict[str, Any], arrays: Arrays) -> None:
        """Write the state of the run."""
        write(self.checkpoint.running(self.name), {"run": self.name, **about}, arrays)
        self.checkpoint.used = True
        self.checkpoint.flush_if_due()
        self._last = time.monotonic()

    def finish(self, about: dict[str, Any], arrays: Arrays) -> None:
        """Keep the outcome of the run; it is written with the next ones."""
        with self.checkpoint.guard:
            self.checkpoint.waiting[self.name] = about, arrays
        self.checkpoint.flush_if_due()

    @contextmanager
    def understood(self) -> Iterator[None]:
        """A block in which what was loaded proves to be no run's, by what it raises."""
        try:
            yield
        except CheckpointError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise CheckpointError(
                self.checkpoint.folder,
                f"the run {self.name!r} in it makes no sense ({error}). Resume from a copy, or "
                "train anew",
            ) from error

    @staticmethod
    @contextmanager
    def last_words() -> Iterator[None]:
        """A block at the end of a run, in which a full disk is told: the model is not lost."""
        try:
            yield
        except OSError as error:
            warnings.warn(
                f"the checkpoint could not be written: {error}. The last one is whole",
                stacklevel=3,
            )


def open_checkpoint(
    checkpoint: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    every: float,
    about: dict[str, Any],
    drawn: frozenset[str] = frozenset(),
) -> Checkpoint:
    """The checkpoint to write to, with what there is to resume: one of the two paths is given.

    ``about`` is the manifest of this run; that of what is resumed must agree, except in parameters
    that were ``drawn`` here and not given. Where the two paths are the same, and there is nothing
    yet, the run begins.
    """
    asked = resume if checkpoint is None else checkpoint
    assert asked is not None
    place = Path(os.path.realpath(asked))
    source = None if resume is None else Path(os.path.realpath(resume))
    if source == place and checkpoint is not None and _empty(place):
        source = None
    if source is not None:
        known = manifest.read(source)
        manifest.check_same(source, known, about, drawn)
        if source != place:
            _check_empty(place)
            _copied(source, place)
        with _held(place) as lock:
            return Checkpoint(place, every, known, lock)
    _check_empty(place)
    made = not place.exists()
    place.mkdir(exist_ok=True)
    with _held(place) as lock:
        _check_empty(place)  # somebody may have been faster
        manifest.write(place, about)
        return Checkpoint(place, every, about, lock, begun=made)


def check_free(place: str | os.PathLike[str]) -> None:
    """Raise, before anything is done, if a checkpoint cannot begin there."""
    folder = Path(place)
    _check_empty(folder)
    if not folder.absolute().parent.is_dir():
        raise CheckpointError(folder, f"{folder.absolute().parent} is no folder: make it first")


def _empty(place: Path) -> bool:
    """Whether nothing is there, or a folder in which nothing was begun."""
    if not place.exists():
        return True
    return place.is_dir() and all(
        TEMPORARY.fullmatch(path.name) or path.name == _LOCK for path in place.iterdir()
    )


def _check_empty(place: Path) -> None:
    if not _empty(place):
        raise CheckpointError(
            place,
            f"is there already: to go on with it, resume from it (resume={str(place)!r}, or "
            f"--resume {place}); to begin anew, remove it",
        )


def _copied(source: Path, place: Path) -> None:
    with atomic_folder(place, overwrite=place.exists()) as folder:
        for path in source.iterdir():
            if path.is_file() and path.name != _LOCK and not TEMPORARY.fullmatch(path.name):
                shutil.copyfile(path, folder / path.name)


@contextmanager
def _held(folder: Path) -> Iterator[int | None]:
    """Hold the folder as long as this process lives, unless the block fails."""
    lock = _locked(folder)
    try:
        yield lock
    except BaseException:
        if lock is not None:
            os.close(lock)
        raise


def _locked(folder: Path) -> int | None:
    try:
        import fcntl
    except ImportError:  # no such system call here
        return None
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise CheckpointError(folder, "another process is working on it") from None
        return None  # a file system without locks
    return descriptor
