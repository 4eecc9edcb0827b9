"""Train support vector machines, with a proof of how close to the optimum each one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegasos.certificate import Certificate
from pegasos.result import Result
from pegasos.run.history import History, Record
from pegasos.solve import certify, solve
from pegasos.solvers import SGDM, SGDR, SGDS, DualCoordinate, InteriorPoint, Newton, Pegasos

if TYPE_CHECKING:
    from pegasos.estimators.cv import LinearSVCCV
    from pegasos.estimators.linear import LinearSVC
    from pegasos.estimators.stored import load, save
    from pegasos.estimators.svc import SVC
    from pegasos.kernel.pegasos import KernelPegasos
    from pegasos.model.file.errors import ModelFileError, NewerFormatError
    from pegasos.model.linear import LinearModel
    from pegasos.plots import GapCurveDisplay, MarginsDisplay, PathDisplay
    from pegasos.run.checkpoint import CheckpointError
    from pegasos.util.versions import show_versions

__all__ = [
    "SGDM",
    "SGDR",
    "SGDS",
    "SVC",
    "Certificate",
    "CheckpointError",
    "DualCoordinate",
    "GapCurveDisplay",
    "History",
    "InteriorPoint",
    "KernelPegasos",
    "LinearModel",
    "LinearSVC",
    "LinearSVCCV",
    "MarginsDisplay",
    "ModelFileError",
    "NewerFormatError",
    "Newton",
    "PathDisplay",
    "Pegasos",
    "Record",
    "Result",
    "certify",
    "load",
    "save",
    "show_versions",
    "solve",
]

__version__ = "0.1.0"

_LAZY = {
    "CheckpointError": "pegasos.run.checkpoint",
    "GapCurveDisplay": "pegasos.plots",
    "KernelPegasos": "pegasos.kernel.pegasos",
    "LinearModel": "pegasos.model.linear",
    "LinearSVC": "pegasos.estimators.linear",
    "LinearSVCCV": "pegasos.estimators.cv",
    "MarginsDisplay": "pegasos.plots",
    "ModelFileError": "pegasos.model.file.errors",
    "NewerFormatError": "pegasos.model.file.errors",
    "PathDisplay": "pegasos.plots",
    "SVC": "pegasos.estimators.svc",
    "load": "pegasos.estimators.stored",
    "save": "pegasos.estimators.stored",
    "show_versions": "pegasos.util.versions",
}
_PARTS = ("dask", "data", "export", "gpu", "losses", "trackers")


def __getattr__(name: str) -> Any:
    """Import scikit-learn, and what else is not always needed, when it is first touched."""
    import importlib

    if name in _PARTS:
        return importlib.import_module(f"pegasos.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'pegasos' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    """The public names, the lazy ones included."""
    return sorted([*__all__, *_PARTS])
