"""The rows that SMO has in hand: all, or those that have not settled; and their rows of K."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core
from pegasos.certificate import Floats
from pegasos.kernel import smo_tuning as tuned
from pegasos.kernel.cache import CACHED, Cache, Marks
from pegasos.kernel.gram import NOT_SEMIDEFINITE
from pegasos.kernel.kernels import Index
from pegasos.kernel.problem import KernelProblem
from pegasos.state import State


class Hand:
    """What steps work on. Between steps the arrays of the state say all of it."""

    def __init__(
        self, problem: KernelProblem, state: State, megabytes: float, threads: int
    ) -> None:
        """Go on where the state is; its rows of K are made again."""
        self.problem, self.state, self.threads = problem, state, threads
        level = state["level"]
        self.diagonal = problem.gram.diagonal.astype(np.float32)
        self._take(np.flatnonzero(level == level.max()))
        self.cache = Cache(problem.gram, self.marks, megabytes, np.arange(problem.n))
        if not state["owner"].size:
            self._keep()
            return
        self.cache.clock, self.cache.computed = state["cache"].tolist()
        self.cache.filled(
            {field.name: state[field.name] for field in CACHED}, self.marks, int(level.max()),
            lambda depth: np.flatnonzero(level >= depth),
        )  # fmt: skip

    def _take(self, index: Index) -> None:
        """Have these rows in hand: of all, the state's arrays themselves."""
        self.index, self.whole = index, index.size == self.problem.n
        at = slice(None) if self.whole else index
        self.y, self.upper = self.problem.y[at], self.problem.upper[at]
        self.near_diagonal = self.diagonal[at]
        self.a, self.slack = self.state["a"][at], self.state["slack"][at]
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
            share=tuned.VIOLATION_SHARE_TO_STAY, steps=steps, threads=self.threads,
        )  # fmt: skip
        cursor = self.state["cursor"]
        cursor += done
        numbers[0] += gain
        if flattest < -tuned.LEAST_NEGATIVE_CURVATURE * float(self.near_diagonal.max()):
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
        may_rise, may_fall = movable(self.marks)
        rises = np.where(may_rise, self.slack, -np.inf)
        falls = np.where(may_fall, -self.slack, -np.inf)
        if not self.problem.free:
            return _most(np.where(absent, np.maximum(rises, falls), -np.inf), 0.0, tuned.BATCH)
        half = tuned.BATCH // 2
        up = _most(np.where(absent, rises, -np.inf), -falls.max(), half)
        down = _most(np.where(absent, falls, -np.inf), -rises.max(), half)
        both = np.concatenate([up, down])[np.argsort(np.r_[: up.size, : down.size], kind="stable")]
        return both[np.sort(np.unique(both, return_index=True)[1])]

    def gap(self) -> float:
        """The gap, as far as float32 rows of K can tell."""
        b = intercept(self.marks, self.slack) if self.problem.free else 0.0
        missing = self.y * (self.slack - b)
        return float(self.upper @ np.maximum(0.0, missing)) - float(self.a @ missing)

    def shrink(self) -> None:
        """Leave rows out that are at a bound and far from wanting to leave it, if they are many."""
        if self.y.size < tuned.FEWEST_ROWS_TO_SHRINK:
            return
        rises, falls = movable(self.marks)
        highest, lowest, slack = 0.0, 0.0, self.slack
        if self.problem.free:
            highest, lowest = ends(self.marks, slack)
            margin = abs(highest - lowest)
        else:
            margin = slack[rises].max(initial=0.0) - slack[falls].min(initial=0.0)
        settled = rises & ~falls & (slack < lowest - margin)
        settled |= falls & ~rises & (slack > highest + margin)
        keep = np.flatnonzero(~settled)
        if 2 <= keep.size <= tuned.MOST_ROWS_TO_KEEP * settled.size:
            self.narrow(keep)

    def narrow(self, keep: Index) -> None:
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
        self.cache.begin(self.problem.gram, self.marks, self.index)
        self._keep()

    def put(self, alphas: Floats) -> None:
        """Have these in place of a, of all rows."""
        assert self.whole
        self.a[:] = alphas
        self.marks &= _core.SMO_HERE
        self.marks |= marked(self.a, self.upper, self.y)


def marked(a: Floats, upper: Floats, y: Floats) -> Marks:
    """Which a y may rise, and which may fall."""
    can_grow, can_shrink = a < upper, a > 0
    marks = np.where(y > 0, can_grow, can_shrink) * np.uint8(_core.SMO_RISES)
    marks |= np.where(y > 0, can_shrink, can_grow) * np.uint8(_core.SMO_FALLS)
    return marks


def movable(marks: Marks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows may rise, and which may fall."""
    return (marks & _core.SMO_RISES).astype(bool), (marks & _core.SMO_FALLS).astype(bool)


def ends(marks: Marks, slack: Floats) -> tuple[float, float]:
    """The largest slack of those that may rise, the least of those that may fall."""
    rises, falls = movable(marks)
    return (
        float(slack[rises].max(initial=-np.inf)),
        float(slack[falls].min(initial=np.inf)),
    )


def intercept(marks: Marks, slack: Floats) -> float:
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
