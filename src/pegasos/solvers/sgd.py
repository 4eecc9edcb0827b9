"""SGDR, SGDS, SGDM: stochastic gradient descent as a perceptron with a growing margin.

Panagiotakopoulos & Tsampouka (2013), "The Stochastic Gradient Descent for the Primal L1-SVM
Optimization Revisited". With u = lam t w, presenting row i at step t = 0, 1, ... is

    if y_i u.x_i <= lam t then u <- u + c_i y_i x_i  (a margin error);    t <- t + 1

and nothing shrinks. With lam = s/n and I_i margin errors in T presentations of every row,
a_i = c_i I_i / T lies in the box and w(a) = u / (lam t) = w, so D costs no pass at complete
epochs. Before that, a_i = c_i (errors of i) / (presentations of i) is feasible too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, feature_blocks, never, relative_gap
from pegasos.problem import Problem
from pegasos.solvers import order, stream
from pegasos.solvers.base import AnyLimits, Solver, shares
from pegasos.state import Field, State
from pegasos.util.arguments import number


@dataclass(frozen=True, kw_only=True)
class _MarginPerceptron(Solver):
    """What the three share; they differ in the order and the presentations per visit."""

    sampling: ClassVar[order.Sampling] = "permute"
    by_blocks: ClassVar[bool] = True

    @property
    def presentations(self) -> int:
        """Presentations of a row per visit."""
        return 1

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """u and t, which start from 0, the margin errors I, and the order."""
        return (
            Field("U", ("weights", "padded")),
            Field("t", ("lanes",), np.int64),
            Field("error_cost", ("lanes",)),  # sum of c over all margin errors
            Field("loss", (order.blocks(problem), "lanes")),  # as met in this epoch
            *order.fields(problem, self.sampling),
            order.errors(problem, self.sampling),
        )

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one visit."""
        draws = state.arrays.get("draws")

        def visit(part: stream.Part, **budget: int) -> bool:
            return _core.sgd_advance(
                part.core,
                part.sampler,
                multiplicity=self.presentations,
                U=state["U"],
                t=state["t"],
                errors=state["errors"][part.rows],
                draws=None if draws is None else draws[part.rows],
                error_cost=state["error_cost"],
                loss=state["loss"][part.number],
                **budget,
            )

        return order.advance(
            problem, self.sampling, state, visit, work=work, stop_seen=stop_seen,
            stop_steps=stop_steps,
        )  # fmt: skip

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """W = u / (lam t)."""
        scale = problem.lam * np.maximum(state["t"], 1)
        W = np.zeros(problem.weights_shape)
        for lo, hi in feature_blocks(W, give_up):
            W[lo:hi, : problem.lanes] = state["U"][lo:hi, : problem.lanes] / scale
        return W

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """Margin errors over presentations, times c."""
        visits = order.visits(problem, self.sampling, state)
        return shares(problem, state["errors"], visits * np.int64(self.presentations))

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap with each loss as it was when its row was visited; D is exact."""
        if self.sampling == "iid" or state.seen == 0:
            return None
        w2 = np.einsum("jk,jk->k", state["U"], state["U"])[: problem.lanes]
        half = problem.s / 2 * w2 / (problem.lam * np.maximum(state["t"], 1)) ** 2
        dual = state["error_cost"] / (state.seen // problem.n * self.presentations)
        return relative_gap(half + state["loss"].sum(axis=0), dual - half)


@dataclass(frozen=True, kw_only=True)
class SGDR(_MarginPerceptron):
    """SGD-r: rows drawn at random; runs a given number of steps (or until certified)."""

    name: ClassVar[str] = "sgdr"
    sampling: ClassVar[order.Sampling] = "iid"

    def check_limits(self, limits: AnyLimits) -> None:
        """A number of steps, epochs or seconds is part of the algorithm."""
        if limits.none:
            raise ValueError("SGDR runs for a given number of steps: set max_steps (or max_epochs)")


@dataclass(frozen=True, kw_only=True)
class SGDS(_MarginPerceptron):
    """SGD-s: every row once per epoch, in a fresh permutation; stops on its certificate."""

    name: ClassVar[str] = "sgds"


@dataclass(frozen=True, kw_only=True)
class SGDM(_MarginPerceptron):
    """SGD-m: as SGD-s, each row presented ``multiplicity`` times in a row per visit."""

    name: ClassVar[str] = "sgdm"
    multiplicity: int = 5

    def __post_init__(self) -> None:
        """Check the option."""
        m = number("multiplicity", self.multiplicity)
        if not 1 <= m <= 10**6 or m != int(m):
            raise ValueError(
                f"multiplicity must be a whole number in 1 .. 1,000,000, got {self.multiplicity}"
            )

    @property
    def presentations(self) -> int:
        """The multiplicity."""
        return int(self.multiplicity)
