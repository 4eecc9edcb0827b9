"""Rupnik, figure 4: batch size against number of steps."""

from dataclasses import dataclass

import numpy as np

from pegasos.solvers import Pegasos
from reproduce import data as sources
from reproduce.experiment import Claim, Table
from reproduce.walk import Walk, optimum, problem_of

TITLE = "Rupnik, figure 4: k against T at fixed kT"
SOURCE = "Rupnik, section 4.5 and figure 4"
QUESTION = "At a fixed number of row visits kT, are small batches slower, and does the remedy help?"


@dataclass(frozen=True)
class Settings:
    """The sizes of the run."""

    rows: int | None = None
    lam: float = 1e-4
    budgets: tuple = (1 << 17, 1 << 19, 1 << 21)
    batches: tuple = (1, 4, 16, 64, 256, 1024, 4096, 8192)
    seeds: int = 3


def measure(settings):
    """The distance from the optimum after kT row visits; steps counted always, and on a loss."""
    data = sources.rcv1(settings.rows)
    problem = problem_of(data.X, data.y, lam=settings.lam)
    best = optimum(data.X, data.y, lam=settings.lam)
    distances = {}
    for count in ("always", "on_loss"):
        distances[count] = [
            [
                [
                    Walk(problem, Pegasos(batch_size=k, count=count), seed)
                    .to(budget // k)
                    .objective
                    / best.certificate.primal
                    - 1
                    for seed in range(settings.seeds)
                ]
                for k in settings.batches
            ]
            for budget in settings.budgets
        ]
    measured = {
        "lam": settings.lam,
        "optimum": float(best.certificate.primal),
        "gap": float(best.certificate.relative_gap),
        "budgets": settings.budgets,
        "batches": settings.batches,
        "distances": distances,
    }
    return measured, [data.about()]


def claims(measured):
    """More visits are better; small batches are slower; the remedy helps, and not enough."""
    always, on_loss = (_medians(measured, count) for count in ("always", "on_loss"))
    batches = measured["batches"]
    ordered = bool((np.diff(always, axis=0) < 0).all())
    falls = always[:-1] / always[1:]
    best = always.argmin(axis=1)
    slow = always[:, 0] / always.min(axis=1)
    helps = always[:, 0] / on_loss[:, 0]
    after = on_loss[:, 0] / always.min(axis=1)
    return [
        Claim(
            "figure 4",
            "a larger kT gives a smaller objective, whatever k",
            "the three curves do not cross",
            f"from budget to budget the distance falls by factors of {falls.min():.2g} to "
            f"{falls.max():.2g}",
            ordered,
        ),
        Claim(
            "section 4.5",
            "small k slows convergence at fixed kT; k = 1 is not the best choice",
            "k should be larger than 1",
            f"best k: {_list(batches[i] for i in best)}; the distance at k = 1 is "
            f"{_list(f'{ratio:.2g}' for ratio in slow)} times that at the best k",
            bool((slow >= 1.5).all()),
            "holds if k = 1 is at least 1.5 times as far from the optimum as the best k, for all "
            "three budgets",
        ),
        Claim(
            "section 4.5",
            "not counting steps without a loss improves convergence at k = 1",
            "it improves",
            f"the distance shrinks by factors of {_list(f'{ratio:.2g}' for ratio in helps)}",
            bool((helps > 1).all()),
            "counting so solves a problem with a smaller lam: its distance has a floor",
        ),
        Claim(
            "section 4.5",
            "with the remedy k = 1 remains slower than larger k",
            "it remains slower",
            f"{_list(f'{ratio:.2g}' for ratio in after)} times the distance at the best k",
            bool((after > 1).all()),
        ),
    ]


def _list(values):
    return ", ".join(str(value) for value in values)


def _medians(measured, count):
    """(budgets, batches)."""
    return np.median(np.array(measured["distances"][count]), axis=2)


def tables(measured):
    """The distances."""
    rows = []
    for count, words in (("always", ""), ("on_loss", ", counted on a loss")):
        for budget, medians in zip(measured["budgets"], _medians(measured, count), strict=True):
            rows.append([f"kT = {budget:,}{words}", *(f"{100 * value:.2f}%" for value in medians)])
    header = ["", *(f"k = {k:,}" for k in measured["batches"])]
    return [Table("Above the optimum, medians", header, rows)]


def draw(measured, _, figure):
    """The distance against k."""
    for axes, count in zip(figure.subplots(1, 2, sharey=True), ("always", "on_loss"), strict=True):
        for budget, medians in zip(measured["budgets"], _medians(measured, count), strict=True):
            axes.loglog(measured["batches"], 100 * medians, ".-", label=f"kT = {budget:,}")
        axes.set_title("every step counts" if count == "always" else "his remedy: steps with a "
                       "loss count", size=9)  # fmt: skip
        axes.set_xlabel("k")
        axes.set_ylabel("above the optimum, %")
        axes.legend(fontsize=7)
