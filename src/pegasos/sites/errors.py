"""What can happen to a site while it works."""

from __future__ import annotations


class PartsLostError(Exception):
    """Parts came up anew somewhere else: what a solver kept there is gone."""


class InterruptedSiteError(Exception):
    """Ctrl-C, while replies were awaited."""


class SiteFailedError(RuntimeError):
    """A site cannot go on: the run ends with the model that was certified last."""


class ClusterError(SiteFailedError):
    """A cluster cannot go on: no workers, no scheduler, or rows that cannot be had again."""


class WorkersLostError(Exception):
    """Workers that are gone, or have not been heard of for too long."""

    def __init__(self, addresses: set[str]) -> None:
        """Name them."""
        super().__init__(", ".join(sorted(addresses)))
        self.addresses = addresses
