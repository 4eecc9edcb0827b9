"""The library's solvers, taken to a given step and looked at there.

``pegasos.solve`` certifies on the way and tells no weights; a walk advances a solver as the driver
does, and keeps time only while it advances.
"""

import time
from statistics import median

import numpy as np

import pegasos
from pegasos.problem import make_problem

_SLICE = 1 << 20  # rows between two chances for Ctrl-C
_NEVER = 1 << 62
TOL = 1e-6  # of every optimum here


class Walk:
    """A run of a stochastic solver on a problem of one lane without intercept."""

    def __init__(self, problem, solver, seed, w=None):
        """Before the first step; ``w`` is where Pegasos starts, if not where it would."""
        self.problem, self.solver = problem, solver
        self.state = solver.start(problem, seed)
        self.seconds = 0.0
        if w is not None:
            self.state["v"][:-1, 0] = w
            self.state["nu"][:] = self.state["nu_peak"][:] = w @ w

    def to(self, steps):
        """Go on until so many steps are taken."""
        began = time.perf_counter()
        while not self.solver.advance(
            self.problem, self.state, work=_SLICE, stop_seen=_NEVER, stop_steps=int(steps)
        ):
            pass
        self.seconds += time.perf_counter() - began
        return self

    @property
    def w(self):
        """The weights."""
        return self.solver.weights(self.problem, self.state)[:-1, 0]

    @property
    def objective(self):
        """P(w), from the data, in float64."""
        W = self.solver.weights(self.problem, self.state)
        proof = self.solver.certify(self.problem, self.state, W, np.zeros(1))
        return float(proof[0].primal[0])


def timed(problem, solver, steps, seeds=3):
    """Median seconds of so many steps in one go."""
    return median(Walk(problem, solver, seed).to(steps).seconds for seed in range(seeds))


def problem_of(X, y, *, lam=None, C=None):
    """The problem without an intercept."""
    return make_problem(X, y.reshape(-1, 1), lam=lam, C=C, intercept="none")


def optimum(X, y, *, lam=None, C=None):
    """The result of the exact solver, proven to 1e-6."""
    result = pegasos.solve(X, y, lam=lam, C=C, intercept="none", tol=TOL, seed=0)
    if not result.certificate.relative_gap <= TOL:
        raise RuntimeError(f"the optimum is not proven to {TOL:g}: {result}")
    return result


def ladder(first, last, per_decade=8):
    """Whole numbers from ``first`` to ``last``, evenly on a logarithmic axis."""
    count = max(2, round(per_decade * np.log10(last / first)) + 1)
    return sorted({round(value) for value in np.geomspace(first, last, count)})


def error(X, y, w):
    """Share of rows on the wrong side; a score of 0 is wrong, as it tells nothing."""
    return float(np.mean(y * (X @ w) <= 0))
