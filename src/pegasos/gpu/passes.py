"""The passes of the interior point method over rows on a device; see ``Passes``.

A pass reads each row once or twice. Vectors of the size of w come from the host and go back to it,
everything of the size of the rows, and the matrices, stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pegasos.certificate import Floats
from pegasos.gpu.arrays import sent
from pegasos.gpu.formulas import Fixed, formulas_for, trial
from pegasos.gpu.gram import LEVELS, add_gram, sampled
from pegasos.gpu.problem import DeviceProblem
from pegasos.gpu.products import kind_of_sums, products, sums
from pegasos.gpu.variables import Variables
from pegasos.solvers.interior import Lightened
from pegasos.solvers.interior_passes import Bools

ROW_BYTES = 250
"""What a row of a lane takes: its variables, and what passes make of them on the way."""

MATRIX_BYTES = 40
"""What an entry of a lane's matrix takes, its factor and copies included."""

_LARGEST_LIFT = 1.0
_FIRST_ROWS = 1024  # for every feature: the first direction tells separable rows from others


class DeviceState:
    """What a run keeps on the device: variables of the rows, matrices and their factors."""

    def __init__(self, problem: DeviceProblem, start: Lightened, seed: int) -> None:
        """As the run starts."""
        K, d = problem.lanes, problem.rows.d
        squared = problem.loss == "squared_hinge"
        up, down, typical = (
            sent(each, problem.y.device)[:, None]
            for each in (start.positive, start.negative, start.typical)
        )
        costs = problem.device_costs()
        self.variables = Variables.start(problem.y, costs, up, down, typical, squared)
        zeros = {"dtype": torch.float64, "device": problem.y.device}
        self.matrix = torch.zeros((K, d + 1, d + 1), **zeros)
        self.factored = torch.zeros((K, d + 1, d + 1), **zeros)
        self.left_out = torch.zeros(K, **zeros)  # sum D of the rows that are not in the matrix
        self.level = 0  # of the matrices' precision
        self.first = True  # no matrix has been factored yet
        self.exact = False  # products in float64
        self.random = torch.Generator(problem.y.device).manual_seed(seed)

    def take(self, lanes: Tensor) -> None:
        """Keep some of the lanes."""
        self.variables = self.variables.take(lanes)
        self.matrix, self.factored = self.matrix[lanes], self.factored[lanes]
        self.left_out = self.left_out[lanes]


