"""The passes of the interior point method over rows on a device, all lanes together.

A pass reads each row once or twice. Vectors of the size of w come from the host and go back to it;
everything of the size of the rows, and the matrices, stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from pegasos.sites.device.arrays import host, sent
from pegasos.sites.device.formulas import Direction, Fixed, Row, formulas_for, trial
from pegasos.sites.device.fused import FusedPasses, Stays
from pegasos.sites.device.gram import LEVELS, add_gram, sampled
from pegasos.sites.device.lanes import Duals, fixed_of, lanes_of
from pegasos.sites.device.products import AnyRows, kind_of_sums, products, sums
from pegasos.sites.method import About, Bools, Floats, Kept, RowMethod
from pegasos.state import expect

if TYPE_CHECKING:
    from pegasos.problem import Problem

ROW_BYTES = 250
"""What a row of a lane takes: its variables, and what passes make of them on the way."""

MATRIX_BYTES = 40
"""What an entry of a lane's matrix takes, its factor and copies included."""

_SHARE = 0.6  # of the memory that is free
_LARGEST_LIFT = 1.0
_FIRST_ROWS = 1024  # for every feature: the first direction tells separable rows from others


class InteriorRun(Stays):
    """Variables of the rows: six numbers and two directions of four; matrices and their factors."""

    numbers: ClassVar[tuple[str, ...]] = ("level", "first")

    def __init__(self, problem: Problem, about: About, seed: int) -> None:
        """In the middle of the box; the duals of y = +1 and -1 at (K,) shares of that.

        Rows that cost less than a typical one start with more slack.
        """
        K, d = problem.lanes, problem.rows.d
        device = lanes_of(problem).device
        up, down, typical = (
            sent(about[name], device)[:, None] for name in ("positive", "negative", "typical")
        )
        y, c, loss = fixed_of(problem)
        inside = y != 0
        self.values = torch.ones((6, *y.shape), dtype=torch.float64, device=device)
        a = c / 2 * torch.where(y > 0, up, down)
        self.values[0] = torch.where(inside, a, 1.0)
        self.values[1] = loss.room(self.values[0], c, inside)
        slack = (typical / c.clamp(min=1e-300)).clamp(1.0, float(about["most_slack"]))
        self.values[2] = torch.where(inside, slack, 1.0)
        self.values[3] = self.values[2]
        self.values[4] = -1.0
        self.values[5] = 0.0
        zeros = {"dtype": torch.float64, "device": device}
        self.now, self.other = torch.zeros((2, 4, *y.shape), **zeros)
        self.matrix = torch.zeros((K, d + 1, d + 1), **zeros)
        self.factored = torch.zeros((K, d + 1, d + 1), **zeros)
        self.left_out = torch.zeros(K, **zeros)  # sum D of the rows that are not in the matrix
        self.level = 0  # of the matrices' precision
        self.first = True  # no matrix has been factored yet
        self.random = torch.Generator(device).manual_seed(seed)

    @property
    def exact(self) -> bool:
        """Whether products are of float64."""
        return self.level > 0 and self.level + 1 == len(LEVELS)

    def tensors(self) -> dict[str, Tensor]:
        """A matrix is made and factored in one go."""
        return {
            "values": self.values, "now": self.now, "other": self.other, "factored": self.factored,
        }  # fmt: skip

    def check(self) -> None:
        """Duals are not below 0."""
        expect(bool((self.values[0] >= 0).all()), "values has duals below 0")
        expect(0 <= self.level < len(LEVELS), "its matrices have no such precision")

    def rows(self, lo: int, hi: int) -> Row:
        """The variables of some rows."""
        return Row(*self.values[:, :, lo:hi])

    def swap(self, lanes: Tensor) -> None:
        """The other direction becomes the one in hand, in some lanes."""
        if bool(lanes.all()):
            self.now, self.other = self.other, self.now
            return
        kept = self.now[:, lanes]
        self.now[:, lanes] = self.other[:, lanes]
        self.other[:, lanes] = kept

    def take(self, lanes: Tensor) -> None:
        """Keep some of the lanes."""
        self.values, self.now, self.other = (
            one[:, lanes] for one in (self.values, self.now, self.other)
        )
        self.matrix, self.factored = self.matrix[lanes], self.factored[lanes]
        self.left_out = self.left_out[lanes]

    def duals(self, problem: Problem, state: Kept, at: Floats) -> Duals:
        """a - at D y, in the box."""
        y, c, loss = fixed_of(problem)
        rows = self.rows(0, problem.n)
        shift = torch.from_numpy(at).to(y.device)[:, None]
        moved = torch.where(shift != 0, shift * rows.scale * y, 0.0)
        duals = loss.boxed((rows.a - moved).clamp(min=0.0), c)
        return Duals(torch.where(y != 0, duals, 0.0))


