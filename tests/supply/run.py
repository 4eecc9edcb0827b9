"""Where things are, and running the tools."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "supply"
DIST = PLACE / "dist"
FRESH = PLACE / "fresh"
"""A virtual environment with the wheel and what it needs, and nothing else: not even pip."""

_OURS = ("PYTHON", "CMAKE", "SKBUILD", "VIRTUAL_ENV", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PEGASOS")


class FaultError(RuntimeError):
    """What is wrong."""


class NotCheckedError(RuntimeError):
    """Why nothing can be said."""


def python(environment: Path = FRESH) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def tool(name: str) -> str:
    """A program of the group `supply`, which lies beside the interpreter that runs this."""
    return str(Path(sys.executable).with_name(name))


def run(*command: object, within: Path = ROOT) -> str:
    """What a program prints on stdout; FaultError with the end of what it said if it fails."""
    done = _done(command, within)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise FaultError(
            f"{Path(str(command[0])).name} ended with {done.returncode}: " + "\n".join(said)
        )
    return done.stdout


def answer(*command: object) -> str:
    """What a program prints on stdout, however it ends."""
    return _done(command, ROOT).stdout


def _done(command: tuple[object, ...], within: Path) -> subprocess.CompletedProcess[str]:
    # As on a machine that has never seen this checkout: nothing of it may leak into a build.
    clean = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=within, env=clean, capture_output=True, text=True, check=False)
