"""Where rows can be, and how work over them is run and merged.

A solver asks for named passes over rows (``Passes.ask``) and for walks from part to part. It never
sees where the rows are. This room offers:

``Site``        what a place says of itself, and what it runs
``MEMORY``      rows in this process
``Blocks``      rows that are read, or made, a part at a time
``Passes``      the passes of one run of a ``RowMethod``, and the matrices that they add up
``RowMethod``, ``Pass``   what a solver declares about its passes
``DualsAt``     duals that can be read off the rows' variables, wherever those are
``merge``       how replies of several parts become one
``PassCosts``   what passes cost at a site, by which ``auto`` chooses

``pegasos.sites.policy`` is what the driver runs for a solver. ``pegasos.sites.cluster`` is the site
of rows on a Dask cluster, ``pegasos.sites.device`` that of rows on a GPU.
"""

from pegasos.sites.base import Site
from pegasos.sites.costs import PassCosts
from pegasos.sites.disk import Blocks
from pegasos.sites.errors import InterruptedSiteError, PartsLostError
from pegasos.sites.memory import MEMORY
from pegasos.sites.method import DualsAt, Pass, Reply, RowMethod
from pegasos.sites.passes import LocalPasses, Passes

__all__ = [
    "MEMORY",
    "Blocks",
    "DualsAt",
    "InterruptedSiteError",
    "LocalPasses",
    "PartsLostError",
    "Pass",
    "PassCosts",
    "Passes",
    "Reply",
    "RowMethod",
    "Site",
]
