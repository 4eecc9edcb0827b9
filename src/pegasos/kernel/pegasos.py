"""Pegasos with a kernel: Shalev-Shwartz, Singer & Srebro (2007), the section on Mercer kernels.

With lam = s/n, w_1 = 0 and e_i = 0, step t = 1, 2, ... draws a batch A of k rows and adds 1 to e_i
of those with y_i f(x_i) < 1, where

    f(x) = 1/(lam k t) sum_j c_j e_j y_j K(x_j, x)

with the counts before the step. After step t, f is the model. Duals: a_i = c_i e_i / (times i was
drawn), feasible at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.arguments import number
from pegasos.certificate import GiveUp, never
from pegasos.kernel.problem import KernelProblem
from pegasos.kernel.run import Model

_BLOCK = 256  # rows drawn at once: their kernel values are one block
_GROWTH = 1.5  # of the epochs between certificates, which cost about as much as an epoch


@dataclass(frozen=True, kw_only=True)
class KernelPegasos:
    """The Pegasos algorithm with a kernel; ``batch_size`` rows per step.

    It has no free intercept: without one, or with a penalised one. Without a limit it ends after
    1000 epochs.
    """

    batch_size: int = 1

    @property
    def default_epochs(self) -> float:
        """Its gap falls like 1 / epochs."""
        return 1000.0

    def __post_init__(self) -> None:
        """Check the option."""
        size = self.batch_size
        if not 1 <= number("batch_size", size) < 2**31 or size != int(size):
            raise ValueError(f"batch_size must be a whole number from 1 on, got {size!r}")

    def check_intercept(self, intercept: str) -> None:
        """Raise ValueError for one that it does not train."""
        if intercept == "free":
            raise ValueError(
                "KernelPegasos does not train a free intercept: use intercept='regularized' or "
                "'none', or solver='dual'"
            )

    def start(self, problem: KernelProblem, seed: int) -> PegasosTraining:
        """Begin at w = 0."""
        return PegasosTraining(self, problem, seed)


class PegasosTraining:
    """One run: counts ``errors`` and ``draws`` of every row, and the step ``t``."""

    def __init__(self, options: KernelPegasos, problem: KernelProblem, seed: int) -> None:
        """Begin at w = 0."""
        self.problem, self.seed, self.k = problem, seed, int(options.batch_size)
        self.errors = np.zeros(problem.n, dtype=np.int64)
        self.draws = np.zeros(problem.n, dtype=np.int64)
        self.steps, self.look_at = 0, float(problem.n)

    @property
    def visits(self) -> int:
        """Of rows."""
        return self.steps * self.k

    @property
    def scale(self) -> float:
        """1 / (lam k t), in units of u = c / s, at step t."""
        return self.problem.n / (self.k * max(1, self.steps))

    def batches(self) -> NDArray[np.intp]:
        """The next batches, (steps, k): a function of the seed and of the steps taken."""
        steps = max(1, _BLOCK // self.k)
        rng = np.random.default_rng([self.seed, self.steps])
        return rng.integers(self.problem.n, size=(steps, self.k))

    def advance(self) -> None:
        """Steps for a block of rows."""
        for _ in self.walk(self.batches()):
            pass

    def walk(self, batches: NDArray[np.intp]) -> Iterator[NDArray[np.int64]]:
        """One step for each batch; yields the counts after it.

        Sums over rows that erred before this block are computed at once, by whole rows of K; those
        in it add their own.
        """
        rows, where = np.unique(batches, return_inverse=True)
        where = where.reshape(batches.shape)
        y, upper = self.problem.y[rows], self.problem.upper[rows]
        sums = self.problem.gram.some(rows, self._weighted(self.errors))
        K = self.problem.gram.part(rows)
        for batch, at in zip(batches, where, strict=True):
            self.steps += 1
            wrong = at[y[at] * (self.scale * sums[at]) < 1]
            if wrong.size:
                np.add.at(self.errors, rows[wrong], 1)
                sums += K[:, wrong] @ (upper[wrong] * y[wrong])
            np.add.at(self.draws, batch, 1)
            yield self.errors

    def _weighted(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.problem.upper * self.problem.y * counts)

    def near(self, tol: float) -> bool:  # noqa: ARG002
        """Whether it is time for a look: nothing is known in between."""
        if self.visits < self.look_at:
            return False
        self.look_at *= _GROWTH
        return True

    def spent(self) -> bool:
        """Never: more steps always help."""
        return False

    def certify(self, give_up: GiveUp = never) -> Model:
        """P of w, and D of the duals, which have another w: one pass for both."""
        problem = self.problem
        coef = self.scale * self._weighted(self.errors)
        alphas = problem.upper * self.errors / np.maximum(self.draws, 1)
        both = problem.scores(np.column_stack([coef, alphas * problem.y]), give_up)
        f, g = np.ascontiguousarray(both.T)
        return Model(coef, 0.0, problem.proof(coef, f, 0.0, alphas, g))

    def refused(self, *, near: bool) -> None:
        """Go on."""

    def finish(self, model: Model) -> Model:
        """Nothing to add."""
        return model
