"""Pegasos on a Dask cluster: the same estimators and proofs, with rows on many machines."""

from __future__ import annotations

from pegasos.dask.errors import ClusterError
from pegasos.dask.estimators import LinearSVC, LinearSVCCV
from pegasos.dask.solve import solve

__all__ = ["ClusterError", "LinearSVC", "LinearSVCCV", "solve"]
