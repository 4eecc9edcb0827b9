"""The few rows that decide, which the client works on together.

Rows that are hard to classify are hard because of each other, and those of different parts take
many rounds to agree through shared weights. There are few of them, and a row of sparse data is far
smaller than the weights: so they are sent here, once, and their duals moved on this machine, with
those of all other rows standing still.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pegasos.certificate import Floats
from pegasos.problem import Problem, lanes_over
from pegasos.rows import Rows, as_rows
from pegasos.sites.cluster.part_duals import LocalSteps, Sent, Terms
from pegasos.sites.cluster.source import joined
from pegasos.util import sparse

if TYPE_CHECKING:
    from pegasos.sites.cluster.site import ClusterSite

_EPOCHS = 5  # before a look at how far it is
_LOOKS = 12  # at most
_NEAR = 0.1  # of the gap aimed at may be left here
_ANSWERED = 0.5  # of what sum a y was at the multiplier's last step


def site_of(problem: Problem) -> ClusterSite:
    """Where the rows are."""
    return cast("ClusterSite", problem.site)


class HardRows:
    """Rows of all parts, with their duals of all lanes."""

    def __init__(self, room: float) -> None:
        """Empty."""
        self.room = room  # bytes that may still come
        self.sent: list[tuple[str, Sent]] = []
        self.rows: Rows | None = None
        self.duals: Floats = np.zeros((0, 0))

    def add(self, rows: dict[str, Sent], bias: float) -> None:
        """Take rows in."""
        if not rows:
            return
        self.sent += sorted(rows.items())
        self.room = max(0.0, self.room - sum(_bytes(sent.X) for sent in rows.values()))
        every = [sent for _, sent in self.sent]
        self.labels = np.concatenate([sent.labels for sent in every])
        weights = [sent.weight for sent in every]
        self.weight = None
        if any(weight is not None for weight in weights):  # those without weigh one each
            ones = (np.ones((len(sent.ids), 1)) for sent in every)
            self.weight = np.concatenate(
                [one if w is None else w for w, one in zip(weights, ones, strict=True)]
            )
        before = [] if self.rows is None else [self.duals]
        self.duals = np.concatenate(before + [rows[name].duals for name in sorted(rows)])
        self.rows = as_rows(joined([sent.X for sent in every]), bias=bias)

    def by_part(self) -> dict[str, dict[str, Any]]:
        """The ids and duals of the rows of each part."""
        ends = np.cumsum([len(sent.ids) for _, sent in self.sent])[:-1]
        pieces: dict[str, list[tuple[Any, Floats]]] = defaultdict(list)
        for (name, sent), duals in zip(self.sent, np.split(self.duals, ends), strict=False):
            pieces[name].append((sent.ids, duals))
        return {
            name: dict(
                zip(("ids", "duals"), map(np.concatenate, zip(*own, strict=True)), strict=True)
            )
            for name, own in pieces.items()
        }

    def problem(self, whole: Problem) -> Problem:
        """The lanes over the rows here."""
        assert self.rows is not None
        intercept = "regularized" if whole.intercept == "free" else whole.intercept
        labels = np.ascontiguousarray(self.labels[:, site_of(whole).ids])
        return lanes_over(
            self.rows, labels, self.weight, whole.positive, whole.negative, whole.s,
            whole.total_weight, intercept, whole.loss,
        )  # fmt: skip

    def sums(self, whole: Problem, W: Floats) -> Floats:
        """(3, lanes): the loss at W, sum a and sum a^2 / 4c of the rows here."""
        if self.rows is None:
            return np.zeros((3, whole.lanes))
        return Terms.at(self.problem(whole), W, self.duals[:, site_of(whole).ids]).sums()

    def solve(
        self,
        whole: Problem,
        W: Floats,
        solver: LocalSteps,
        tol: float,
        seed: int,
        free: Multiplier | None,
    ) -> Floats:
        """Move the duals here until little is to be gained; the weights then.

        The centre of a free intercept moves as it goes.
        """
        if self.rows is None:
            return W
        problem = self.problem(whole)
        a = self.duals[:, site_of(whole).ids]
        for look in range(_LOOKS):
            a, W = solver.moved(problem, a, W, _EPOCHS, seed + 7919 * look)
            if free is not None:
                free.move(W)
            left = Terms.at(problem, W, a).gaps().sum(axis=0).max()
            if left <= _NEAR * tol * _objective(whole, W):
                break
        self.duals[:, site_of(whole).ids] = a
        return W


class Multiplier:
    """That of sum a y = 0: b = centre + pull sum a y, which W's last row holds.

    A step moves the centre to b, and b as far again. It is worth its name only where the duals have
    answered the last one: sum a y has become half of what it was then. Duals at their bounds would
    not answer, and b run away. ``met`` is what sum a y was at the last step, of every lane.
    """

    def __init__(self, problem: Problem, centre: Floats, met: Floats) -> None:
        """Both arrays are changed in place."""
        self.scaling, self.lanes, self.s = site_of(problem).step_scaling, problem.lanes, problem.s
        self.centre, self.met = centre, met

    def balance(self, W: Floats) -> Floats:
        """Sum a y."""
        b = self.scaling * W[-1, : self.lanes]
        return np.asarray((b - self.centre) * self.s / self.scaling**2)

    def put(self, W: Floats, centre: Floats) -> None:
        """Have this centre."""
        W[-1, : self.lanes] += (centre - self.centre) / self.scaling
        self.centre[:] = centre
        self.met[:] = np.abs(self.balance(W))

    def move(self, W: Floats, *, anyway: bool = False) -> None:
        """Move the centre of the lanes that have answered, or of all."""
        now = np.abs(self.balance(W))
        moving = now <= _ANSWERED * self.met
        if anyway:
            moving[:] = True
        b = self.scaling * W[-1, : self.lanes]
        step = np.where(moving, b - self.centre, 0.0)
        self.centre[moving], self.met[moving] = b[moving], now[moving]
        W[-1, : self.lanes] += step / self.scaling


def _objective(problem: Problem, W: Floats) -> float:
    """Half the penalty: a lower bound of the objective at the optimum, of the smallest lane."""
    w = W[:-1, : problem.lanes]
    size: float = (problem.s * np.einsum("jk,jk->k", w, w)).min()
    return size / 2


def _bytes(X: Any) -> float:
    if sparse.issparse(X):
        return float(X.nnz * (X.data.itemsize + X.indices.itemsize) + 8 * X.shape[0])
    return float(X.nbytes)
