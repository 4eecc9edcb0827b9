"""What the passes of any method on a device have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from pegasos.sites.device.lanes import Duals, lanes_of, rows_of
from pegasos.sites.method import About, Floats, Kept, RowMethod, merge_into
from pegasos.sites.passes import NONE, Passes

if TYPE_CHECKING:
    from pegasos.problem import Problem


class Stays(ABC):
    """What a run keeps on the device: variables of the rows, and matrices."""

    @abstractmethod
    def take(self, lanes: Tensor) -> None:
        """Keep some of the lanes."""

    @abstractmethod
    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """Feasible duals, read off the variables with ``at``."""


class FusedPasses(Passes):
    """Passes over all rows at once: ranges are always all of them.

    The pass of a name is the method of that name. It takes its arguments and the arrays to add to,
    and returns its replies.
    """

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with a run."""
        super().__init__(problem, method, state, about)
        self.rows, self.lanes = rows_of(problem), lanes_of(problem)

    @classmethod
    @abstractmethod
    def begin(cls, problem: Problem, about: About, seed: int) -> Stays:
        """What stays on the device of a run that begins."""

    @classmethod
    def lanes_at_once(cls, problem: Problem) -> int:  # noqa: ARG003 - most take one
        """How many lanes go together."""
        return 1

    def ask(
        self, name: str, lo: int, hi: int, into: Mapping[str, Floats] = NONE, /, **arguments: Any
    ) -> None:
        """Call the method; sums of the size of w are added to where they belong at once."""
        what = self.method.passes[name]
        to = {a: into[a] for a in what.adds if a in into}
        found: Mapping[str, Floats] = getattr(self, name)(**arguments, **to)
        for reply, value in found.items():
            merge_into(what.how(reply), into[reply], value)


def host(tensor: Tensor) -> Floats:
    """A small tensor as an array of the host's: waits until it is there."""
    return np.asarray(tensor.cpu().numpy())
