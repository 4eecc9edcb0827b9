"""What ``train`` is asked to do; a checkpoint keeps it, and can be resumed by its name alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pegasos.cli.arguments import FitArguments, PrepareArguments, ReadArguments, SaveArguments
from pegasos.cli.exits import CommandError, UsageError

_MODEL = "model"  # in a checkpoint: the digest of the model it left behind
_PATHS = ("data", "target", "evaluate", "cache_dir")
_GROUPS = {"read": ReadArguments, "prepare": PrepareArguments, "fit": FitArguments}


@dataclass(frozen=True)
class Job:
    """The arguments of ``train``, but for what is said and saved on the way."""

    data: Path
    target: Path
    C: float | None
    lam: float | None
    evaluate: Path | None
    cv: int | None
    memory: str | None
    cache_dir: Path | None
    read: ReadArguments
    prepare: PrepareArguments
    fit: FitArguments

    def plain(self) -> dict[str, Any]:
        """As JSON has it; paths are absolute."""
        values = {name: getattr(self, name) for name in vars(self)}
        values |= {name: asdict(values[name]) for name in _GROUPS}
        for name in _PATHS:
            values[name] = None if values[name] is None else str(values[name].absolute())
        return values

    @classmethod
    def of(cls, values: dict[str, Any]) -> Job:
        """From what ``plain`` gave."""
        values = dict(values)
        for name in _PATHS:
            values[name] = None if values[name] is None else Path(values[name])
        return cls(**values | {name: kind(**values[name]) for name, kind in _GROUPS.items()})


def resumed_job(save: SaveArguments, given: Job) -> Job:
    """The job that a checkpoint was made by, where no data are ``given``.

    New limits may be given with it; anything else would contradict it or be ignored.
    """
    from pegasos.run.checkpoint import manifest  # these are slow to import

    assert save.resume is not None
    kept = manifest.read(save.resume).get("command")
    if kept is None:
        raise CommandError(f"{save.resume} was not made by this command: give DATA and all options")
    job = Job.of(kept)
    plain = replace(given, fit=replace(given.fit, max_iter=None, max_time=None))
    options = (plain.C, plain.lam, plain.evaluate, plain.cv, plain.memory, plain.cache_dir)
    groups = (plain.read, plain.prepare, plain.fit)
    if any(value is not None for value in options) or groups != tuple(
        k() for k in _GROUPS.values()
    ):
        raise UsageError(
            "--resume takes the options of the run it resumes, but for --max-iter and --max-time: "
            "leave others out, or give DATA and all of them"
        )
    new, old = given.fit, job.fit
    fit = replace(
        old,
        max_iter=old.max_iter if new.max_iter is None else new.max_iter,
        max_time=old.max_time if new.max_time is None else new.max_time,
    )
    return replace(job, fit=fit)


def remember_model(checkpoint: Path, target: Path) -> None:
    """Note which model the run left behind: it may be replaced when the run goes on."""
    from pegasos.util.atomic import atomic_write

    # Where the disk is full, the next run will ask.
    with suppress(OSError), atomic_write(checkpoint / _MODEL) as file:
        file.write(_digest(target).encode())


def left_by(save: SaveArguments, target: Path) -> bool:
    """Whether what is at the target is what the run itself left there when it was ended."""
    assert save.resume is not None
    note = save.resume / _MODEL
    return target.is_file() and note.is_file() and note.read_text() == _digest(target)


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
