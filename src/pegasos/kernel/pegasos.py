"""Pegasos with a kernel: Shalev-Shwartz, Singer & Srebro (2007), the section on Mercer kernels.

With lam = s/n, w_1 = 0 and e_i = 0, step t = 1, 2, ... draws a batch A of k rows and adds 1 to e_i
of those with y_i f(x_i) < 1, where

    f(x) = 1/(lam k t) sum_j c_j e_j y_j K(x_j, x)

with the counts before the step. After step t, f is the model. Duals: a_i = c_i e_i / (times i was
drawn), feasible at any moment.

State: ``errors`` and ``draws`` of every row, ``cursor`` (visits, steps), ``look_at`` (visits after
which a certificate is due), ``asked`` (it is), ``seed``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats, GiveUp, never
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.solver import ASKED, KernelSolver
from pegasos.state import COUNTS, SEED, Field, State, expect
from pegasos.util.arguments import number

_BLOCK = 256  # rows drawn at once: their kernel values are one block
_GROWTH = 1.5  # of the epochs between certificates, which cost about as much as an epoch


@dataclass(frozen=True, kw_only=True)
class KernelPegasos(KernelSolver):
    """The Pegasos algorithm with a kernel; ``batch_size`` rows per step.

    It has no free intercept: without one, or with a penalised one. Without a limit it ends after
    1000 epochs.
    """

    batch_size: int = 1

    name: ClassVar[str] = "kernel_pegasos"

    def __post_init__(self) -> None:
        """Check the option."""
        size = self.batch_size
        if not 1 <= number("batch_size", size) < 2**31 or size != int(size):
            raise ValueError(f"batch_size must be a whole number from 1 on, got {size!r}")

    def fields(self, problem: KernelProblem) -> tuple[Field, ...]:
        """How often rows were drawn, and erred."""
        return (
            COUNTS,
            Field("errors", ("rows",), np.int64),
            Field("draws", ("rows",), np.int64),
            Field("look_at", (1,), start=float(problem.n)),
            ASKED,
            SEED,
        )

    def some_steps(self, problem: KernelProblem, state: State) -> None:
        """Steps for a block of rows."""
        for _ in self.walk(problem, state, self.batches(problem, state)):
            pass
        state["asked"][0] = state.seen >= state["look_at"][0]

    def batches(self, problem: KernelProblem, state: State) -> NDArray[np.intp]:
        """The next batches, (steps, k): a function of the seed and of the steps taken."""
        steps = max(1, _BLOCK // self.batch_size)
        rng = np.random.default_rng([int(state["seed"][0]), state.steps])
        return rng.integers(problem.n, size=(steps, self.batch_size))

    def walk(
        self, problem: KernelProblem, state: State, batches: NDArray[np.intp]
    ) -> Iterator[NDArray[np.int64]]:
        """One step for each batch; yields the counts after it.

        Sums over rows that erred before this block are computed at once, by whole rows of K; those
        in it add their own.
        """
        errors, cursor = state["errors"], state["cursor"]
        rows, where = np.unique(batches, return_inverse=True)
        where = where.reshape(batches.shape)
        y, upper = problem.y[rows], problem.upper[rows]
        sums = problem.gram.some(rows, _weighted(problem, errors))
        K = problem.gram.part(rows)
        for batch, at in zip(batches, where, strict=True):
            cursor += self.batch_size, 1
            wrong = at[y[at] * (self._scale(problem, state) * sums[at]) < 1]
            if wrong.size:
                np.add.at(errors, rows[wrong], 1)
                sums += K[:, wrong] @ (upper[wrong] * y[wrong])
            np.add.at(state["draws"], batch, 1)
            yield errors

    def _scale(self, problem: KernelProblem, state: State) -> float:
        """1 / (lam k t), in units of u = c / s, at step t."""
        return problem.n / (int(self.batch_size) * max(1, state.steps))

    def coef(self, problem: KernelProblem, state: State) -> Floats:
        """The coefficient of every row."""
        return self._scale(problem, state) * _weighted(problem, state["errors"])

    def alphas(self, problem: KernelProblem, state: State) -> Floats:
        """The share of its draws in which a row erred, of its bound."""
        return np.asarray(problem.upper * state["errors"] / np.maximum(state["draws"], 1))

    def proven(
        self, problem: KernelProblem, state: State, give_up: GiveUp = never
    ) -> tuple[Certificate, Floats]:
        """P of w, and D of the duals, which have another w: one pass for both."""
        coef, alphas = self.coef(problem, state), self.alphas(problem, state)
        both = problem.gram.times(np.column_stack([coef, alphas * problem.y]), give_up)
        f, g = np.ascontiguousarray(both.T)
        return problem.proof(coef, f, 0.0, alphas, g), problem.shown(coef, 0.0)

    def refused(self, problem: KernelProblem, state: State) -> None:
        """Go on, to a later look."""
        if state["asked"][0]:
            state["asked"][0] = 0
            state["look_at"][0] *= _GROWTH

    def resumed(self, problem: KernelProblem, arrays: dict[str, NDArray[Any]]) -> State:
        """The state of arrays that were read from a file; ValueError if they can be no run's."""
        state = super().resumed(problem, arrays)
        seen, steps = state["cursor"].tolist()
        draws, errors = state["draws"], state["errors"]
        right = seen == steps * self.batch_size == draws.sum() and (errors <= draws).all()
        expect(right and (errors >= 0).all(), "its counts do not agree")
        expect(0 < state["look_at"][0] < np.inf, "a look is never due")
        return state


def _weighted(problem: KernelProblem, counts: NDArray[Any]) -> Floats:
    return np.asarray(problem.upper * problem.y * counts)
