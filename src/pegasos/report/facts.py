"""What is known of the rows a report is made on, and of the machine it is made on."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pegasos import _core


@dataclass(frozen=True)
class Rows:
    """Where the rows came from."""

    path: str = ""  # the file, if there is one
    trained: bool | None = None  # whether the model was trained on them; None: not known
    digest: str = ""  # SHA-256 of the file, or CRC-32 of the rows
    weights: str = ""  # where sample weights came from
    skipped: int = 0  # lines that were left out
    notes: tuple[str, ...] = ()


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, as sha256sum gives it."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return f"SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def versions() -> dict[str, str]:
    """What the report was made with."""
    from pegasos import __version__

    found = {"pegasos": __version__, "kernels": _core.instruction_set()}
    found |= {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return found | {"python": sys.version.split()[0], "system": platform.platform()}


def now() -> str:
    """The time, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
