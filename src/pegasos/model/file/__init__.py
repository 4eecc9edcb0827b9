"""Models as files: arrays and JSON under a checksum, written whole or not at all.

Reading executes nothing, takes about twice the memory of the file (and of names a string each), and
either returns a model whose parts fit each other or raises a ``ModelFileError`` that says what is
wrong. The layout is described in ``container`` (the file), ``contents`` (the model in it) and
``arrays`` (strings).
"""

from __future__ import annotations

from pegasos.model.file.container import VERSION, pack, unpack
from pegasos.model.file.contents import decode, encode
from pegasos.model.file.errors import ModelFileError, NewerFormatError, WrongContent
from pegasos.model.linear import LinearModel
from pegasos.util.atomic import atomic_write
from pegasos.util.files import AnyPath

__all__ = ["VERSION", "ModelFileError", "NewerFormatError", "read", "write"]


def write(model: LinearModel, path: AnyPath, *, overwrite: bool = True) -> None:
    """Save a model; without ``overwrite`` an existing file raises FileExistsError."""
    from pegasos import __version__

    try:
        data = pack(*encode(model), __version__)
    except WrongContent as error:
        raise ModelFileError(path, f"the model cannot be saved: {error}") from None
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(data)


def read(path: AnyPath) -> LinearModel:
    """The model of a file that ``write`` made."""
    meta, arrays, size = unpack(path)
    try:
        return decode(meta, arrays, size)
    except WrongContent as error:
        raise ModelFileError(
            path, f"has contents that do not fit each other: {error}. Save the model again"
        ) from None
