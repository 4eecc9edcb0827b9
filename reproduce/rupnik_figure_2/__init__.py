"""Rupnik, figure 2: the objective from many random starts."""

from dataclasses import dataclass

import numpy as np

from pegasos.solvers import Pegasos
from reproduce import data as sources
from reproduce.experiment import Claim, Table
from reproduce.walk import Walk, ladder, optimum, problem_of

TITLE = "Rupnik, figure 2: many random starts"
SOURCE = "Rupnik, section 4.2 and figure 2; k = 8,000, lam = 1e-4 as in section 4.3"
QUESTION = "Does it matter where Pegasos starts, and why not?"


@dataclass(frozen=True)
class Settings:
    """The sizes of the run."""

    rows: int | None = None
    lam: float = 1e-4
    batch: int = 8_000
    steps: int = 200
    seeds: int = 10
    probed: int = 3  # seeds that also run from starts of our own


def measure(settings):
    """Every seed draws its batches, and runs on them from several starts."""
    data = sources.rcv1(settings.rows)
    problem = problem_of(data.X, data.y, lam=settings.lam)
    best = optimum(data.X, data.y, lam=settings.lam)
    edge = best.w / np.linalg.norm(best.w) / np.sqrt(settings.lam)
    # |w.x| <= 1/2 for every row, so that each one violates.
    small = np.random.default_rng(0).standard_normal(best.w.size)
    small *= 0.5 / np.linalg.norm(small) / np.sqrt(problem.rows.squared_norms.max())
    starts = {"random": None, "zero": None, "along": edge, "small": small}
    stops = [0, *ladder(1, settings.steps)]
    curves = {name: [] for name in starts}
    first = []
    for seed in range(settings.seeds):
        for name, w in starts.items():
            if w is not None and seed >= settings.probed:
                continue
            solver = Pegasos(
                batch_size=settings.batch, init="random" if name == "random" else "zero"
            )
            first.append(first_step(problem, data, Walk(problem, solver, seed, w), name))
            walk = Walk(problem, solver, seed, w)
            curves[name].append([walk.to(stop).objective for stop in stops])
    measured = {
        "lam": settings.lam,
        "batch": settings.batch,
        "optimum": float(best.certificate.primal),
        "optimum_gap": float(best.certificate.relative_gap),
        "steps": stops,
        "curves": curves,
        "first_step": first,
    }
    return measured, [data.about()]


def first_step(problem, data, walk, name):
    """Step 1 taken, and computed again from the rows that violated: w_1 is used for nothing else.

    w_2 = 1/(lam k) sum over A+ of y x, scaled into the ball; (1 - eta_1 lam) w_1 is nothing.
    """
    w1 = walk.w
    walk.to(1)
    drawn = walk.state["draws"].astype(np.float64)
    violates = data.y * (data.X @ w1) < 1
    lam, k = float(problem.lam[0]), drawn.sum()
    radius = 1 / np.sqrt(lam)
    again = data.X.T @ (drawn * violates * data.y) / (lam * k)
    again *= radius / max(radius, np.linalg.norm(again))
    return {
        "start": name,
        "norm": float(np.linalg.norm(w1)),
        "violators": float(drawn[violates].sum() / k),
        "difference": float(np.linalg.norm(walk.w - again) / radius),
    }


def claims(measured):
    """Curves from random starts meet; the first step is why."""
    random, zero = _relative(measured, "random"), _relative(measured, "zero")
    last, t = measured["steps"][-1], len(measured["steps"]) - 1
    spread, batches = np.ptp(random[:, t]), np.ptp(zero[:, t])
    worst = max(one["difference"] for one in measured["first_step"])
    same = _apart(measured, "small")[1:].max()
    along, beside = _apart(measured, "along"), _apart(measured, "random")
    starts = random.shape[0]
    return [
        Claim(
            "figure 2",
            "the objective's course hardly depends on the random start",
            "the curves meet",
            f"{starts} starts, in % of the optimum: they begin {100 * np.ptp(random[:, 0]):,.0f} "
            f"apart and are {100 * spread:.2g} apart after {last} steps; "
            f"{100 * batches:.2g} if all start at 0 and only the batches differ",
            bool(spread <= 0.01 and spread <= 2 * batches),
            "holds if they end within 1% of the optimum of each other, and no further apart than "
            "twice what the batches alone do",
        ),
        Claim(
            "section 3.2.2, eta_1 = 1/lam",
            "why: the first step multiplies the start by 1 - eta_1 lam = 0",
            "w_2 has nothing of w_1",
            f"w_2 computed again without w_1 differs by {worst:.1e} of the ball's radius at most",
            bool(worst <= 1e-9),
            "w_1 still decides which rows of the first batch violate, and nothing else",
        ),
        Claim(
            "our own check",
            "a start that the whole first batch violates gives the run from 0",
            "the same objective from step 1 on",
            f"from a random w_1 so small that |w_1.x| < 1: at most {same:.1e} of the optimum apart",
            bool(same <= 1e-9),
        ),
        Claim(
            "our own check",
            "even a start that few rows violate is forgotten",
            "the curves meet",
            "from the optimum's direction at the ball's edge, on the same batches: "
            f"{100 * along[1]:.3g}% of the optimum apart after step 1, {100 * along[t]:.2g}% after "
            f"{last}; random starts: {100 * beside[1]:.3g}% and {100 * beside[t]:.2g}%",
            bool(along[t] <= 0.01),
            "within 1% of the optimum",
        ),
    ]


def tables(measured):
    """What the first step met."""
    rows = []
    for name, words in _WORDS.items():
        found = [one for one in measured["first_step"] if one["start"] == name]
        rows.append([words, _range(found, "norm", 1), _range(found, "violators", 100) + "%"])
    title = "Starts, and the share of the first batch that violates: all that a start decides"
    return [Table(title, ["start", "norm of w_1", "violators"], rows)]


def _range(found, key, factor):
    values = [f"{factor * pick(one[key] for one in found):.3g}" for pick in (min, max)]
    return " to ".join(dict.fromkeys(values))


_WORDS = {
    "random": "random, in the ball",
    "zero": "0",
    "along": "the optimum's direction, at the ball's edge",
    "small": "random, so small that |w.x| < 1",
}


def draw(measured, _, figure):
    """Curves of all starts; and how far apart runs on the same batches are."""
    left, right = figure.subplots(1, 2)
    steps = np.array(measured["steps"])
    random = _relative(measured, "random")
    left.plot(steps, 1 + random.T, color="#0072B2", alpha=0.5, linewidth=0.9)
    left.set_xscale("symlog", linthresh=1)
    left.set_yscale("log")
    left.set_ylabel("objective / optimum")
    left.set_title(f"{random.shape[0]} random starts", size=9)
    for name, colour in (("random", "#0072B2"), ("along", "#D55E00")):
        apart = np.maximum(_apart(measured, name)[1:], 1e-7)
        right.plot(steps[1:], apart, ".-", color=colour, label=_WORDS[name])
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_ylabel("distance from the run from 0, / optimum")
    right.set_title("on the same batches, the largest", size=9)
    right.legend(fontsize=7)
    for axes in (left, right):
        axes.set_xlabel("iterations")


def _relative(measured, name):
    """(seeds, steps): P/P* - 1."""
    return np.array(measured["curves"][name]) / measured["optimum"] - 1


def _apart(measured, name):
    """At each step, the largest distance from the run from 0 on the same batches."""
    from_there = _relative(measured, name)
    return np.abs(from_there - _relative(measured, "zero")[: len(from_there)]).max(axis=0)
