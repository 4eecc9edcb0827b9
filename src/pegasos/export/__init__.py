"""Models in the formats of others: LIBLINEAR, SVM-light (reading only), ONNX, scikit-learn."""

from __future__ import annotations

from pathlib import Path

from pegasos.export import liblinear, onnx, svmlight_model
from pegasos.export.folding import ExportError
from pegasos.export.lines import Source
from pegasos.export.sklearn import as_sklearn
from pegasos.model import file as model_file
from pegasos.model.file.errors import ModelFileError
from pegasos.model.linear import LinearModel

__all__ = ["FORMATS", "ExportError", "ModelFileError", "as_sklearn", "read_any", "write"]

_WRITERS = {"liblinear": liblinear.write, "onnx": onnx.write}
FORMATS = tuple(_WRITERS)
"""What ``write`` writes."""


def write(model: LinearModel, path: Source, format: str, *, overwrite: bool = True) -> None:
    """Save a model in another format, one of ``FORMATS``.

    Scaling steps are put into the weights. Raises ``ExportError`` for what the format cannot say.
    """
    if not isinstance(model, LinearModel):
        raise TypeError(
            f"model must be a LinearModel, got {type(model).__name__}; estimators have a method "
            "export"
        )
    if format not in _WRITERS:
        raise ExportError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    _WRITERS[format](model, path, overwrite=overwrite)


def read_any(path: Source) -> LinearModel:
    """The model of a file of ours, of LIBLINEAR or of SVM-light, whichever its contents are."""
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            start = file.read(32)
        if start.startswith(b"SVM-light"):
            return svmlight_model.read(path)
        if start.split(b" ")[0] in (b"solver_type", b"nr_class", b"label", b"nr_feature", b"bias"):
            return liblinear.read(path)
    return model_file.read(path)
