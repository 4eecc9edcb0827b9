"""One iteration of the interior point method, cut into phases over blocks of rows.

Each phase visits every block of rows and can pause after any of them: what it has summed up so far
is in the state. The site's ``Passes`` have all that looks at a row, or at a matrix of features x
features.

Any number of lanes go together, each with its own steps, as far as their passes can.
"""

from __future__ import annotations

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem
from pegasos.sites import Passes
from pegasos.sites.method import Bools
from pegasos.state import State

# The tuned numbers of InteriorPoint: what each bounds, and what it was set by. docs/design/
# interior-point.md has the measurements: benchmarks/interior.py counts iterations on real data,
# benchmarks/shapes.py on generated rows. "Not measured apart": only with all others.

# The start (interior.py). The heavier class's duals start lower by the classes' ratio to a power;
# below a tenth, the share of mu falls with the ratio's square. A tenth of Fashion-MNIST, nearly
# separable, took 46 iterations at C = 100 with a share below 1, and 33 without.
START_POWER = 0.7  # not measured apart
RARE_CLASS_RATIO = 0.1
LEAST_SHARE = 0.01  # not measured apart
# A row of less than this share of the mean cost starts with more slack, or its products would be
# far below all others': with 1e-14 of the mean no step could be taken. Not measured apart.
LIGHT_ROW = 0.1
MOST_SLACK = 1e100  # of such a row: no overflow

# The step.
_SHARE_OF_WAY_TO_BOUNDARY = 0.995  # not measured apart
_SHORTEST_STEP = 1e-10  # what is shorter leads nowhere; not measured apart

# The centre aimed at is mu (mu after the affine step / mu)^power. Mehrotra's power is 3; with
# correctors that restore centrality, aiming further saves iterations, more so where a class is
# rare. But not too far there: a product far below the others makes its D, and so the matrix, that
# much larger, and what rounding leaves of the equations with it. Curvature bounds D by 1 / kappa.
# 6 and 0.003 save equal classes one iteration in eight, against the numbers of rare ones.
_CENTRE_POWER, _CENTRE_POWER_IF_RARE = 6.0, 10.0
_LEAST_MU_RATIO, _LEAST_MU_RATIO_IF_RARE = 0.003, 0.05  # of mu in one iteration, of the hinge
_SHARE_DROP_IF_RARE = 0.25  # from 1: a class is rare with so much less; not measured apart

# Gondzio's correctors. Up to four, each worth the one before, against two: w8a at C = 100 takes 39
# iterations, not 45, and most others a fifth less.
_MOST_CORRECTORS = 4
_CORRECTOR_LENGTHENS = 0.5  # the step, by so much: what is aimed at; not measured apart
_LEAST_GAIN_OF_CORRECTOR = 1.01  # in the product of both lengths; not measured apart
_LONGEST_STEP_TO_CORRECT = 0.95  # not measured apart

# Where P is least along the first direction, which is one of least squares, the mean margins of
# both classes say how far w has to go. If they are large, and little is lost, the rows are next to
# separable: slacks of a unit are far too small for what is to come, and let w take short steps
# only. The run then starts again with slacks so many times the margins: 13 iterations for 70 and
# more on separable rows at C = 100 (benchmarks/shapes.py). Not measured apart.
_TRIED_FACTORS: Floats = np.ldexp(1.0, np.arange(-6, 11))  # of the direction
TRIALS = len(_TRIED_FACTORS) + 2
_SEPARABLE_MARGIN = 2.0  # in units: the lower of both classes' means is above
_SEPARABLE_LOSS = 0.1  # of all costs: P is below
_SLACK_PER_MARGIN = 2.0

# The matrix. It only steers: what rows add together may be left out, up to a share of s. A step of
# an exact matrix takes away its share of the residual; what is coarser than that, and a share of
# the gap, asks for a sharper one. Neither was measured apart.
_LEFT_OUT_OF_MATRIX = 1e-3
_COARSE_RESIDUAL = 0.3  # of what should have gone, is left
_HARMFUL_RESIDUAL = 0.1  # of the gap

# The end: complementarity, of P. What is less is rounding, five hundred times float64's.
_LEAST_COMPLEMENTARITY = 1e-13