class InteriorPasses(FusedPasses):
    """Those of any number of lanes."""

    stays: ClassVar[type[Stays]] = InteriorRun
    correctors: ClassVar[int] = 1  # passes are what an iteration costs, not its matrix

    def __init__(self, problem: Problem, method: RowMethod, state: Kept, about: About) -> None:
        """Go on with the state of a run; products a r are aimed at a (K,) share of mu."""
        super().__init__(problem, method, state, about)
        self.run: InteriorRun = state.there
        self.share = self._column(about["share"])

    @classmethod
    def lanes_at_once(cls, problem: Problem) -> int:
        """As many as there is memory for."""
        device = lanes_of(problem).device
        if device.type != "cuda":
            return problem.lanes
        free, _ = torch.cuda.mem_get_info(device)
        d = problem.rows.d + 1
        lane = ROW_BYTES * problem.n + MATRIX_BYTES * d * d
        return max(1, min(problem.lanes, int(_SHARE * free / lane)))

    def point(self, step: Floats, w: Floats, b: Floats, vectors: Floats) -> dict[str, Floats]:
        """Products with w are those before and what the step adds."""
        steps = self._column(step)
        found, added = [], []
        for X, row, now, _, fixed in self._blocks():
            T, total = formulas_for(X, "interior").point(
                row, now, fixed, self.share, steps, self._kind(X, 3)
            )
            found.append(total)
            added.append(sums(X, T.flatten(0, 1), exact=self.run.exact))
        out = host(_sum(found))
        self._add(_sum(added).unflatten(0, (3, -1)), out[[3, 5, 6]], vectors)
        return {"sums": out}

    def begin_matrix(self) -> None:
        """The matrices become 0."""
        self.run.matrix.zero_()
        self.run.left_out.zero_()

    def gram(self, constant: float, light: Floats, thin: Floats) -> dict[str, Floats]:
        """Rows of zeros are no part of a sample: a free b alone knows them."""
        d, run = self.problem.rows.d, self.run
        precision = LEVELS[run.level]
        most, least = self._column(light), self._column(thin)
        free = self.problem.intercept == "free"
        for first, last, X in self.rows.visit():
            scale, norms = run.rows(first, last).scale, self.rows.norms[first:last]
            wanted = (scale * norms > most) | (scale > least)
            if free:
                wanted &= norms > 0
                run.left_out += torch.where(wanted, 0.0, scale).sum(1)
            kept = torch.where(wanted, scale, 0.0)
            draws = torch.rand(norms.shape, generator=run.random, device=norms.device)
            share = (last - first) / self.problem.n
            rows = max(precision.rows, _FIRST_ROWS) if run.first else precision.rows
            kept = sampled(kept, norms, share * rows * d, draws)
            add_gram(X, kept, constant, precision.parts, run.matrix)
        return {}

    def factor(
        self, s: Floats, *, whole: Floats | None = None, last: Floats | None = None
    ) -> Bools:
        """A matrix that is not positive definite is lifted a little."""
        run = self.run
        penalty = self._column(s)[:, :, None] * torch.eye(
            self.problem.rows.d + 1, dtype=torch.float64, device=self.lanes.device
        )
        if whole is not None:
            penalty[:, -1, -1] = run.left_out  # what a sample misses is in no place
        run.first = False
        raised_by_s = run.matrix + penalty
        lift, missing = 0.0, np.ones(self.problem.lanes, dtype=bool)
        while missing.any() and lift < _LARGEST_LIFT:
            at = sent(missing, self.lanes.device)
            raised = raised_by_s[at]
            raised.diagonal(dim1=1, dim2=2).mul_(1 + lift)
            found, info = torch.linalg.cholesky_ex(raised)
            run.factored[at] = found
            missing[missing] = host(info) != 0
            lift = max(1e-14, 100 * lift)
        return ~missing

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Floats:
        """By the factors on the device."""
        right = self._vectors(rhs)[:, :, None]
        solution = host(torch.cholesky_solve(right, self.run.factored))[:, :, 0].T
        direction[:-1], direction[-1] = solution, 0.0
        if free:
            direction[-2], direction[-1] = 0.0, solution[-1]
        return np.where(np.isfinite(solution).all(axis=0), (rhs * solution).sum(axis=0), np.nan)

    def affine(self, dw: Floats, db: Floats, second: Floats) -> dict[str, Floats]:
        """Targets and steps of the affine direction, from one read."""
        W, shift = self._weights(dw, db)
        reaches, found, added = [], [], []
        for X, row, now, _, fixed in self._blocks():
            margins = products(X, W, exact=self.run.exact)
            T, reach, total = formulas_for(X, "interior").affine(
                row, now, fixed, margins, shift, self._kind(X, 1)
            )
            reaches.append(reach)
            found.append(total)
            added.append(sums(X, T, exact=self.run.exact))
        out = host(torch.cat([torch.stack(reaches).amin(0), _sum(found)]))
        self._add(_sum(added)[None], out[-1:], second[None])
        return {"steps": out[:2], "parts": out[2:]}

    def direction(self, other: bool, mu: Floats, dw: Floats, db: Floats) -> dict[str, Floats]:
        """One of the two directions, and how far it goes."""
        W, shift = self._weights(dw, db)
        target, reaches = self._column(mu), []
        for X, row, now, second, fixed in self._blocks():
            to = second if other else now
            margins = products(X, W, exact=self.run.exact)
            reaches.append(
                formulas_for(X, "interior").direction(
                    row, to, fixed, self.share, target, margins, shift
                )
            )
        return {"steps": host(torch.stack(reaches).amin(0))}

    def correct(self, mu: Floats, primal: Floats, dual: Floats, rhs: Floats) -> dict[str, Floats]:
        """The targets of the other direction."""
        found, added = [], []
        ahead = self._column(mu), self._column(primal), self._column(dual)
        for X, row, now, other, fixed in self._blocks():
            T, total = formulas_for(X, "interior").correct(
                row, now, other, fixed, self.share, *ahead, self._kind(X, 1)
            )
            found.append(total)
            added.append(sums(X, T, exact=self.run.exact))
        out = host(_sum(found))[None]
        self._add(_sum(added)[None], out, rhs[None])
        return {"parts": out}

    def trial(self, factors: Floats, losses: Floats) -> dict[str, Floats]:
        """No row is read."""
        rows, now = self.run.rows(0, self.problem.n), Direction(*self.run.now)
        losses += host(trial(rows, now, fixed_of(self.problem), self._tensor(factors[:, 0])))
        return {}

    def slacken(self, slack: Floats) -> dict[str, Floats]:
        """No row is read."""
        wanted = self._column(slack)
        rows = self.run.rows(0, self.problem.n)
        moved = (self.lanes.y != 0) & (wanted > 0)
        for variable in (rows.r, rows.xi):
            variable.copy_(torch.where(moved, torch.maximum(wanted, variable), variable))
        return {}

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand."""
        self.run.swap(sent(lanes, self.lanes.device))

    def restart(self) -> None:
        """Never asked for: slacks are raised where they were too small."""
        raise NotImplementedError("an interior point run on a device goes on from where it is")

    def sharpen(self) -> bool:
        """Take the matrices, and in the end products, in a higher precision, if there is one."""
        if self.run.level + 1 == len(LEVELS):
            return False
        self.run.level += 1
        return True

    # Rows and vectors.
    def _blocks(self) -> Iterator[tuple[AnyRows, Row, Direction, Direction, Fixed]]:
        """Rows, their variables, the direction in hand, the other, and what does not change."""
        for lo, hi, X in self.rows.visit():
            now, other = (Direction(*of[:, :, lo:hi]) for of in (self.run.now, self.run.other))
            yield X, self.run.rows(lo, hi), now, other, fixed_of(self.problem, lo, hi)

    def _kind(self, X: AnyRows, vectors: int) -> torch.dtype:
        """Numbers for the factors of so many sums of a lane."""
        return kind_of_sums(X, vectors * self.problem.lanes, exact=self.run.exact)

    def _weights(self, dw: Floats, db: Floats) -> tuple[Tensor, Tensor]:
        """(K, d) of the features, and (K, 1) what the constant one and a free intercept add."""
        whole = self._vectors(dw)
        return whole[:, :-1].contiguous(), self._column(db + self.problem.bias * dw[-1])

    def _add(self, found: Tensor, totals: Floats, to: Floats) -> None:
        """Add (J, K, d) sums to (J, d + 1, K), and to the constant feature those of its factors."""
        to[:, :-1] += host(found).transpose(0, 2, 1)
        to[:, -1] += self.problem.bias * totals

    def _column(self, values: Floats) -> Tensor:
        return self._tensor(values)[:, None]

    def _vectors(self, columns: Floats) -> Tensor:
        return self._tensor(np.ascontiguousarray(columns.T))

    def _tensor(self, values: Floats) -> Tensor:
        return sent(np.ascontiguousarray(values, dtype=np.float64), self.lanes.device)


def _sum(blocks: list[Tensor]) -> Tensor:
    """The sum of what blocks add, in their order."""
    return reduce(torch.add, blocks)
