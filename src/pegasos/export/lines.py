"""Numbers of a text model, strictly: what is wrong is told with the line it is in."""

from __future__ import annotations

import math
import os
from pathlib import Path

from pegasos.model.file.errors import ModelFileError

Source = str | os.PathLike[str]

MOST_FEATURES = (1 << 31) - 1
ROOM = 1 << 24
"""Bytes that a dense weight vector may take whatever the size of the file."""


def text_lines(path: Source, what: str) -> list[str]:
    """The lines of an ASCII file."""
    try:
        return Path(path).read_bytes().decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise ModelFileError(path, f"is no {what} model: byte {error.start} is no ASCII") from None


def real(path: Source, line: int, token: str) -> float:
    """A finite number."""
    try:
        value = float(token)
        if math.isfinite(value) and "_" not in token:
            return value
    except ValueError:
        pass
    raise ModelFileError(path, f"expected a finite number, got {token[:30]!r}", line)


def integer(path: Source, line: int, token: str, least: int, most: int = MOST_FEATURES) -> int:
    """A whole number in a range."""
    digits = token[1:] if token[:1] in "+-" else token
    # The length first: a number of a million digits is not to be computed.
    if len(digits) < 20 and digits.isdecimal() and least <= int(token) <= most:
        return int(token)
    raise ModelFileError(
        path, f"expected a whole number from {least} to {most}, got {token[:30]!r}", line
    )
