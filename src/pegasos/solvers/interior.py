"""InteriorPoint: exact, for many rows and up to a few thousand features.

Mehrotra's predictor-corrector method with Gondzio's centrality correctors on the slack form

    min s/2 |w|^2 + sum c xi    subject to  r = y (w.x + b) - 1 + xi >= 0,  xi >= 0

with duals a of the first constraint and v = c - a of the second. A Newton step solves

    da = D (h - y (dw.x + db)),   D = 1 / (r/a + xi/v),   h = ra/a - rv/v - (what r misses)
    (s I + X'DX) dw + X'D db = X'D h y + (X'(a y) - s w)       and its border for b

so that each iteration needs one (d + 1) x (d + 1) Cholesky factor, and a dozen passes over the
rows. The number of iterations hardly depends on C. Start: w = 0, b = 0, a = c/2, r = xi = 1. The
duals stay inside the box, so D is valid at every iteration.

An iteration is one epoch and one step. It is cut into phases, each of which visits the rows block
by block, and can pause after any block.

State: ``rows`` (a, v, r, xi and the work arrays, one row of the array each), ``w``, ``b``, the sums
and matrices of the iteration in hand, and ``place`` (phase, block).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from pegasos import _core
from pegasos.certificate import DualsOf, Floats, GiveUp, never, relative_gap
from pegasos.problem import Problem
from pegasos.solvers.base import Solver, State

_ROW_ARRAYS = 11  # of _core.Interior: a, v, r, xi, then what an iteration works with
_SCALE, _WORK = 5, 6  # the rows' weights in the Gram matrix; targets and direction
_BLOCK_VALUES = 1 << 19  # float64 values of X in a block
_LARGEST_D = 10_000
_STEP_BACK = 0.995  # share of the way to the boundary
# The centre aimed at is mu (mu after the affine step / mu)^ambition. Mehrotra's power is 3; with
# correctors that restore centrality, aiming further saves a quarter (benchmarks/interior.py).
_AMBITION = 6
_LAST_DIGITS = 1e-13
_ENLARGE = 0.3  # Gondzio: how much longer a step the corrector aims at
_WORTH = 0.02  # and how much longer it must get

# What an iteration does, in order; each visits every block of rows.
_PHASES = (
    "gram", "affine", "affine_step", "centred", "centred_step", "corrected", "corrected_step",
    "corrected", "corrected_step", "move", "residuals",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Predictor-corrector interior point method, one lane at a time."""

    name: ClassVar[str] = "interior"
    intercepts: ClassVar[frozenset[str]] = frozenset({"none", "regularized", "free"})
    exact: ClassVar[bool] = True
    lanes_apart: ClassVar[bool] = True

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:  # noqa: ARG002
        """Start in the middle of the box."""
        d, n = problem.rows.d, problem.n
        if d > _LARGEST_D:
            raise ValueError(
                f"InteriorPoint factors a matrix of features x features: {d} are too many (at most "
                f"{_LARGEST_D}); use solver='dual'"
            )
        rows = np.zeros((_ROW_ARRAYS, n))
        costs = problem.costs()[:, 0]
        rows[0], rows[1], rows[2], rows[3] = costs / 2, costs / 2, 1.0, 1.0
        state = State(
            {
                "rows": rows,
                "w": np.zeros(d + 1),
                "b": np.zeros(1),
                "u": np.zeros(d + 1),  # sum a y x
                "sums": np.zeros(4),  # complementarity, loss, sum a, sum a y
                "gram": np.zeros((d, d), order="F"),
                "border": np.zeros(d + 1),
                "rhs": np.zeros(d + 1),
                "t": np.zeros(1),
                "direction": np.zeros(d + 2),  # dw, db
                "lengths": np.ones(2),  # of the primal and the dual step
                "tried": np.ones(2),
                "mu": np.zeros(2),  # of the point, and aimed at
                "kept": np.zeros((5, n)),  # targets and direction before a corrector
                "kept_direction": np.zeros(d + 2),
                "flags": np.zeros(2, dtype=np.int64),  # corrector in use; stalled
                "place": np.zeros(2, dtype=np.int64),  # phase, block
                "cursor": np.zeros(2, dtype=np.int64),
            }
        )
        iteration = _Iteration(problem, state)
        iteration.reset("u", "sums")
        for lo, hi in iteration.blocks:
            iteration.visit_residuals(lo, hi)
        return state

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """Iterate; a step is an iteration, which counts as one visit of every row."""
        iteration = _Iteration(problem, state)
        while state.seen < stop_seen and state.steps < stop_steps:
            if work <= 0:
                return False
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                work -= iteration.visit_block()
        return True

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:  # noqa: ARG002
        """W as it stands; b, if free, is found by the certificate."""
        return state["w"].reshape(problem.weights_shape)

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """The duals themselves; rounding may have brought one to the box's edge."""
        return lambda lo, hi: np.minimum(state["rows"][0, lo:hi, None], problem.costs(lo, hi))

    def estimate(self, problem: Problem, state: State) -> Floats | None:
        """The gap from the residuals of the last point; exact but for a free intercept.

        Infinite once the run has stalled: nothing will come of another certificate.
        """
        if state["flags"][1]:
            return np.full(problem.lanes, np.inf)
        half = problem.s / 2 * (state["w"] @ state["w"])
        primal = half + state["sums"][1]
        dual = state["sums"][2] - state["u"] @ state["u"] / (2 * problem.s)
        return relative_gap(primal, dual)


