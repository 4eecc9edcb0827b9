"""The exact solver for kernels: SMO over a cache of rows, until the gap is proven.

The gap comes for free with slack = y - f, in float32's precision; where it says that tol is
reached, f is computed anew in float64, from all support vectors, and that decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos import _core, threads
from pegasos.certificate import Floats, GiveUp, never
from pegasos.kernel.cache import Cache
from pegasos.kernel.gram import NOT_SEMIDEFINITE, Gram
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.run import Model

_TOGETHER = 64  # rows of K computed at once
_SHARE = 0.7  # of the largest violation: while rows that are here violate so much, they move
_WIDE = 256  # threads pay from 16,384 rows on
_BELOW_ZERO = 1e-4  # what float32 can make of a curvature of 0, and far more
_SLICE = 2000  # steps between two looks at the keyboard
_FIRST_TOLERANCE = 1e-2
_LAST_TOLERANCE = 1e-10
# Rows that have settled at a bound are left out once they are many.
_SHRINK_FROM = 2000  # rows
_WORTH_SHRINKING = 0.7
# Tiny problems are solved to nearly all digits whatever tol says: it costs milliseconds, and a
# weight is then a repeated row.
_TINY, _POLISHED, _MOST_POLISHING = 500, 1e-12, 20


@dataclass(frozen=True, kw_only=True)
class SMO:
    """Sequential minimal optimization; ``cache_size`` are megabytes for rows of K."""

    cache_size: float = 1000
    n_jobs: int | None = None

    @property
    def default_epochs(self) -> None:
        """It ends by itself."""

    def check_intercept(self, intercept: str) -> None:
        """It trains any."""

    def start(self, problem: KernelProblem, seed: int) -> SMOTraining:  # noqa: ARG002
        """Begin at 0."""
        return SMOTraining(self, problem)


@dataclass
class _Rows:
    """What steps work on: all rows, or those that have not settled."""

    gram: Gram
    index: NDArray[np.intp]  # which they are
    y: Floats
    upper: Floats
    diagonal: NDArray[np.float32]
    a: Floats
    slack: Floats
    marks: NDArray[np.uint8]

    def take(self, keep: NDArray[np.intp]) -> _Rows:
        """Some of them."""
        parts = (getattr(self, name)[keep] for name in list(self.__dataclass_fields__)[1:])
        return _Rows(self.gram.take(keep), *parts)

    def mark(self) -> None:
        """Which a y may rise, and which may fall."""
        can_grow, can_shrink = self.a < self.upper, self.a > 0
        self.marks &= _core.SMO_HERE
        self.marks |= np.where(self.y > 0, can_grow, can_shrink) * np.uint8(_core.SMO_RISES)
        self.marks |= np.where(self.y > 0, can_shrink, can_grow) * np.uint8(_core.SMO_FALLS)

    def rises(self) -> NDArray[np.bool_]:
        return np.asarray(self.marks & _core.SMO_RISES, dtype=bool)

    def falls(self) -> NDArray[np.bool_]:
        return np.asarray(self.marks & _core.SMO_FALLS, dtype=bool)

    def ends(self, slack: Floats | None = None) -> tuple[float, float]:
        """The largest slack of those that may rise, the least of those that may fall."""
        slack = self.slack if slack is None else slack
        rises, falls = slack[self.rises()], slack[self.falls()]
        return (
            float(rises.max()) if rises.size else -np.inf,
            float(falls.min()) if falls.size else np.inf,
        )

    def intercept(self, slack: Floats | None = None) -> float:
        """The middle of what the optimum leaves open."""
        ends = [end for end in self.ends(slack) if np.isfinite(end)]
        return float(np.mean(ends)) if ends else 0.0


class SMOTraining:
    """One run."""

    def __init__(self, options: SMO, problem: KernelProblem) -> None:
        """Begin at a = 0."""
        n = problem.n
        self.problem, self.free = problem, problem.free
        self.all = self.rows = _Rows(
            problem.gram, np.arange(n), problem.y, problem.upper,
            problem.gram.diagonal().astype(np.float32),
            np.zeros(n), problem.y.copy(), np.zeros(n, dtype=np.uint8),
        )  # fmt: skip
        self.rows.mark()
        self.cache = Cache(problem.gram, self.rows.marks, options.cache_size)
        self.threads = threads.resolve(options.n_jobs, _WIDE * n)
        self.dual = 0.0  # in LIBSVM's scale, as far as float32 rows of K can tell
        self.tolerance, self.converged = _FIRST_TOLERANCE, False
        self.steps, self.every = 0, max(200, n // 20)
        self.look_at = self.shrink_at = self.every

    @property
    def visits(self) -> int:
        """Of rows: a step is one."""
        return self.steps

    def advance(self) -> None:
        """Steps, until some rows of K are missing or it is time for a look."""
        end = self._step(min(_SLICE, max(1, self.look_at - self.steps)))
        self.converged = end == "converged"
        if self.steps >= self.shrink_at and not self.converged:
            self._shrink()

    def _step(self, steps: int) -> str:
        rows, cache = self.rows, self.cache
        end, done, _, gain, flattest, cache.clock = _core.smo_advance(
            y=rows.y, upper=rows.upper, diagonal=rows.diagonal, a=rows.a, slack=rows.slack,
            marks=rows.marks, rows=cache.rows, place=cache.place, used=cache.used,
            clock=cache.clock, balanced=self.free, tolerance=self.tolerance, share=_SHARE,
            steps=steps, threads=self.threads,
        )  # fmt: skip
        self.steps += done
        self.dual += gain
        if flattest < -_BELOW_ZERO * float(rows.diagonal.max()):
            raise ValueError(
                NOT_SEMIDEFINITE.format(f"K(x, x) + K(z, z) - 2 K(x, z) = {flattest:.3g} for some")
            )
        if end == "missing":
            cache.fetch(self._wanted())
        return str(end)

    def _wanted(self) -> Any:
        """Rows of K that are not here, those first that violate optimality most."""
        rows = self.rows
        absent = rows.marks & _core.SMO_HERE == 0
        rises = np.where(rows.rises(), rows.slack, -np.inf)
        falls = np.where(rows.falls(), -rows.slack, -np.inf)
        if not self.free:
            return _most(np.where(absent, np.maximum(rises, falls), -np.inf), 0.0, _TOGETHER)
        half = _TOGETHER // 2
        up = _most(np.where(absent, rises, -np.inf), -falls.max(), half)
        down = _most(np.where(absent, falls, -np.inf), -rises.max(), half)
        both = np.concatenate([up, down])[np.argsort(np.r_[: up.size, : down.size], kind="stable")]
        return both[np.sort(np.unique(both, return_index=True)[1])]

    def _shrink(self) -> None:
        """Leave rows out that are at a bound and far from wanting to leave it."""
        rows = self.rows
        self.shrink_at = self.steps + 5 * self.every
        if rows.y.size < _SHRINK_FROM:
            return
        highest, lowest = rows.ends() if self.free else (0.0, 0.0)
        margin = abs(highest - lowest) if self.free else self._worst()
        rises, falls = rows.rises(), rows.falls()
        settled = (rises & ~falls & (rows.slack < lowest - margin)) | (
            falls & ~rises & (rows.slack > highest + margin)
        )
        keep = np.flatnonzero(~settled)
        if keep.size > _WORTH_SHRINKING * settled.size or keep.size < 2:
            return
        self._put_back()
        self.rows = rows.take(keep)
        self.cache.narrow(keep, self.rows.gram, self.rows.marks)

    def _worst(self) -> float:
        rows = self.rows
        return float(np.max(np.where(rows.rises(), rows.slack, 0), initial=0.0)) - float(
            np.min(np.where(rows.falls(), rows.slack, 0), initial=0.0)
        )

    def _put_back(self) -> None:
        self.all.a[self.rows.index] = self.rows.a

    def near(self, tol: float) -> bool:
        """Whether the gap, as far as float32 rows of K can tell, is within tol."""
        if not self.converged and self.steps < self.look_at:
            return False
        self.look_at = self.steps + self.every
        rows = self.rows
        b = rows.intercept() if self.free else 0.0
        missing = rows.y * (rows.slack - b)
        gap = float(rows.upper @ np.maximum(0.0, missing)) - float(rows.a @ missing)
        near = gap <= tol * self.dual
        if self.converged and not near and self.tolerance > _LAST_TOLERANCE:
            self.tolerance, self.converged = max(self.tolerance / 10, _LAST_TOLERANCE), False
        return near

    def spent(self) -> bool:
        """Whether no row violates optimality any more."""
        return self.converged and self.tolerance <= _LAST_TOLERANCE

    def certify(self, give_up: GiveUp = never) -> Model:
        """The bounds, recomputed from all rows; the steps to come do not depend on it."""
        self._put_back()
        self.all.mark()
        alphas = self.all.a.copy()
        coef = alphas * self.problem.y
        self._exact = self.problem.scores(coef, give_up)
        b = self.all.intercept(self.problem.y - self._exact) if self.free else 0.0
        return Model(coef, b, self.problem.proof(coef, self._exact, b, alphas, self._exact))

    def refused(self, *, near: bool) -> None:
        """If float32 or rows left out were the reason: go on with exact slacks, and all rows."""
        if near:
            self.converged = False
            self._refresh()

    def _refresh(self) -> None:
        self.all.slack[:] = self.problem.y - self._exact
        self.dual = float(self.all.a.sum()) - float((self.all.a * self.all.y) @ self._exact) / 2
        if self.rows is not self.all:
            self.rows = self.all
            self.cache.widen(self.all.gram, self.all.marks)

    def finish(self, model: Model) -> Model:
        """Solve tiny problems to the last digits: slack anew in float64, then steps.

        The better model is kept: where a bound is reached before the end, that is the first.
        """
        if self.problem.n > _TINY:
            return model
        self.tolerance = _POLISHED
        for _ in range(_MOST_POLISHING):
            self._refresh()
            before = self.steps
            while self._step(_SLICE) != "converged":
                if self.steps - before > 100 * self.problem.n:
                    return _better(model, self.certify())
            if self.steps == before:
                break
            model = _better(model, self.certify())
        return model


def _better(one: Model, other: Model) -> Model:
    return min(one, other, key=lambda model: float(model.certificate.gap))


def _most(values: Floats, least: float, count: int) -> Any:
    """Where the largest values above ``least`` are, at most ``count``, the largest first."""
    some = np.arange(values.size)
    if count < values.size:
        some = np.argpartition(-values, count)[:count]
    some = some[values[some] > least]
    return some[np.argsort(-values[some], kind="stable")]
