"""What parts reply, and how the replies of several become one."""

from __future__ import annotations

from typing import Any

import numpy as np

Reply = dict[str, tuple[str, Any]]
"""By name: how values are merged (``"sum"``, ``"min"``, ``"each"``), and the value."""


def merge(total: Reply, reply: Reply) -> Reply:
    """Add ``reply`` to ``total``, which is changed."""
    for name, (how, value) in reply.items():
        if name not in total:
            total[name] = (how, dict(value) if how == "each" else value)
        elif how == "sum":
            total[name] = (how, total[name][1] + value)
        elif how == "min":
            total[name] = (how, np.minimum(total[name][1], value))
        else:
            total[name][1].update(value)
    return total


def merged(*replies: tuple[Reply, list[str]]) -> tuple[Reply, list[str]]:
    """Those of several workers, as one of them: a node of a tree."""
    total: Reply = {}
    missing: list[str] = []
    for reply, absent in replies:
        merge(total, reply)
        missing += absent
    return total, missing
