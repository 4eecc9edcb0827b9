"""How much memory a fit may take, and whether its rows would fit."""

from __future__ import annotations

from pegasos.cli.exits import UsageError
from pegasos.cli.job import Job
from pegasos.cli.say import Voice, size
from pegasos.util.memory import available

_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SHARE = 0.7  # of the free memory that rows may take
_PACKED = {".gz": 4, ".bz2": 5, ".xz": 6, ".zst": 4, ".parquet": 3}  # what they become, roughly


def budget_of(voice: Voice, job: Job) -> int | None:
    """The memory that a fit may take where rows are read a block at a time; None: all at once.

    Without --memory that is decided by the size of the file: parsed, a row of text takes about as
    much as it did.
    """
    if job.memory is not None:
        return parsed_size(job.memory)
    free = available()
    if free is None or not job.data.is_file() or not _can_be_large(job):
        return None
    need = job.data.stat().st_size * _PACKED.get(job.data.suffix, 1)
    if need <= _SHARE * free:
        return None
    voice.tell(
        f"{job.data}: {size(need)} of rows would hardly fit {size(free)} of memory: they are read "
        "a block at a time (--memory says how much they may take)"
    )
    return int(_SHARE * free)


def _can_be_large(job: Job) -> bool:
    """Whether its options allow for rows on disk."""
    plain = job.prepare.text is None and job.prepare.scale == "none" and not job.read.multilabel
    return plain and job.fit.multi_class == "ovr" and job.cv is None


def parsed_size(text: str) -> int:
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
