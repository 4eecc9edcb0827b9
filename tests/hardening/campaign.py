"""What a campaign is: cases by number, each of which holds or fails.

The number of a case decides everything about it, so that a failure can be run again and a campaign
goes on where it was. A case fails by raising; what it runs in is another process (worker.py), since
it may crash or never come back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NO_CASE = "no case"
"""What a number returns that stands for none."""


@dataclass(frozen=True)
class Campaign:
    """Cases of one kind. ``quick`` of them are in `make test`, ``full`` in `make test-all`."""

    name: str
    says: str  # the row of the table
    start: Callable[[Path], Any]  # once in a process; it may write into the folder
    case: Callable[[Any, int], Any]  # returns a measurement, None, or NO_CASE
    quick: int
    full: int
    counted: Callable[[], int] | None = None  # the number of cases, if they are not endless
    cpu_seconds: float = 1.0  # a case that takes more hangs
    most_above: float | None = None  # at most 1% of measurements may be above this
    sanitized: bool = False  # whether `make fuzz` runs it under the sanitizers
    group: str = "chaos"  # or fuzz: the command that runs it for as long as one likes
    memory: int | None = None  # bytes that a case may take
    preload: str | None = None  # a library of shims/ that makes the system fail


def drawn(campaign: str, number: int) -> np.random.Generator:
    """The random numbers of a case."""
    digest = hashlib.sha256(f"{campaign} {number}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes changed, cut out, doubled, moved, or set to what often means something."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, size = int(rng.integers(len(changed))), int(rng.integers(1, 9))
        choice = rng.integers(6)
        if choice == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif choice == 1:
            changed[at : at + size] = rng.bytes(size)
        elif choice == 2:
            del changed[at : at + size]
        elif choice == 3:
            changed[at:at] = changed[at : at + size]
        elif choice == 4:
            other = int(rng.integers(len(changed)))
            changed[at : at + size] = changed[other : other + size]
        else:
            special = (b"\xff" * 8, b"\0" * 8, b"-9999999", b"1e999999", b"null", b"[[[[", b"NaN")
            changed[at : at + size] = special[rng.integers(len(special))]
        changed = changed or bytearray(b"x")
    return bytes(changed)