class _Iteration:
    """One iteration's phases over the arrays of a state."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self.state = problem, state
        self.core = _core.Interior(problem.core, state["rows"])
        self.s = float(problem.s[0])
        self.free = problem.intercept == "free"
        size = max(64, int(_BLOCK_VALUES / max(1, problem.rows.d)))
        n = problem.n
        self.blocks = [(lo, min(n, lo + size)) for lo in range(0, n, size)]
        self.members = float(problem.lane_rows[0])
        self.factor: Any = None

    def visit_block(self) -> int:
        """Do one block of the phase in hand; the rows visited."""
        state = self.state
        phase, block = (int(v) for v in state["place"])
        name = _PHASES[phase]
        if state["flags"][1]:  # stalled: nothing more to gain
            self.finish_iteration()
            return self.problem.n
        if block == 0 and not getattr(self, f"begin_{name}", _always)():
            self.next_phase()
            return 1
        lo, hi = self.blocks[block]
        getattr(self, f"visit_{name}")(lo, hi)
        state["place"][1] += 1
        if state["place"][1] == len(self.blocks):
            getattr(self, f"end_{name}", _always)()
            self.next_phase()
        return hi - lo

    def next_phase(self) -> None:
        place = self.state["place"]
        place[:] = place[0] + 1, 0
        if place[0] == len(_PHASES):
            self.finish_iteration()

    def finish_iteration(self) -> None:
        self.state["place"][:] = 0
        self.state["cursor"][:] += (self.problem.n, 1)

    def reset(self, *names: str) -> None:
        for name in names:
            self.state[name][...] = 0.0

    # The Gram matrix, and its factor.
    def begin_gram(self) -> bool:
        self.factor = None
        self.reset("gram", "border")
        self.state["flags"][0] = 1
        return True

    def visit_gram(self, lo: int, hi: int) -> None:
        gram, border = self.state["gram"], self.state["border"]
        dense = self.problem.rows.dense
        if dense is None:
            # The core fills the upper triangle by rows: the lower one of the column-major matrix.
            self.core.gram(lo, hi, gram.T, border)
            return
        # The matrix only steers, the residuals are exact: rows that together add less than a
        # thousandth of s to it are left out, which late in a run is most of them. float32 would be
        # too coarse: where features are nearly collinear its rounding is as large as s.
        scale = self.state["rows"][_SCALE, lo:hi]
        norms = self.problem.rows.squared_norms[lo:hi]
        heavy = np.flatnonzero(scale * norms > 1e-3 * self.s / self.members)
        X = dense[lo:hi]
        if heavy.size < 0.7 * scale.size:
            X, scale = X[heavy], scale[heavy]
        root = np.sqrt(scale)
        weighted = np.multiply(root[:, None], X, dtype=np.float64)
        dsyrk(1.0, weighted.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        border[:-1] += root @ weighted

    def matrix(self) -> Floats:
        """s I + X'DX, with its border for the intercept; the lower triangle counts."""
        d = self.problem.rows.d
        scale = float(self.state["rows"][_SCALE].sum())
        constant = 1.0 if self.free else self.problem.bias
        out = np.zeros((d + 1, d + 1), order="F")
        out[:d, :d] = self.state["gram"]
        out[d, :d] = constant * self.state["border"][:d]
        out[d, d] = constant * constant * scale
        out[np.diag_indices(d)] += self.s
        out[d, d] += 0.0 if self.free else self.s
        return out

    def solve(self, rhs: Floats) -> Floats:
        """Solve with the factor; a matrix that is not positive definite is lifted a little."""
        if self.factor is None:
            matrix, lift = self.matrix(), 0.0
            while self.factor is None:
                try:
                    lifted = matrix + lift * np.diag(np.diag(matrix)) if lift else matrix
                    self.factor = cho_factor(lifted, lower=True, check_finite=False)
                except LinAlgError:
                    lift = max(1e-14, 100 * lift)
                    if lift > 1:
                        raise
        return np.asarray(cho_solve(self.factor, rhs, check_finite=False))

    # A direction: targets, right-hand side, solve, then what each row makes of it.
    def begin_affine(self) -> bool:
        self.reset("rhs", "t")
        return True

    begin_centred = begin_affine

    def visit_affine(self, lo: int, hi: int) -> None:
        self.add_targets(lo, hi, "affine")

    def visit_centred(self, lo: int, hi: int) -> None:
        self.add_targets(lo, hi, "centred")

    def add_targets(self, lo: int, hi: int, target: str) -> None:
        primal, dual = np.minimum(1.0, self.state["lengths"] + _ENLARGE).tolist()
        self.state["t"][0] += self.core.targets(
            lo, hi, target, float(self.state["mu"][1]), primal, dual, self.state["rhs"]
        )

    def begin_affine_step(self) -> bool:
        state = self.state
        rhs = state["rhs"] + state["u"] - self.s * state["w"]
        if self.free:
            rhs[-1] = state["t"][0] + state["sums"][3]
        try:
            solution = self.solve(rhs)
        except LinAlgError:
            solution = np.full_like(rhs, np.nan)
        if not np.isfinite(solution).all():
            state["flags"][1] = 1
            return False
        state["tried"][:] = 1.0
        state["direction"][:-1], state["direction"][-1] = solution, 0.0
        if self.free:
            state["direction"][-2:] = 0.0, solution[-1]
        return True

    begin_centred_step = begin_affine_step

    def visit_affine_step(self, lo: int, hi: int) -> None:
        direction = self.state["direction"]
        steps = self.core.direction(lo, hi, direction[:-1], float(direction[-1]))
        np.minimum(self.state["tried"], steps, out=self.state["tried"])

    visit_centred_step = visit_corrected_step = visit_affine_step

    def end_affine_step(self) -> bool:
        """The affine step's success decides how far to aim at the centre."""
        state = self.state
        steps = state["tried"].tolist()
        after = sum(self.core.complementarity(lo, hi, *steps) for lo, hi in self.blocks)
        before = float(state["sums"][0])
        mu = before / (2 * self.members)
        state["mu"][:] = mu, mu * (after / before) ** _AMBITION
        return True

    def end_centred_step(self) -> bool:
        self.state["lengths"][:] = self.state["tried"]
        self.keep()
        return True

    def keep(self) -> None:
        """Keep the direction; w's part of it too."""
        self.state["kept"][...] = self.state["rows"][_WORK:]
        self.state["kept_direction"][:] = self.state["direction"]

    def begin_corrected(self) -> bool:
        if not self.state["flags"][0] or self.state["lengths"].min() > 0.95:
            return False
        self.reset("rhs", "t")
        return True

    def visit_corrected(self, lo: int, hi: int) -> None:
        self.add_targets(lo, hi, "corrected")

    def end_corrected(self) -> bool:
        self.state["flags"][0] = 2  # targets are set: a step has to be tried
        return True

    def begin_corrected_step(self) -> bool:
        if self.state["flags"][0] != 2:
            return False
        return self.begin_affine_step()

    def end_corrected_step(self) -> bool:
        """Take the corrected direction if it goes further, else the one before it."""
        state = self.state
        if state["tried"].sum() >= state["lengths"].sum() + _WORTH:
            state["lengths"][:] = state["tried"]
            state["flags"][0] = 1
            self.keep()
        else:
            state["rows"][_WORK:] = state["kept"]
            state["direction"][:] = state["kept_direction"]
            state["flags"][0] = 0
        return True

    # The step, and where it leads.
    def begin_move(self) -> bool:
        # One length for both: s w = sum a y x ties primal and dual together, and steps of two
        # lengths would undo what they mend of it.
        lengths = self.state["lengths"]
        lengths[:] = _STEP_BACK * lengths.min()
        return True

    def visit_move(self, lo: int, hi: int) -> None:
        self.core.step(lo, hi, *self.state["lengths"].tolist())

    def end_move(self) -> bool:
        state = self.state
        length = state["lengths"][0]
        state["w"][:] += length * state["direction"][:-1]
        state["b"][:] += length * state["direction"][-1]
        if state["lengths"].max() < 1e-10:
            state["flags"][1] = 1
        return True

    def begin_residuals(self) -> bool:
        self.reset("u", "sums")
        return True

    def end_residuals(self) -> bool:
        """Complementarity is the gap: below the last digits of P there is nothing more to gain."""
        state = self.state
        primal = self.s / 2 * float(state["w"] @ state["w"]) + float(state["sums"][1])
        if not state["sums"][0] > _LAST_DIGITS * primal:
            state["flags"][1] = 1
        return True

    def visit_residuals(self, lo: int, hi: int) -> None:
        self.state["sums"][:] += self.core.residuals(
            lo, hi, self.state["w"], float(self.state["b"][0]), self.state["u"]
        )


def _always() -> bool:
    return True
