"""What cannot be said in another format."""

from __future__ import annotations


class ExportError(ValueError):
    """A model that another format has no words for; says why, and what to do."""
