"""What can be wrong with a model file."""

from __future__ import annotations

from typing import Any


class ModelFileError(ValueError):
    """A file that is no model, or a damaged one: ``path``, ``what``, and of text its ``line``."""

    def __init__(self, path: Any, what: str, line: int | None = None) -> None:
        """``what`` says what is wrong, and what to do; lines count from 1."""
        place = "" if line is None else f":{line}"
        super().__init__(f"{path}{place}: {what}")
        self.path, self.what, self.line = str(path), what, line

    def __reduce__(self) -> Any:
        """Pickled, it comes back whole."""
        return type(self), (self.path, self.what, self.line)


class NewerFormatError(ModelFileError):
    """A file of a format version that this package does not know yet."""


class WrongContent(Exception):  # noqa: N818 - becomes a ModelFileError where the path is known
    """What is wrong with the contents of a file, or with a model that is to become one."""
