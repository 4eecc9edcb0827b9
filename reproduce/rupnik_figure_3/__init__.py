"""Rupnik, figure 3: test error against iterations."""

from dataclasses import dataclass

import numpy as np

from pegasos.solvers import Pegasos
from reproduce import data as sources
from reproduce.experiment import Claim, Table
from reproduce.walk import Walk, error, ladder, optimum, problem_of

TITLE = "Rupnik, figure 3: test error against iterations"
SOURCE = "Rupnik, section 4.4 and figure 3: 700,000 documents to train on, the last 104,414 to test"
QUESTION = "Is the test error within 0.2 points of the optimum's by 50 iterations?"

BY, POINTS = 50, 0.2
CLAIMED = (5.8, 5.6)  # per cent: Pegasos by 50 iterations, SVM-light
SHARE = 104_414 / 804_414


@dataclass(frozen=True)
class Settings:
    """The sizes of the run."""

    rows: int | None = None
    many: int = 804_414
    lam: float = 1e-4
    batch: int = 8_000
    steps: int = 200
    seeds: int = 10


def measure(settings):
    """Errors on the last 13% of the documents, in the order they have."""
    sets = [sources.rcv1(settings.rows), sources.reuters(settings.many)]
    runs = [_one(data, settings) for data in sets]
    return {"lam": settings.lam, "batch": settings.batch, "runs": runs}, [
        data.about() for data in sets
    ]


def _one(data, settings):
    train, test = data.split(SHARE)
    problem = problem_of(train.X, train.y, lam=settings.lam)
    best = optimum(train.X, train.y, lam=settings.lam)
    stops = sorted({*ladder(1, settings.steps), BY})
    curves = []
    for seed in range(settings.seeds):
        walk = Walk(problem, Pegasos(batch_size=settings.batch), seed)
        curves.append([100 * error(test.X, test.y, walk.to(stop).w) for stop in stops])
    return {
        "data": data.about(),
        "train": train.y.size,
        "test": test.y.size,
        "optimum": 100 * error(test.X, test.y, best.w),
        "gap": float(best.certificate.relative_gap),
        "steps": stops,
        "curves": curves,
    }


def claims(measured):
    """By 50 iterations, on two data sets."""
    found = []
    for run in measured["runs"]:
        errors = np.array(run["curves"])[:, run["steps"].index(BY)]
        median = float(np.median(errors))
        found.append(
            Claim(
                "section 4.4",
                f"the test error is within {POINTS} points of the optimum's by {BY} iterations "
                f"({run['data']['kind']}, {run['data']['rows']:,} rows)",
                f"{CLAIMED[0]}% against {CLAIMED[1]}%",
                f"{median:.2f}% (median; {errors.min():.2f} to {errors.max():.2f} in "
                f"{errors.size} runs) against {run['optimum']:.2f}%",
                bool(round(median - run["optimum"], 2) <= POINTS),
                f"{run['test']:,} documents to test on: one of them is "
                f"{100 / run['test']:.2g} points",
            )
        )
    return found


def tables(measured):
    """The errors at some iterations."""
    shown = (1, 2, 5, 10, 20, 50, 100, 200)
    rows = []
    for run in measured["runs"]:
        median = np.median(np.array(run["curves"]), axis=0)
        steps = np.array(run["steps"])
        at = [int(np.abs(steps - n).argmin()) for n in shown]
        rows.append([f"{run['data']['title']} ({run['data']['kind']})",
                     *(f"{median[i]:.2f}% ({steps[i]})" for i in at),
                     f"{run['optimum']:.2f}%"])  # fmt: skip
    header = ["data", *("" for _ in shown), "optimum"]
    return [Table("Test error (after so many iterations), medians", header, rows)]


def draw(measured, _, figure):
    """One panel per data set."""
    for axes, run in zip(figure.subplots(1, 2), measured["runs"], strict=True):
        axes.semilogx(run["steps"], np.array(run["curves"]).T, color="#0072B2", alpha=0.5,
                      linewidth=0.9)  # fmt: skip
        axes.axhline(run["optimum"], color="black", linewidth=1)
        axes.axhline(run["optimum"] + POINTS, color="black", linewidth=0.7, linestyle=":")
        axes.plot([], [], color="#0072B2", label=f"Pegasos, {len(run['curves'])} runs")
        axes.plot([], [], color="black", label=f"the optimum; dotted: {POINTS} points more")
        axes.axvline(BY, color="0.7", linewidth=0.7)
        axes.set_title(f"{run['data']['title']}, {run['data']['rows']:,} rows "
                       f"({run['data']['kind']})", size=9)  # fmt: skip
        axes.set_xlabel("iterations")
        axes.set_ylabel("test error, %")
        axes.set_ylim(0.9 * run["optimum"], 1.6 * run["optimum"])
        axes.legend(fontsize=7, loc="upper right")
