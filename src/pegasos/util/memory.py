"""How much memory there is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_MEMINFO, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def total() -> int | None:
    """Bytes of memory that this process could have at most; None where nothing says."""
    return _least(_of_the_machine("MemTotal"), _limit())


def available() -> int | None:
    """Bytes of memory that are left to this process; None where nothing says."""
    left = _limit()
    if left is not None:
        with suppress(OSError, ValueError, KeyError):
            used = int((_GROUP / "memory.current").read_text())
            lines = (_GROUP / "memory.stat").read_text().splitlines()
            files = int(dict(line.split() for line in lines)["file"])
            left -= used - files  # pages of files are the system's to drop
    return _least(_of_the_machine("MemAvailable"), left)


def _of_the_machine(name: str) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _limit() -> int | None:
    """That of the control group, if there is one."""
    with suppress(OSError, ValueError):
        return int((_GROUP / "memory.max").read_text())
    return None


def _least(*sizes: int | None) -> int | None:
    known = [size for size in sizes if size is not None]
    return min(known) if known else None
