"""Pegasos paper: iterations to accuracy eps, and what the run time depends on."""

from dataclasses import dataclass

import numpy as np

from pegasos.solvers import Pegasos
from reproduce import data as sources
from reproduce.experiment import Claim, Table
from reproduce.walk import Walk, ladder, optimum, problem_of, timed

TITLE = "Pegasos paper: iterations grow as 1/(lam eps), run time does not depend on n"
SOURCE = "Shalev-Shwartz, Singer & Srebro (2007), abstract and section 1"
QUESTION = "How do the steps to an objective within eps of the optimum grow, at k = 1?"


@dataclass(frozen=True)
class Settings:
    """The sizes of the run."""

    rows: int | None = None
    lams: tuple = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
    reach: tuple = (2, 250)  # steps of a run, in 1/lam
    accuracies: tuple = (0.03, 0.01, 0.003, 0.001)  # eps, absolute as in the paper
    seeds: int = 5
    many: int = 804_414  # rows of the stand-in
    sizes: tuple = (6_000, 24_000, 96_000, 384_000, 804_414)
    lam: float = 1e-4  # with these sizes
    accuracy: float = 0.003


def measure(settings):
    """Curves for every lam on the real subset; steps and times for every n on a stand-in."""
    data, more = sources.rcv1(settings.rows), sources.reuters(settings.many)
    curves = [_curve(data, lam, settings) for lam in settings.lams]
    points = [
        {"lam": curve["lam"], "eps": eps, "steps": steps}
        for curve in curves
        for eps in settings.accuracies
        if (steps := _crossing(curve, eps)) is not None
    ]
    sizes = [_size(more.first(n), settings) for n in settings.sizes]
    measured = {
        "curves": curves,
        "points": points,
        "slopes": _slopes(points),
        "lam": settings.lam,
        "eps": settings.accuracy,
        "sizes": sizes,
        "size_slopes": [
            _slope([one["rows"] for one in sizes], [one[key] for one in sizes])
            for key in ("steps", "seconds")
        ],
    }
    return measured, [data.about(), more.about()]


def _curve(data, lam, settings):
    """P(w_t) - P*, the mean over seeds: the paper bounds the expectation."""
    problem = problem_of(data.X, data.y, lam=lam)
    best = float(optimum(data.X, data.y, lam=lam).certificate.primal)
    stops = ladder(*(share / lam for share in settings.reach), 8)
    away = [
        [walk.to(stop).objective - best for stop in stops]
        for walk in (Walk(problem, Pegasos(), seed) for seed in range(settings.seeds))
    ]
    return {"lam": lam, "steps": stops, "away": np.mean(away, axis=0).tolist()}


def _crossing(curve, eps):
    """Steps until the curve stays within eps, between two stops on logarithmic axes."""
    away = np.array(curve["away"])
    above = np.flatnonzero(away > eps)
    if not above.size or above[-1] + 1 == away.size:
        return None  # within eps from the first stop on, or never
    i = above[-1]
    share = np.log(away[i] / eps) / np.log(away[i] / away[i + 1])
    first, last = np.log(curve["steps"][i : i + 2])
    return float(np.exp(first + share * (last - first)))


def _slopes(points):
    """log steps = a + b log(1/eps) + c log(1/lam), by least squares: b, c."""
    table = np.array([[1, -np.log(p["eps"]), -np.log(p["lam"])] for p in points])
    steps = np.log([p["steps"] for p in points])
    return np.linalg.lstsq(table, steps, rcond=None)[0][1:].tolist()


def _size(data, settings):
    """Steps and time until the mean over seeds is within eps."""
    problem = problem_of(data.X, data.y, lam=settings.lam)
    best = float(optimum(data.X, data.y, lam=settings.lam).certificate.primal)
    walks = [Walk(problem, Pegasos(), seed) for seed in range(settings.seeds)]
    for stop in ladder(*(share / settings.lam for share in settings.reach), 16):
        if np.mean([walk.to(stop).objective for walk in walks]) <= best + settings.accuracy:
            break
    seconds = timed(problem, Pegasos(), stop, settings.seeds)
    return {"rows": data.y.size, "optimum": best, "steps": stop, "seconds": seconds}


