"""The rows that SMO has in hand: all, or those that have not settled; and their rows of K."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.kernel.cache import BATCH, CACHED, Cache
from pegasos.kernel.gram import NOT_SEMIDEFINITE
from pegasos.kernel.problem import KernelProblem
from pegasos.state import State, expect

_SHARE = 0.7  # of the largest violation: while rows that are here violate so much, they move
_BELOW_ZERO = 1e-4  # what float32 can make of a curvature of 0, and far more


class Hand:
    """What steps work on. Between steps the arrays of the state say all of it."""

    def __init__(
        self, problem: KernelProblem, state: State, megabytes: float, threads: int
    ) -> None:
        """Go on where the state is; its rows of K are made again."""
        self.problem, self.state, self.threads = problem, state, threads
        level = state["level"]
        self.diagonal = problem.gram.diagonal().astype(np.float32)
        every = np.arange(problem.n)
        self._take(np.flatnonzero(level == level.max()))
        self.cache = Cache(problem.gram, np.zeros(problem.n, np.uint8), megabytes, every)
        if not state["owner"].size:
            self.cache.marks = self.marks
            self._keep()
            return
        self.cache.depth = int(level.max())
        self.cache.clock, self.cache.computed = state["cache"].tolist()
        self.cache.filled(
            {field.name: state[field.name] for field in CACHED}, self.marks,
            lambda depth: np.flatnonzero(level >= depth),
        )  # fmt: skip

    def _take(self, index: NDArray[np.intp]) -> None:
        """Have these rows in hand."""
        self.index = index
        self.whole = index.size == self.problem.n
        self.y, self.upper = self.problem.y, self.problem.upper
        self.near_diagonal, self.a, self.slack = self.diagonal, self.state["a"], self.state["slack"]
        if not self.whole:
            self.y, self.upper = self.y[index], self.upper[index]
            self.near_diagonal = self.diagonal[index]
            self.a, self.slack = self.a[index], self.slack[index]
        self.marks = marked(self.a, self.upper, self.y)

    def _keep(self) -> None:
        """Leave all of it in the state."""
        if not self.whole:
            self.state["a"][self.index] = self.a
            self.state["slack"][self.index] = self.slack
        self.state.arrays.update(self.cache.arrays)
        self.state["cache"][:] = self.cache.clock, self.cache.computed

    def step(self, steps: int) -> str:
        """Steps, until some rows of K are missing, which then come, or none is to be done."""
        cache, numbers = self.cache, self.state["numbers"]  # dual, tolerance
        end, done, _, gain, flattest, cache.clock = _core.smo_advance(
            y=self.y, upper=self.upper, diagonal=self.near_diagonal, a=self.a, slack=self.slack,
            marks=self.marks, rows=cache.rows, place=cache.place, used=cache.used,
            clock=cache.clock, balanced=self.problem.free, tolerance=float(numbers[1]),
            share=_SHARE, steps=steps, threads=self.threads,
        )  # fmt: skip
        cursor = self.state["cursor"]
        cursor += done
        numbers[0] += gain
        if flattest < -_BELOW_ZERO * float(self.near_diagonal.max()):
            raise ValueError(
                NOT_SEMIDEFINITE.format(f"K(x, x) + K(z, z) - 2 K(x, z) = {flattest:.3g} for some")
            )
        if end == "missing":
            cache.fetch(self._wanted())
        self._keep()
        return str(end)

    def _wanted(self) -> Any:
        """Rows of K that are not here, those first that violate optimality most."""
        absent = self.marks & _core.SMO_HERE == 0
        rises = np.where(can(self.marks, _core.SMO_RISES), self.slack, -np.inf)
        falls = np.where(can(self.marks, _core.SMO_FALLS), -self.slack, -np.inf)
        if not self.problem.free:
            return _most(np.where(absent, np.maximum(rises, falls), -np.inf), 0.0, BATCH)
        half = BATCH // 2
        up = _most(np.where(absent, rises, -np.inf), -falls.max(), half)
        down = _most(np.where(absent, falls, -np.inf), -rises.max(), half)
        both = np.concatenate([up, down])[np.argsort(np.r_[: up.size, : down.size], kind="stable")]
        return both[np.sort(np.unique(both, return_index=True)[1])]

    def gap(self) -> float:
        """The gap, as far as float32 rows of K can tell."""
        b = intercept(self.marks, self.slack) if self.problem.free else 0.0
        missing = self.y * (self.slack - b)
        return float(self.upper @ np.maximum(0.0, missing)) - float(self.a @ missing)

    def settled(self) -> NDArray[np.bool_]:
        """Which are at a bound and far from wanting to leave it."""
        rises, falls = can(self.marks, _core.SMO_RISES), can(self.marks, _core.SMO_FALLS)
        highest, lowest, slack = 0.0, 0.0, self.slack
        if self.problem.free:
            highest, lowest = ends(self.marks, slack)
            margin = abs(highest - lowest)
        else:
            margin = float(np.max(np.where(rises, slack, 0), initial=0.0)) - float(
                np.min(np.where(falls, slack, 0), initial=0.0)
            )
        return (rises & ~falls & (slack < lowest - margin)) | (
            falls & ~rises & (slack > highest + margin)
        )

    def narrow(self, keep: NDArray[np.intp]) -> None:
        """Leave all other rows out."""
        index = self.index[keep]
        self.state["level"][index] += 1
        self._take(index)
        self.cache.narrow(keep, self.cache.gram.take(keep), self.marks)
        self._keep()

    def widen(self) -> None:
        """Begin again with all rows, if some were left out."""
        if self.whole:
            return
        self.state["level"][:] = 0
        self._take(np.arange(self.problem.n))
        self.cache.widen(self.problem.gram, self.marks, self.index)
        self._keep()

    def put(self, alphas: Floats) -> None:
        """Have these in place of a, of all rows."""
        assert self.whole
        self.a[:] = alphas
        self.marks &= _core.SMO_HERE
        self.marks |= marked(self.a, self.upper, self.y)


def check_hand(state: State) -> None:
    """Raise ValueError for rows in hand that are none."""
    level = state["level"]
    depths = np.unique(level)
    expect(np.array_equal(depths, np.arange(depths.size)), "a level is empty")
    expect(np.count_nonzero(level == level.max()) >= 2, "no rows are in hand")
    expect(np.isfinite(state["slack"]).all(), "slack is not finite")
    expect((state["cache"] >= 0).all(), "the cache's clock is none")


def marked(a: Floats, upper: Floats, y: Floats) -> NDArray[np.uint8]:
    """Which a y may rise, and which may fall."""
    can_grow, can_shrink = a < upper, a > 0
    marks = np.where(y > 0, can_grow, can_shrink) * np.uint8(_core.SMO_RISES)
    marks |= np.where(y > 0, can_shrink, can_grow) * np.uint8(_core.SMO_FALLS)
    return marks


def can(marks: NDArray[np.uint8], what: int) -> NDArray[np.bool_]:
    """Which rows may do it."""
    return np.asarray(marks & what, dtype=bool)


def ends(marks: NDArray[np.uint8], slack: Floats) -> tuple[float, float]:
    """The largest slack of those that may rise, the least of those that may fall."""
    rises, falls = slack[can(marks, _core.SMO_RISES)], slack[can(marks, _core.SMO_FALLS)]
    return (
        float(rises.max()) if rises.size else -np.inf,
        float(falls.min()) if falls.size else np.inf,
    )


def intercept(marks: NDArray[np.uint8], slack: Floats) -> float:
    """The middle of what the optimum leaves open."""
    known = [end for end in ends(marks, slack) if np.isfinite(end)]
    return float(np.mean(known)) if known else 0.0


def _most(values: Floats, least: float, count: int) -> Any:
    """Where the largest values above ``least`` are, at most ``count``, the largest first."""
    some = np.arange(values.size)
    if count < values.size:
        some = np.argpartition(-values, count)[:count]
    some = some[values[some] > least]
    return some[np.argsort(-values[some], kind="stable")]
