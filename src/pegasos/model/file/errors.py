"""What can be wrong with a model file."""

from __future__ import annotations

from pegasos.util.files import FileError


class ModelFileError(FileError):
    """A file that is no model, or a damaged one: ``path``, ``what``, and of text its ``line``."""


class NewerFormatError(ModelFileError):
    """A file of a format version that this package does not know yet."""


class WrongContent(Exception):  # noqa: N818 - becomes a ModelFileError where the path is known
    """What is wrong with the contents of a file, or with a model that is to become one."""
