"""The double-edged sword: with more rows, a fixed test error takes fewer steps."""

from dataclasses import dataclass

import numpy as np

from pegasos.solvers import Pegasos
from reproduce import data as sources
from reproduce.experiment import Claim, Table
from reproduce.walk import Walk, error, ladder, optimum, problem_of, timed


@dataclass(frozen=True)
class Settings:
    """The sizes of the run."""

    rows: int | None = None
    many: int = 804_414
    lams: tuple = (3e-5, 1e-4, 3e-4)
    sizes: tuple = (6_000, 12_000, 24_000)
    more: tuple = (24_000, 96_000, 300_000, 700_000)
    tested: int = 30_000
    steps: int = 1_000_000
    seeds: int = 7


def measure(settings):
    """On the real subset and on a stand-in that is larger: steps and seconds by rows."""
    runs, about = [], []
    for data, sizes in (
        (sources.rcv1(settings.rows), settings.sizes),
        (sources.reuters(settings.many), settings.more),
    ):
        runs.append(_one(data, sizes, settings))
        about.append(data.about())
    return runs, about[:1]  # the stand-in is named by the table of times


def _one(data, sizes, settings):
    """Target: what the optimum of the fewest rows gets, at the best lam."""
    train, test = data.split()
    test = test.first(settings.tested)
    few = train.first(sizes[0])
    target = min(error(test.X, test.y, optimum(few.X, few.y, lam=lam).w) for lam in settings.lams)
    points = []
    for n in sizes:
        part = train.first(n)
        tried = [_steps(part, test, lam, target, settings) for lam in settings.lams]
        points.append({"rows": n} | min(tried, key=lambda one: one["steps"]))
    return {"data": data.about(), "tested": test.y.size, "target": target, "points": points}


def _steps(train, test, lam, target, settings):
    """Until the mean test error of all seeds is no more than the target, k = 1."""
    problem = problem_of(train.X, train.y, lam=lam)
    walks = [Walk(problem, Pegasos(), seed) for seed in range(settings.seeds)]
    for stop in ladder(1_000, settings.steps, 16):
        errors = [error(test.X, test.y, walk.to(stop).w) for walk in walks]
        if np.mean(errors) <= target:
            break
    else:
        stop = 2 * settings.steps  # not reached
    return {"lam": lam, "steps": stop, "seconds": timed(problem, Pegasos(), stop)}


def claims(runs):
    """It falls, and never rises by much."""
    found = []
    for run in runs:
        steps = np.array([point["steps"] for point in run["points"]], dtype=float)
        seconds = np.array([point["seconds"] for point in run["points"]])
        rows = [f"{point['rows']:,}" for point in run["points"]]
        found.append(
            Claim(
                "slide on the double-edged sword",
                "the time to a fixed test error falls as the data set grows "
                f"({run['data']['kind']}, up to {rows[-1]} rows)",
                "more data, fewer iterations",
                f"to {100 * run['target']:.2f}% with {', '.join(rows)} rows: "
                f"{', '.join(f'{one:,.0f}' for one in steps)} steps; time "
                f"{', '.join(f'{one:.2g}' for one in seconds / seconds[0])}",
                bool(steps[-1] < 0.8 * steps[0] and seconds[-1] < seconds[0]),
                "mean error of several seeds, the best of the lam; holds if the most rows need "
                "less than 0.8 of the steps of the fewest, and less time",
            )
        )
    return found


def tables(runs):
    """Steps and times by rows."""
    rows = [
        [f"{run['data']['title']} ({run['data']['kind']})", f"{100 * run['target']:.2f}%",
         f"{point['rows']:,}", f"{point['lam']:g}", f"{point['steps']:,}",
         f"{point['seconds'] / run['points'][0]['seconds']:.2g}"]
        for run in runs
        for point in run["points"]
    ]  # fmt: skip
    header = ["data", "test error", "rows", "best lam", "steps", "time, fewest rows = 1"]
    return [Table("Pegasos (k = 1) to a fixed test error", header, rows)]


def draw(runs, axes):
    """Steps against rows."""
    for run in runs:
        rows = [point["rows"] for point in run["points"]]
        steps = [point["steps"] for point in run["points"]]
        label = f"to {100 * run['target']:.1f}% ({run['data']['kind']})"
        axes.loglog(rows, steps, "o-", label=label)
    axes.set_xlabel("rows")
    axes.set_ylabel("steps to a fixed test error")
    axes.set_title("the double-edged sword", size=9)
    axes.legend(fontsize=7)
