"""Pegasos: projected stochastic sub-gradient steps on the primal.

Shalev-Shwartz, Singer & Srebro (2007), "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM",
section 2; the overview by Rupnik; the lecture's cyclic version. With lam = s/n, step t = 1, 2, ...
draws a batch A of k rows, A+ those with y w.x < 1, and sets

    w <- (1 - 1/t) w + 1/(lam t k) sum over A+ of c y x
    w <- w min(1, R / |w|),   R^2 = sum(c) / s  (1/lam without weights)        if project

Duals: a_i = c_i (times i was in A+) / (times i was drawn), feasible at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, feature_blocks, never
from pegasos.problem import Problem
from pegasos.solvers import order, stream
from pegasos.solvers.base import AnyLimits, Solver, shares
from pegasos.state import Field, State, below, expect
from pegasos.util.arguments import number


@dataclass(frozen=True, kw_only=True)
class Pegasos(Solver):
    """The Pegasos algorithm.

    Parameters
    ----------
    batch_size : rows per step, or ``"all"``: the deterministic sub-gradient projection method.
    project : keep w in the ball that holds the optimum.
    sampling : ``"iid"`` draws as the paper does; ``"permute"`` visits every row once per epoch
        in a fresh permutation, ``"cycle"`` in storage order (the lecture's version, with
        ``project=False``); both end a batch at the epoch's end.
    init : ``"zero"``, or ``"random"`` in the ball. The first step multiplies w by 1 - 1/1 = 0, so
        a random start decides only which rows violate then.
    count : ``"on_loss"`` leaves t and w alone on a batch without violators (Rupnik's remedy for
        small batches). It then solves the problem with lam times the share of such batches, so
        its gap cannot close: it needs ``max_steps``, ``max_epochs`` or ``max_time``.
    average : return the mean of w over the steps instead of the last.
    """

    name: ClassVar[str] = "pegasos"
    batch_size: int | Literal["all"] = 1
    project: bool = True
    sampling: order.Sampling = "iid"
    init: Literal["zero", "random"] = "zero"
    count: Literal["always", "on_loss"] = "always"
    average: bool = False
    by_blocks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options."""
        if self.batch_size == "all":
            if self.sampling != "iid":
                raise ValueError("batch_size='all' takes every row each step: it has no sampling")
        elif (
            isinstance(self.batch_size, str)
            or not 1 <= number("batch_size", self.batch_size) < 2**32
            or self.batch_size != int(self.batch_size)
        ):
            raise ValueError(
                f"batch_size must be a whole number in 1 .. 2^32 - 1, or 'all', "
                f"got {self.batch_size!r}"
            )
        for option, allowed in (
            ("sampling", ("iid", "permute", "cycle")),
            ("init", ("zero", "random")),
            ("count", ("always", "on_loss")),
            ("project", (True, False)),
            ("average", (True, False)),
        ):
            if getattr(self, option) not in allowed:
                raise ValueError(
                    f"{option} must be one of {allowed}, got {getattr(self, option)!r}"
                )

    def check_limits(self, limits: AnyLimits) -> None:
        """Counting only steps with a loss cannot close the gap."""
        if self.count == "on_loss" and limits.none:
            raise ValueError(
                "count='on_loss' solves a problem with a smaller lam, so its gap cannot close: "
                "set max_steps (or max_epochs, max_time)"
            )

    def fields(self, problem: Problem) -> tuple[Field, ...]:
        """w = a v and nu = |w|^2, so that a step costs O(non-zeros of its rows), and the rest."""
        k = self._rows_per_step(problem)
        # With sum_t w_t = a_total v - late.
        mean = (Field("a_total", ("lanes",)), Field("late", ("weights", "padded")))
        return (
            Field("v", ("weights", "padded")),
            Field("a", ("lanes",), start=1),
            Field("nu", ("lanes",)),
            Field("nu_peak", ("lanes",)),
            Field("updates", (1,), np.int64),
            Field("t", ("lanes",), np.int64, start=1),
            Field("batch", (k,), np.uint32, below(problem.n)),
            Field("violators", (k, "lanes"), np.uint8),
            Field("batch_rows", ("lanes",), np.int64),
            Field("batch_violators", ("lanes",), np.int64),
            Field("batch_cursor", (3,), np.int64, _check_batch),
            *(mean if self.average else ()),
            *order.fields(problem, self._order),
            order.errors(problem, self._order),
        )

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start from w_1 = 0, or from a random w_1 of norm at most R."""
        if self.batch_size == "all" and not problem.site.in_memory:
            raise ValueError("batch_size='all' needs the rows in memory: give a number")
        state = State.begin(problem.sizes, self.fields(problem), seed=seed)
        if self.init == "random":
            rng = np.random.default_rng(seed)
            rows = problem.rows.d + (problem.bias != 0)
            w = rng.standard_normal((rows, problem.lanes))
            norm = np.sqrt(self.radius_squared(problem)) * rng.uniform(size=problem.lanes)
            state["v"][:rows, : problem.lanes] = w / np.linalg.norm(w, axis=0) * norm
            state["nu"][:] = state["nu_peak"][:] = norm**2
        return state

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Visit rows; a step is one batch."""
        arrays = state.arrays
        draws = arrays.get("draws")
        same: dict[str, Any] = {
            name: arrays[name]
            for name in (
                "v", "a", "nu", "nu_peak", "updates", "t", "batch", "violators", "batch_rows",
                "batch_violators", "batch_cursor",
            )
        }  # fmt: skip

        def visit(part: stream.Part, **budget: Any) -> bool:
            return _core.pegasos_advance(
                part.core,
                part.sampler,
                batch_size=self._rows_per_step(problem),
                project=self.project,
                count_on_loss=self.count == "on_loss",
                cut_batches=not problem.site.in_memory,
                refresh_every=max(1024, problem.rows.d + 1),
                a_total=arrays.get("a_total"),
                late=arrays.get("late"),
                errors=arrays["errors"][part.rows],
                draws=None if draws is None else draws[part.rows],
                radius_squared=self.radius_squared(problem),
                **same,
                **budget,
            )  # fmt: skip

        return order.advance(
            problem, self._order, state, visit, in_hand=lambda: bool(arrays["batch_cursor"][0]),
            work=work, stop_seen=stop_seen, stop_steps=stop_steps,
        )  # fmt: skip

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """W = a v, or the mean of it over the steps."""
        K = problem.lanes
        W = np.zeros(problem.weights_shape)
        steps = state["t"] - 1
        for lo, hi in feature_blocks(W, give_up):
            v = state["v"][lo:hi, :K]
            W[lo:hi, :K] = v * state["a"]
            if self.average:
                total = v * state["a_total"] - state["late"][lo:hi, :K]
                W[lo:hi, :K] = np.where(steps > 0, total / np.maximum(steps, 1), W[lo:hi, :K])
        return W

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """Violations over draws, times c."""
        return shares(problem, state["errors"], order.visits(problem, self._order, state))

    @staticmethod
    def radius_squared(problem: Problem) -> Floats:
        """R^2 = sum(c) / s of the ball that holds the optimum, kept within float64."""
        with np.errstate(over="ignore"):
            return np.minimum(problem.cost / problem.s, 1e300)

    @property
    def _order(self) -> order.Sampling:
        return "cycle" if self.batch_size == "all" else self.sampling

    def _rows_per_step(self, problem: Problem) -> int:
        return problem.n if self.batch_size == "all" else int(self.batch_size)


def _check_batch(state: State, name: str) -> None:
    """Where it stands in the batch in hand."""
    applying, collected, applied = state[name].tolist()
    expect(applying <= 1 and applied <= collected <= state["batch"].size, "a batch is none")
