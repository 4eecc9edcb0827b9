"""Files by their names, and what can be wrong with one."""

from __future__ import annotations

import os
from typing import Any

AnyPath = str | os.PathLike[str]


class FileError(ValueError):
    """A file that is not what it should be: ``path``, ``what``, ``line`` and ``column``."""

    def __init__(
        self, path: Any, what: str, line: int | None = None, column: int | None = None
    ) -> None:
        """``what`` says what is wrong, and what to do; lines and columns count from 1."""
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        super().__init__(f"{path}{place}: {what}")
        self.path, self.what, self.line, self.column = str(path), what, line, column

    def __reduce__(self) -> Any:
        """Pickled, it comes back whole."""
        return type(self), (self.path, self.what, self.line, self.column)
