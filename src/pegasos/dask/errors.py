"""What can go wrong on a cluster."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """A cluster cannot go on: no workers, no scheduler, or rows that cannot be had again."""


class PartsLostError(Exception):
    """Parts came up anew on other workers: what a solver kept there is gone."""


class WorkersLostError(Exception):
    """Workers that are gone, or have not been heard of for too long."""

    def __init__(self, addresses: set[str]) -> None:
        """Name them."""
        super().__init__(", ".join(sorted(addresses)))
        self.addresses = addresses


class InterruptedRoundError(Exception):
    """Ctrl-C, while replies were awaited."""