# What an iteration does, in order; each visits every block of rows.
PHASES = (
    *("gram", "affine", "centred", "trial"),
    *("correct", "corrected") * _MOST_CORRECTORS,
    "point",
)
POINT = PHASES.index("point")
MATRIX = "gram"  # the phase that adds up a matrix

# Rows of state["flags"], an entry for each lane.
STARTED = 0  # the first point has been looked at
STALLED = 1  # nothing more to gain
SWAPPED = 2  # which of the two directions is in hand
CORRECTING = 3  # correctors are still worth a try
TRIED = 4  # the first direction has been looked along
FLAGS = 5

# Rows of state["sums"], in the order of _core.Interior.point.
COMPLEMENTARITY, LOSS, DUAL, BALANCE, SCALE, AFFINE, CENTRE = range(7)


class Iteration:
    """The phases over the arrays of a state, whose last axis is the lane."""

    def __init__(self, problem: Problem, state: State, passes: Passes) -> None:
        """Go on where the state stands."""
        self.problem, self.state, self.passes = problem, state, passes
        self.free = problem.intercept == "free"
        self.s = problem.s
        rare = np.minimum((1.0 - state["share"]) / _SHARE_DROP_IF_RARE, 1.0)
        self.ambition = _CENTRE_POWER + (_CENTRE_POWER_IF_RARE - _CENTRE_POWER) * rare
        least = np.maximum(_LEAST_MU_RATIO_IF_RARE * rare, _LEAST_MU_RATIO)
        self.least_centre = 0.0 if problem.loss.curved else least
        # Complementarity is so many times mu on the central path.
        of_bounds = 1.0 if problem.loss.bounded else 0.0
        self.products = problem.lane_rows * (state["share"] + of_bounds)
        self.ranges = {
            phase: problem.site.ranges(problem, matrix=phase == MATRIX) for phase in set(PHASES)
        }

    def visit(self) -> int:
        """Do one block of the phase in hand; the rows visited."""
        number, block = (int(v) for v in self.state["place"])
        phase = PHASES[number]
        if block == 0 and not getattr(self, f"_begin_{phase}")():  # it is left out
            self._end_phase()
            return 1
        lo, hi = self.ranges[phase][block]
        getattr(self, f"_visit_{phase}")(lo, hi)
        self.state["place"][1] += 1
        if block + 1 == len(self.ranges[phase]):
            getattr(self, f"_end_{phase}")()
            self._end_phase()
        return hi - lo

    def _end_phase(self) -> None:
        place = self.state["place"]
        place[:] = (place[0] + 1) % len(PHASES), 0

    def _moving(self) -> Bools:
        """Lanes that have not stalled."""
        return np.asarray(self.state["flags"][STALLED] == 0)

    def _stall(self, lanes: Bools) -> None:
        """Nothing more will come of these lanes; what their passes do must do no harm."""
        self.state["flags"][STALLED] |= lanes
        self.state["direction"][:, lanes] = 0.0

    # The Gram matrix and its factor, and with them the affine direction.
    def _begin_gram(self) -> bool:
        self.passes.begin_matrix()
        return True

    def _visit_gram(self, lo: int, hi: int) -> None:
        # The matrix only steers, the residuals are exact: rows that together add less than a
        # thousandth of s (and to b, of what all add) are left out, which late is most of them.
        light = _LEFT_OUT_OF_MATRIX * self.s / self.problem.lane_rows
        thin = _LEFT_OUT_OF_MATRIX * self.state["sums"][SCALE] / self.problem.lane_rows
        if not self.free:
            thin = np.full_like(light, np.inf)
        constant = 1.0 if self.free else self.problem.bias
        self.passes.ask("gram", lo, hi, constant=constant, light=light, thin=thin)

    def _end_gram(self) -> None:
        state = self.state
        # With the rows left out, sum a y would stay off 0 by their share of what b moves it.
        whole = state["sums"][SCALE] if self.free else None
        self._stall(~self.passes.factor(self.s, whole=whole))
        state["rhs"][:] = state["vectors"][0] + state["vectors"][1] - self.s * state["w"]
        if self.free:
            state["rhs"][-1] = state["sums"][AFFINE] + state["sums"][BALANCE]
        self._solve()
        state["lengths"][:] = 1.0
        state["second"][:] = 0.0
        state["parts"][:] = 0.0

    def _solve(self) -> None:
        """The directions (dw, db) of the right-hand sides."""
        state = self.state
        self._stall(np.isnan(self.passes.solve(state["rhs"], self.free, state["direction"])))

    # The affine step: how far it gets decides how close to aim at the centre.
    def _begin_affine(self) -> bool:
        return bool(self._moving().any())

    def _visit_affine(self, lo: int, hi: int) -> None:
        state = self.state
        into = {"steps": state["lengths"], "parts": state["parts"], "second": state["second"]}
        self.passes.ask("affine", lo, hi, into, **self._along())

    def _along(self) -> dict[str, Floats]:
        direction = self.state["direction"]
        return {"dw": direction[:-1], "db": direction[-1]}

    def _end_affine(self) -> None:
        state = self.state
        p, q = state["lengths"]
        primal, dual, both, second = state["parts"]
        before = state["sums"][COMPLEMENTARITY]
        after = before + p * primal + q * dual + p * q * both
        left = np.maximum(after / before, 0.0)  # rounding may have made it less
        fall = np.maximum(left**self.ambition, self.least_centre)
        mu = before / self.products * fall
        mu[~self._moving()] = 0.0
        state["mu"][:] = mu
        state["rhs"][:] += state["second"] + mu * state["vectors"][2]
        if self.free:
            state["rhs"][-1] += second - state["second"][-1]
            state["rhs"][-1] += mu * (state["sums"][CENTRE] - state["vectors"][2, -1])
        self._solve()
        state["lengths"][:] = 1.0
        state["flags"][CORRECTING] = 1

    _begin_centred = _begin_affine

    def _visit_centred(self, lo: int, hi: int) -> None:
        into = {"steps": self.state["lengths"]}
        mu = self.state["mu"]
        self.passes.ask("direction", lo, hi, into, other=False, mu=mu, **self._along())

    def _end_centred(self) -> None:
        self.state["taken"][:] = self.state["direction"]

    # Once in a run: are the slacks of the start large enough?
    def _begin_trial(self) -> bool:
        untried = (self.state["flags"][TRIED] == 0) & self._moving()
        self.state["flags"][TRIED] = 1
        if not self.problem.loss.bounded or not untried.any():
            return False
        self.state["losses"][:] = 0.0
        return True

    def _visit_trial(self, lo: int, hi: int) -> None:
        into = {"losses": self.state["losses"]}
        self.passes.ask("trial", lo, hi, into, factors=_TRIED_FACTORS[:, None])

    def _end_trial(self) -> None:
        state = self.state
        losses, classes = np.split(state["losses"], [len(_TRIED_FACTORS)])
        squares = (state["direction"][:-1] ** 2).sum(axis=0)
        primal = losses + self.s / 2 * np.outer(_TRIED_FACTORS**2, squares)
        costs = np.array(self.problem.class_costs)
        means = np.divide(classes, costs, out=np.full_like(costs, np.inf), where=costs > 0)
        margins = _TRIED_FACTORS[primal.argmin(axis=0)] * means.min(axis=0)
        large = margins > _SEPARABLE_MARGIN * self.problem.unit
        separable = large & (primal.min(axis=0) < _SEPARABLE_LOSS * self.problem.unit * sum(costs))
        state["slack"][:] = np.where(separable, _SLACK_PER_MARGIN * margins, 0.0)
        state["lengths"][:, state["slack"] > 0] = 0.0
        state["flags"][CORRECTING] &= state["slack"] == 0

    # Gondzio's correctors: a direction with the same factor that may be followed further.
    def _begin_correct(self) -> bool:
        state = self.state
        number = PHASES[: int(state["place"][0])].count("correct")
        short = state["lengths"].min(axis=0) <= _LONGEST_STEP_TO_CORRECT
        state["flags"][CORRECTING] &= short & (number < self.passes.correctors) & self._moving()
        if not state["flags"][CORRECTING].any():
            return False
        state["second"][:] = 0.0
        state["parts"][0] = 0.0
        return True

    def _visit_correct(self, lo: int, hi: int) -> None:
        state = self.state
        ahead = np.minimum(1.0, state["lengths"].min(axis=0) + _CORRECTOR_LENGTHENS)
        into = {"parts": state["parts"][:1], "rhs": state["second"]}
        self.passes.ask("correct", lo, hi, into, mu=state["mu"], primal=ahead, dual=ahead)

    def _end_correct(self) -> None:
        state = self.state
        if self.free:
            state["second"][-1] = state["parts"][0]
        state["rhs"][:] += state["second"] * state["flags"][CORRECTING]
        self._solve()
        state["tried"][:] = 1.0

    def _begin_corrected(self) -> bool:
        return bool(self.state["flags"][CORRECTING].any())

    def _visit_corrected(self, lo: int, hi: int) -> None:
        nothing = np.zeros_like(self.state["mu"])
        into = {"steps": self.state["tried"]}
        self.passes.ask("direction", lo, hi, into, other=True, mu=nothing, **self._along())

    def _end_corrected(self) -> None:
        """Take the corrected direction if it goes further, else the one before it."""
        state = self.state
        before, after = state["lengths"].prod(axis=0), state["tried"].prod(axis=0)
        state["flags"][CORRECTING] &= after >= _LEAST_GAIN_OF_CORRECTOR * before
        taken = state["flags"][CORRECTING] != 0
        if not taken.any():
            return
        state["lengths"][:, taken] = state["tried"][:, taken]
        state["taken"][:, taken] = state["direction"][:, taken]
        state["flags"][SWAPPED] ^= taken
        self.passes.swap(taken)

    # The step, and the point it leads to.
    def _begin_point(self) -> bool:
        state = self.state
        moving = self._moving()
        if not moving.any():
            self._count()
            return False
        # One length for both: s w = sum a y x ties primal and dual together, and steps of two
        # lengths would undo what they mend of it.
        started = state["flags"][STARTED] != 0
        step = _SHARE_OF_WAY_TO_BOUNDARY * state["lengths"].min(axis=0) * (started & moving)
        state["step"][:] = step
        state["w"][:] += step * state["taken"][:-1]
        state["b"][:] += step * state["taken"][-1]
        short = started & (step < _SHORTEST_STEP) & (state["slack"] == 0)
        if short.any() and self.passes.sharpen():
            short[:] = False
        state["flags"][STALLED] |= short
        state["vectors"][...] = 0.0
        state["sums"][:] = 0.0
        return True

    def _visit_point(self, lo: int, hi: int) -> None:
        state = self.state
        if state["slack"].any():
            self.passes.ask("slacken", lo, hi, slack=state["slack"])
        into = {"sums": state["sums"], "vectors": state["vectors"]}
        self.passes.ask("point", lo, hi, into, step=state["step"], w=state["w"], b=state["b"])

    def _end_point(self) -> None:
        """Complementarity is the gap: below the last digits of P there is nothing more to gain."""
        state = self.state
        more = state["sums"][COMPLEMENTARITY] > _LEAST_COMPLEMENTARITY * self._primal()
        state["flags"][STALLED] |= ~more
        if state["flags"][STARTED].any():
            self._count()
        self._look_at_residual()
        state["flags"][STARTED] = 1
        state["slack"][:] = 0.0

    def _look_at_residual(self) -> None:
        """If s w = sum a y x is missed by more than steps should have left, sharpen matrices."""
        state = self.state
        missed = state["vectors"][0] - self.s * state["w"]
        squares = (missed * missed).sum(axis=0)
        left = np.sqrt(squares / np.where(state["missed"] > 0, state["missed"], np.inf))
        coarse = (left > 1 - state["step"] + _COARSE_RESIDUAL * state["step"]) & (state["step"] > 0)
        gap = (
            self._primal()
            - state["sums"][DUAL]
            + (state["vectors"][0] ** 2).sum(axis=0) / (2 * self.s)
        )
        matters = squares / (2 * self.s) > _HARMFUL_RESIDUAL * gap
        if (coarse & matters & self._moving()).any():
            self.passes.sharpen()
        state["missed"][:] = squares

    def _count(self) -> None:
        """An iteration is done."""
        self.state["cursor"][:] += (self.problem.n, 1)

    def _primal(self) -> Floats:
        """The objectives times N."""
        w = self.state["w"]
        return np.asarray(self.s / 2 * (w * w).sum(axis=0) + self.state["sums"][LOSS])
