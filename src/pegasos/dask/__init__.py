"""Pegasos on a Dask cluster: the same estimators and proofs, with rows on many machines."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.dask.estimators import LinearSVC, LinearSVCCV
    from pegasos.dask.solving import solve
    from pegasos.sites.errors import ClusterError

__all__ = ["ClusterError", "LinearSVC", "LinearSVCCV", "solve"]

# Workers import what they need alone: scikit-learn is not.
_LAZY = {
    "ClusterError": "pegasos.sites.errors",
    "LinearSVC": "pegasos.dask.estimators",
    "LinearSVCCV": "pegasos.dask.estimators",
    "solve": "pegasos.dask.solving",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    missing = [needed for needed in ("dask", "distributed") if find_spec(needed) is None]
    if missing and name != "ClusterError":
        raise ImportError(
            f"pegasos.dask.{name} needs Dask: pip install 'pegasos[dask]'", name=missing[0]
        )
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
