"""The passes of a run over the rows of all parts: each is one question to all of them at once.

Sums come back: vectors of the size of w, and once an iteration a matrix of features x features. The
variables of the rows stay with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites.merge import Reply
from pegasos.sites.method import About, Bools, Kept, RowMethod, merge_into, nothing_yet
from pegasos.sites.passes import NONE, LocalPasses, Passes, matrix_of, vectors_of

if TYPE_CHECKING:
    from pegasos.sites.cluster.cluster import Cluster  # which workers need not import


class PartPasses(LocalPasses):
    """Those of one lane on the worker that holds a part; what they add up leaves in the reply."""

    def __init__(self, problem: Problem, method: RowMethod, about: About) -> None:
        """Make the rows' variables; there is no matrix but that of a pass."""
        self.problem, self.method, self.about = problem, method, about
        self.variables = method.begin(problem, about)
        self.point = self.variables[: method.point]
        self.core = method.open(problem.core, self.variables, about)

    def reply(
        self, name: str, shapes: Mapping[str, tuple[int, ...]], arguments: Mapping[str, Any]
    ) -> Reply:
        """Make a pass over all rows of the part, into arrays of these shapes."""
        what = self.method.passes[name]
        into = {a: nothing_yet(what.how(a), shape) for a, shape in shapes.items()}
        if what.matrix:
            self.sums = into.pop(what.matrix)
        self.ask(name, 0, self.problem.n, into, **arguments)
        found: Reply = {a: (what.how(a), array) for a, array in into.items()}
        if what.matrix:
            matrix = matrix_of(self.sums)
            found["triangle"] = ("sum", matrix[np.triu_indices(len(matrix))])
            found["vectors below"] = ("sum", vectors_of(self.sums))
            del self.sums
        return found

    def duals(self, at: float) -> Floats:
        """Feasible duals (n, 1), read off the variables with ``at``."""
        return self.method.duals(self.problem, self.variables, at, 0, self.problem.n)


class RemotePasses(Passes):
    """Those of one lane as the client asks for them; ranges are always all rows."""

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
        found = self._call("reply", name=name, shapes=shapes, arguments=own)
        if what.matrix:
            matrix = matrix_of(self.sums)
            matrix[np.triu_indices(len(matrix))] += found["triangle"]
            vectors_of(self.sums)[...] += found["vectors below"]
        for a, array in into.items():
            merge_into(what.how(a), array, found[a])

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand, of all parts."""
        self._call("swap", lanes=lanes.copy())

    def restart(self) -> None:
        """The rows' variables become those of the start."""
        self._call("restart")

    def _call(self, call: str, **arguments: Any) -> dict[str, Any]:
        return self.cluster.ask("on_passes", {"lane": self.lane, "call": call, **arguments})
