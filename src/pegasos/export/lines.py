"""Numbers of a text model, strictly: what is wrong is told with the line it is in."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from pegasos.model.file.errors import ModelFileError

Source = str | os.PathLike[str]

MOST_FEATURES = (1 << 31) - 1
ROOM = 1 << 24
"""Bytes that a dense weight vector may take whatever the size of the file."""


class Lines:
    """The lines of an ASCII file, counted from 1."""

    def __init__(self, path: Source, what: str) -> None:
        """``what`` is whose model it should be."""
        self.path = path
        try:
            self.all = Path(path).read_bytes().decode("ascii").splitlines()
        except UnicodeDecodeError as error:
            raise self.wrong(f"is no {what} model: byte {error.start} is no ASCII") from None

    def wrong(self, what: str, line: int | None = None) -> ModelFileError:
        """What is wrong with a line, to be raised."""
        return ModelFileError(self.path, what, line)

    def after(self, line: int) -> list[tuple[int, str]]:
        """The lines after this one, with their numbers."""
        return list(enumerate(self.all[line:], line + 1))

    def real(self, line: int, token: str) -> float:
        """A finite number."""
        with suppress(ValueError):
            value = float(token)
            if math.isfinite(value) and "_" not in token:
                return value
        raise self.wrong(f"expected a finite number, got {token[:30]!r}", line)

    def integer(self, line: int, token: str, least: int, most: int = MOST_FEATURES) -> int:
        """A whole number in a range."""
        digits = token[1:] if token[:1] in "+-" else token
        # The length first: a number of a million digits is not to be computed.
        if len(digits) < 20 and digits.isdecimal() and least <= int(token) <= most:
            return int(token)
        raise self.wrong(
            f"expected a whole number from {least} to {most}, got {token[:30]!r}", line
        )