class DevicePasses:
    """``Passes`` over all rows of a problem at once."""

    correctors = 1  # passes are what an iteration costs, not its matrix

    def __init__(self, problem: DeviceProblem, state: DeviceState, share: Floats) -> None:
        """Go on with the state of a run; products a r are aimed at a (K,) share of mu."""
        self.problem, self.state = problem, state
        self.share = self._column(share)
        self.squared = problem.loss == "squared_hinge"
        self.bias = problem.bias

    def point(
        self, lo: int, hi: int, step: Floats, w: Floats, b: Floats, vectors: Floats
    ) -> Floats:
        """As of ``Passes``; products with w are those before and what the step adds."""
        steps = self._column(step)
        total: Any = 0.0
        factors_sum: Any = 0.0
        for first, last, X in self.problem.here.visit():
            T, found = formulas_for(X, "interior").point(
                self._rows(first, last), self._now(first, last), self._fixed(first, last),
                self.share, steps, self._kind(X, 3),
            )  # fmt: skip
            added = self._sums(X, T.flatten(0, 1))
            total = total + found
            factors_sum = factors_sum + added
        out = _host(total)
        self._add(factors_sum.unflatten(0, (3, -1)), out[[3, 5, 6]], vectors)
        return out

    def begin_gram(self) -> None:
        """The matrices become 0."""
        self.state.matrix.zero_()
        self.state.left_out.zero_()

    def gram(self, lo: int, hi: int, constant: float, light: Floats, thin: Floats) -> None:
        """As of ``Passes``. Rows of zeros are no part of a sample: a free b alone knows them."""
        d, matrix = self.problem.rows.d, self.state.matrix
        precision = LEVELS[self.state.level]
        most, least = self._column(light), self._column(thin)
        free = self.problem.intercept == "free"
        for first, last, X in self.problem.here.visit():
            scale = self._rows(first, last).scale
            norms = self.problem.here.norms[first:last]
            wanted = (scale * norms > most) | (scale > least)
            if free:
                wanted &= norms > 0
                self.state.left_out += torch.where(wanted, 0.0, scale).sum(1)
            kept = torch.where(wanted, scale, 0.0)
            draws = torch.rand(norms.shape, generator=self.state.random, device=norms.device)
            share = (last - first) / self.problem.n
            rows = max(precision.rows, _FIRST_ROWS) if self.state.first else precision.rows
            kept = sampled(kept, norms, share * rows * d, draws)
            add_gram(X, kept, constant, precision.parts, matrix)

    def factor(self, s: Floats, scale: Floats | None) -> Bools:
        """As of ``Passes``; a matrix that is not positive definite is lifted a little."""
        penalty = self._column(s)[:, :, None] * torch.eye(
            self.problem.rows.d + 1, dtype=torch.float64, device=self.problem.y.device
        )
        if scale is not None:
            penalty[:, -1, -1] = self.state.left_out  # what a sample misses is in no place
        self.state.first = False
        whole = self.state.matrix + penalty
        lift, missing = 0.0, np.ones(self.problem.lanes, dtype=bool)
        while missing.any() and lift < _LARGEST_LIFT:
            at = self._lanes(missing)
            raised = whole[at]
            raised.diagonal(dim1=1, dim2=2).mul_(1 + lift)
            found, info = torch.linalg.cholesky_ex(raised)
            self.state.factored[at] = found
            missing[missing] = _host(info) != 0
            lift = max(1e-14, 100 * lift)
        return ~missing

    def solve(self, rhs: Floats, free: bool, direction: Floats) -> Bools:
        """As of ``Passes``."""
        right = self._vectors(rhs)[:, :, None]
        solution = _host(torch.cholesky_solve(right, self.state.factored))[:, :, 0].T
        direction[:-1], direction[-1] = solution, 0.0
        if free:
            direction[-2], direction[-1] = 0.0, solution[-1]
        return np.asarray(np.isfinite(solution).all(axis=0))

    def affine(
        self, lo: int, hi: int, dw: Floats, db: Floats, second: Floats
    ) -> tuple[Floats, Floats]:
        """As of ``Passes``."""
        W, shift = self._weights(dw, db)
        reaches: list[Tensor] = []
        total: Any = 0.0
        factors_sum: Any = 0.0
        for first, last, X in self.problem.here.visit():
            T, reach, found = formulas_for(X, "interior").affine(
                self._rows(first, last), self._now(first, last), self._fixed(first, last),
                self._products(X, W), shift, self._kind(X, 1),
            )  # fmt: skip
            added = self._sums(X, T)
            reaches.append(reach)
            total = total + found
            factors_sum = factors_sum + added
        out = _host(torch.cat([torch.stack(reaches).amin(0), total]))
        self._add(factors_sum[None], out[-1:], second[None])
        return out[:2], out[2:]

    def direction(
        self, lo: int, hi: int, other: bool, mu: Floats, dw: Floats, db: Floats
    ) -> Floats:
        """As of ``Passes``."""
        W, shift = self._weights(dw, db)
        target, reaches = self._column(mu), []
        for first, last, X in self.problem.here.visit():
            to = self.state.variables.direction(first, last, other=other)
            reach = formulas_for(X, "interior").direction(
                self._rows(first, last), to, self._fixed(first, last), self.share, target,
                self._products(X, W), shift,
            )  # fmt: skip
            reaches.append(reach)
        return _host(torch.stack(reaches).amin(0))

    def correct(
        self, lo: int, hi: int, mu: Floats, primal: Floats, dual: Floats, rhs: Floats
    ) -> Floats:
        """As of ``Passes``."""
        total: Any = 0.0
        factors_sum: Any = 0.0
        for first, last, X in self.problem.here.visit():
            T, found = formulas_for(X, "interior").correct(
                self._rows(first, last), self._now(first, last),
                self.state.variables.direction(first, last, other=True), self._fixed(first, last),
                self.share, self._column(mu), self._column(primal), self._column(dual),
                self._kind(X, 1),
            )  # fmt: skip
            added = self._sums(X, T)
            total = total + found
            factors_sum = factors_sum + added
        out = _host(total)
        self._add(factors_sum[None], out[None], rhs[None])
        return out

    def trial(self, lo: int, hi: int, factors: Floats, sums: Floats) -> None:
        """As of ``Passes``."""
        n = self.problem.n  # no row is read
        sums += _host(
            trial(self._rows(0, n), self._now(0, n), self._fixed(0, n), self._tensor(factors))
        )

    def slacken(self, lo: int, hi: int, slack: Floats) -> None:
        """As of ``Passes``."""
        wanted = self._column(slack)
        rows = self._rows(0, self.problem.n)
        moved = (self.problem.y != 0) & (wanted > 0)
        for variable in (rows.r, rows.xi):
            variable.copy_(torch.where(moved, torch.maximum(wanted, variable), variable))

    def swap(self, lanes: Bools) -> None:
        """The other direction becomes the one in hand."""
        self.state.variables.swap(self._lanes(lanes))

    def sharpen(self) -> bool:
        """Take the matrices, and in the end products, in a higher precision, if there is one."""
        state = self.state
        if state.level + 1 == len(LEVELS):
            return False
        state.level += 1
        state.exact = state.level + 1 == len(LEVELS)
        return True

    # Rows and vectors.
    def _rows(self, lo: int, hi: int) -> Any:
        return self.state.variables.rows(lo, hi)

    def _now(self, lo: int, hi: int) -> Any:
        return self.state.variables.direction(lo, hi)

    def _fixed(self, lo: int, hi: int) -> Fixed:
        return Fixed(self.problem.y[:, lo:hi], self.problem.device_costs(lo, hi), self.squared)

    def _products(self, X: Tensor, W: Tensor) -> Tensor:
        return products(X, W, exact=self.state.exact)

    def _kind(self, X: Tensor, vectors: int) -> torch.dtype:
        """Numbers for the factors of so many sums of a lane."""
        return kind_of_sums(X, vectors * self.problem.lanes, exact=self.state.exact)

    def _sums(self, X: Tensor, T: Tensor) -> Tensor:
        return sums(X, T, exact=self.state.exact)

    def _weights(self, dw: Floats, db: Floats) -> tuple[Tensor, Tensor]:
        """(K, d) of the features, and (K, 1) what the constant one and a free intercept add."""
        whole = self._vectors(dw)
        return whole[:, :-1].contiguous(), self._column(db + self.bias * dw[-1])

    def _add(self, found: Tensor, totals: Floats, to: Floats) -> None:
        """Add (J, K, d) sums to (J, d + 1, K), and to the constant feature those of its factors."""
        to[:, :-1] += _host(found).transpose(0, 2, 1)
        to[:, -1] += self.bias * totals

    def _column(self, values: Floats) -> Tensor:
        return self._tensor(values)[:, None]

    def _vectors(self, columns: Floats) -> Tensor:
        return self._tensor(np.ascontiguousarray(columns.T))

    def _lanes(self, which: Bools) -> Tensor:
        return sent(which, self.problem.y.device)

    def _tensor(self, values: Floats) -> Tensor:
        own = np.ascontiguousarray(values, dtype=np.float64)
        return sent(own, self.problem.y.device)


def _host(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().numpy())
