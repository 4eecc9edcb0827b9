"""What a solver is: a frozen configuration that advances a state made of plain arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import (
    Certificate,
    DualsOf,
    Floats,
    GiveUp,
    certify,
    feature_blocks,
    never,
)
from pegasos.joint import certify_joint
from pegasos.losses import Hinge
from pegasos.problem import Problem


class AnyLimits(Protocol):
    """What a solver may ask of a run's limits."""

    @property
    def none(self) -> bool:
        """Whether there is no limit at all."""


def weight_zeros(shape: tuple[int, int]) -> Floats:
    """Zeros that begin with a cache line: eight lanes, of a multiple of eight, fill one each."""
    size = shape[0] * shape[1]
    buffer = np.zeros(size + 8)
    first = -buffer.ctypes.data % 64 // 8
    return buffer[first : first + size].reshape(shape)


@dataclass(frozen=True)
class State:
    """Everything a run consists of: named arrays, written in place as it advances.

    ``weights`` names the (features + 1, padded lanes) arrays, ``per_lane`` those whose last axis
    is the lane; the rest belong to all lanes.
    """

    arrays: dict[str, NDArray[Any]]
    weights: frozenset[str] = field(default_factory=frozenset)
    per_lane: frozenset[str] = field(default_factory=frozenset)
    there: Any = None  # what a site keeps of the run, where not all of it is here

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The array of that name."""
        return self.arrays[name]

    @property
    def seen(self) -> int:
        """Rows visited so far."""
        return int(self.arrays["cursor"].flat[0])

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.arrays["cursor"].flat[1])

    def take(self, lanes: NDArray[np.intp], padded: int, give_up: GiveUp = never) -> State:
        """The state of some of the lanes, with weights of ``padded`` columns."""
        arrays = dict(self.arrays)
        for name in self.per_lane:
            arrays[name] = np.ascontiguousarray(arrays[name][..., lanes])
        for name in self.weights:
            wide = weight_zeros((arrays[name].shape[0], padded))
            for lo, hi in feature_blocks(wide, give_up):
                wide[lo:hi, : lanes.size] = arrays[name][lo:hi, lanes]
            arrays[name] = wide
        return replace(self, arrays=arrays)


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """How to advance a state. Knows nothing of time, files, keyboards or scikit-learn."""

    name: ClassVar[str]
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized"})
    losses: ClassVar[frozenset[str]] = frozenset({Hinge.name})  # that it trains
    exact: ClassVar[bool] = False  # converges linearly, so that tight tolerances are cheap
    warm_starts: ClassVar[bool] = False
    by_blocks: ClassVar[bool] = False  # trains on rows that come a part at a time
    by_passes: ClassVar[bool] = False  # asks for nothing but passes over rows
    lanes_apart: ClassVar[bool] = False  # trains one lane after the other
    default_epochs: ClassVar[float | None] = 1000  # limit where the user sets none
    phases: ClassVar[tuple[str, ...]] = ()  # of an iteration: what state["place"] counts
    matrix_phase: ClassVar[str] = ""  # the one that adds up a matrix: its ranges are shorter
    worth_certifying: ClassVar[float] = 1.2  # times tol: what an estimate has to be within

    def lanes_at_once(self, problem: Problem) -> int:
        """How many lanes are trained together."""
        return 1 if self.lanes_apart else problem.lanes

    def aimed_at(self, tol: float) -> Solver:  # noqa: ARG002 - most are the same for any
        """The solver for a run that ends when a gap of ``tol`` is proven."""
        return self

    def stops_itself(self, problem: Problem) -> bool:  # noqa: ARG002
        """Whether ``advance`` stops by itself where tol may be met: estimates are asked rarely."""
        return False

    def check_limits(self, limits: AnyLimits) -> None:  # noqa: B027 - most accept any
        """Raise ValueError if the run could not end with these limits."""

    @abstractmethod
    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """The state before the first step; ``duals`` only where ``warm_starts``."""

    @abstractmethod
    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows until a stop is reached (True) or ``work`` visits are done (False).

        A solver may stop sooner (True) where its estimate of the gap is within what it aims at.

        Where a call pauses must not change what is computed.
        """

    @abstractmethod
    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """The current w of every lane, shaped ``Problem.weights_shape``; may raise GaveUp."""

    @abstractmethod
    def duals(self, problem: Problem, state: State) -> DualsOf:
        """Duals in the box at any moment, as a function of a row range."""

    def certify(
        self, problem: Problem, state: State, W: Floats, b: Floats, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats] | None:
        """The certificate of W, b and the duals, and the b it is for; None if given up."""
        prove = certify_joint if problem.joint else certify
        return prove(problem, W, b, self.duals(problem, state), give_up=give_up)

    def estimate(self, problem: Problem, state: State) -> Floats | None:  # noqa: ARG002
        """A cheap guess of each lane's relative gap at a pause, or None.

        It only decides when a certificate is worth a pass over the data.
        """
        return None

    def stalled(self, problem: Problem, state: State) -> bool:  # noqa: ARG002
        """Whether float64 has no more digits to give: further steps would gain nothing."""
        return False

    def refused(self, problem: Problem, state: State) -> None:  # noqa: B027 - most need not know
        """A certificate was taken, and some lane is not within tol."""

    def take(
        self, problem: Problem, state: State, lanes: NDArray[np.intp], give_up: GiveUp = never
    ) -> State:
        """The state of some of the lanes; ``problem`` is theirs."""
        there = problem.site.keep(state.there, problem, lanes)
        return replace(state.take(lanes, problem.weights_shape[1], give_up), there=there)


def shares(problem: Problem, errors: NDArray[np.uint32], presentations: NDArray[Any]) -> DualsOf:
    """Duals a = c errors / presentations: in the box, since a row errs at most when presented."""

    def duals(lo: int, hi: int) -> Floats:
        share = errors[lo:hi] / np.maximum(presentations[lo:hi], 1)[:, None]
        costs: Floats = problem.costs(lo, hi) * share
        return costs

    return duals
