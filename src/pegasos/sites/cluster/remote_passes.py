"""The passes of a run as the client asks for them: each is one question to all parts at once.

Sums come back: vectors of the size of w, and once an iteration a matrix of features x features. The
variables of the rows stay with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pegasos.problem import Problem
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.part_passes import add_triangle
from pegasos.sites.method import About, Bools, Floats, Kept, RowMethod, merge_into
from pegasos.sites.passes import NONE, Passes, matrix_of, vectors_of


class RemotePasses(Passes):
    """Those of one lane; ranges are always all rows."""

    def __init__(
        self,
        cluster: Cluster,
        lane: int,
        problem: Problem,
        method: RowMethod,
        state: Kept,
        about: About,
    ) -> None:
        """Go on with a run that the parts have begun."""
        super().__init__(problem, method, state, about)
        self.cluster, self.lane = cluster, lane

    def ask(
        self,
        name: str,
        lo: int,  # noqa: ARG002 - all rows
        hi: int,  # noqa: ARG002
        into: Mapping[str, Floats] = NONE,
        /,
        **arguments: Any,
    ) -> None:
        """Ask all parts, and merge what they found."""
        what = self.method.passes[name]
        shapes = {a: array.shape for a, array in into.items()}
        if what.matrix:
            shapes[what.matrix] = self.sums.shape
        # The state's own arrays change while a message is on its way.
        own = {a: np.array(v) if isinstance(v, np.ndarray) else v for a, v in arguments.items()}
        question = {"name": name, "shapes": shapes, "arguments": own}
        found = self.cluster.ask("run_pass", {"lane": self.lane, **question})
        if what.matrix:
            add_triangle(found["triangle"], matrix_of(self.sums))
            vectors_of(self.sums)[...] += found["vectors below"]
        for a, array in into.items():
            merge_into(what.how(a), array, found[a])

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand, of all parts."""
        self.cluster.ask("change_passes", {"lane": self.lane, "swap": lanes.copy()})

    def restart(self) -> None:
        """The rows' variables become those of the start."""
        self.cluster.ask("change_passes", {"lane": self.lane, "swap": None})
