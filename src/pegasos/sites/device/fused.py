"""What the passes of any method on a device have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device.arrays import host, refill
from pegasos.sites.device.lanes import Duals, lanes_of, rows_of
from pegasos.sites.method import About, Arrays, Floats, Kept, RowMethod, merge_into
from pegasos.sites.passes import NONE, Passes
from pegasos.state import expect

if TYPE_CHECKING:
    from pegasos.problem import Problem


class Stays(ABC):
    """What a run keeps on the device: variables of the rows, and matrices."""

    random: torch.Generator
    numbers: ClassVar[tuple[str, ...]] = ()  # those of its attributes that bits depend on

    @abstractmethod
    def __init__(self, problem: Problem, about: Any, seed: int) -> None:
        """Begin; ``about`` is what a solver says of itself."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """Those that bits depend on, of the shapes that they have in any run on these lanes."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError for values that were read from a file, and no run has."""

    @abstractmethod
    def take(self, lanes: Tensor) -> None:
        """Keep some of the lanes."""

    @abstractmethod
    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """Feasible duals, read off the variables with ``at``."""

    def saved(self) -> Arrays:
        """All that bits depend on."""
        tensors = self.tensors() | {"random": self.random.get_state()}
        numbers = np.array([float(getattr(self, name)) for name in self.numbers])
        return {name: host(one) for name, one in tensors.items()} | {"numbers": numbers}

    def resume(self, arrays: Arrays) -> None:
        """Go on from what was saved; ValueError if that can be no run's."""
        random = self.random.get_state()
        numbers = torch.zeros(len(self.numbers), dtype=torch.float64)
        refill(self.tensors() | {"random": random, "numbers": numbers}, arrays)
        expect(bool(torch.isfinite(numbers).all()), "its numbers are not finite")
        for name, value in zip(self.numbers, numbers.tolist(), strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        try:
            self.random.set_state(random)
        except RuntimeError as error:
            raise ValueError(f"its random numbers are none ({error})") from None
        self.check()


class FusedPasses(Passes):
    """Passes over all rows at once: ranges are always all of them.

    The pass of a name is the method of that name. It takes its arguments and the arrays to add to,
    and returns its replies.
    """

    stays: ClassVar[type[Stays]]

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with a run."""
        super().__init__(problem, method, state, about)
        self.rows, self.lanes = rows_of(problem), lanes_of(problem)

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
