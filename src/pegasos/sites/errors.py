"""What can happen to a site while it works."""

from __future__ import annotations


class PartsLostError(Exception):
    """Parts came up anew somewhere else: what a solver kept there is gone."""


class InterruptedSiteError(Exception):
    """Ctrl-C, while replies were awaited."""