def _slope(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def claims(measured):
    """Slopes of 1, 1 and 0."""
    by_eps, by_lam = measured["slopes"]
    steps, seconds = measured["size_slopes"]
    rows = [one["rows"] for one in measured["sizes"]]
    grown = measured["sizes"][-1]["seconds"] / measured["sizes"][0]["seconds"]
    apiece = grown * measured["sizes"][0]["steps"] / measured["sizes"][-1]["steps"]
    few, many = (measured["sizes"][i]["steps"] for i in (0, -1))
    return [
        Claim(
            "abstract",
            "iterations grow as 1/eps, not as 1/eps^2",
            "steps ~ (1/eps)^1, but for logarithms",
            f"steps ~ (1/eps)^{by_eps:.2f}",
            bool(abs(by_eps - 1) <= 0.25),
            "holds if the slope is within 0.25 of 1",
        ),
        Claim(
            "abstract",
            "iterations scale linearly with 1/lam",
            "steps ~ (1/lam)^1",
            f"steps ~ (1/lam)^{by_lam:.2f}",
            bool(abs(by_lam - 1) <= 0.25),
            "holds if the slope is within 0.25 of 1",
        ),
        Claim(
            "section 1",
            "iterations grow no faster than the bound 1/(lam eps)",
            "slopes of at most 1, but for logarithms",
            f"{by_eps:.2f} in 1/eps, {by_lam:.2f} in 1/lam",
            bool(max(by_eps, by_lam) <= 1.15),
            "holds if both are at most 1.15",
        ),
        Claim(
            "abstract",
            "the number of iterations does not depend on n",
            "steps ~ n^0",
            f"steps ~ n^{steps:.2f}: {few:,} with {rows[0]:,} rows, {many:,} with {rows[-1]:,} "
            "(stand-in)",
            bool(abs(steps) <= 0.1),
            "holds if the slope is within 0.1 of 0",
        ),
        Claim(
            "abstract",
            "the run time does not depend on n",
            "time ~ n^0",
            f"time ~ n^{seconds:.2f}: {rows[-1] / rows[0]:.0f} times the rows, {grown:.2g} times "
            f"the time; of a step alone {apiece:.2g} times (stand-in)",
            bool(seconds <= 0.1),
            "holds if the slope is at most 0.1",
        ),
    ]


def tables(measured):
    """Steps for each lam and eps; steps and time for each n."""
    accuracies = sorted({p["eps"] for p in measured["points"]}, reverse=True)
    by = {(p["lam"], p["eps"]): p["steps"] for p in measured["points"]}
    rows = [
        [f"lam = {curve['lam']:g}",
         *(f"{by[at]:,.0f}" if (at := (curve["lam"], eps)) in by else "-" for eps in accuracies)]
        for curve in measured["curves"]
    ]  # fmt: skip
    first = measured["sizes"][0]["seconds"]
    sizes = [
        [f"{one['rows']:,}", f"{one['steps']:,}", f"{one['seconds'] / first:.2f}",
         f"{1e6 * one['seconds'] / one['steps']:.2f}"]
        for one in measured["sizes"]
    ]  # fmt: skip
    title = f"To eps = {measured['eps']:g} at lam = {measured['lam']:g} (stand-in)"
    return [
        Table("Steps until the mean objective stays within eps of the optimum",
              ["", *(f"eps = {eps:g}" for eps in accuracies)], rows),
        Table(title, ["rows", "steps", "time, fewest rows = 1", "microseconds a step"], sizes),
    ]  # fmt: skip


def draw(measured, data, figure):
    """Curves that fall on one line when drawn against lam t; time against n."""
    left, right = figure.subplots(1, 2)
    for curve in measured["curves"]:
        scaled = curve["lam"] * np.array(curve["steps"])
        left.loglog(scaled, curve["away"], ".-", label=f"lam = {curve['lam']:g}")
    ends = np.array([scaled[0], scaled[-1]])
    left.loglog(ends, 0.5 / ends, color="0.6", linestyle="--", label="slope -1")
    left.set_xlabel("lam x iterations")
    left.set_ylabel("objective - optimum")
    left.set_title(f"{data[0]['title']} ({data[0]['kind']})", size=9)
    left.legend(fontsize=7)
    rows = [one["rows"] for one in measured["sizes"]]
    for key, colour in (("steps", "#0072B2"), ("seconds", "#D55E00")):
        values = np.array([one[key] for one in measured["sizes"]])
        label = "time" if key == "seconds" else key
        right.loglog(rows, values / values[0], "o-", color=colour, label=label)
    right.set_ylim(0.1, 10)
    right.set_xlabel("rows")
    right.set_ylabel("to a fixed accuracy, fewest rows = 1")
    right.set_title(f"{data[1]['title']} ({data[1]['kind']})", size=9)
    right.legend(fontsize=7)
