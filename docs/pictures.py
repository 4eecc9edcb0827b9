"""The pictures of the documentation, from real runs on generated data: ``make pictures``.

python -m docs.pictures [NAME ...]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import pegasos
from pegasos.data.synthetic import make_news

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "pegasos",  # the same picture, the same file
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "0.92",
        "legend.frameon": False,
    }
)
from matplotlib import pyplot as plt  # noqa: E402 - after the backend

FOLDER = Path(__file__).parent / "pictures"
BLUE, RED, GREY = "#3949ab", "#c62828", "0.72"
POINTS = 40  # of a curve
EPOCHS = 300
LINEAR = ("pegasos", "sgdr", "sgds", "sgdm", "dual", "newton", "interior")
Curve = tuple[Any, Any]


def rows(classes: int = 2) -> tuple[Any, Any]:
    """4,000 rows of 30 features whose spread falls from 1 to 0.1; classes overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 30)) * np.geomspace(1, 0.1, 30)
    scores = X @ rng.normal(size=(30, classes)) + rng.normal(size=(4_000, classes))
    return X, scores.argmax(axis=1)


def certificate() -> None:
    """P falls, D rises, the optimum is between them."""
    X, y = make_news(5_000, seed=0)
    options: dict[str, Any] = {"C": 10.0, "intercept": "none", "seed": 0}
    best = pegasos.solve(X, y, tol=1e-9, **options).certificate
    run = pegasos.solve(X, y, solver="dual", tol=2e-3, record_every=1, **options).history
    epochs, primal, dual = run["epoch"], run["primal"], run["dual"]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.fill_between(epochs, dual, primal, color=BLUE, alpha=0.08, lw=0)
    axes.plot(epochs, primal, ".-", color=RED, label="P(w): what this model costs")
    axes.plot(epochs, dual, ".-", color=BLUE, label="D(a): no model costs less")
    axes.axhline(best.primal, color="0.3", ls="--", lw=1, label="the optimum, known only later")
    at = 3
    axes.annotate(
        "", (epochs[at], primal[at]), (epochs[at], dual[at]),
        arrowprops={"arrowstyle": "<->", "color": "0.2", "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    middle = (primal[at] + dual[at]) / 2
    axes.annotate("the gap,\nproven", (epochs[at] + 0.2, middle), va="center")
    axes.set(
        xlabel="passes over the rows", ylabel="objective", xlim=(0.8, 16.2), xticks=range(2, 17, 2)
    )
    axes.set_ylim(0, 2.1 * best.primal)
    axes.legend(loc="upper right")
    save(figure, "certificate")


def solvers() -> None:
    """The gap of each solver against passes, the others in grey."""
    X, y = rows()
    curves = {name: linear_curve(X, y, name) for name in LINEAR}
    for name in LINEAR:
        draw(name, curves, "iterations" if name in ("newton", "interior") else "epochs")
    draw("crammer_singer", {"crammer_singer": joint_curve()}, "epochs")
    kernel = {"smo": smo_curve(X, y), "kernel_pegasos": kernel_pegasos_curve(X, y)}
    draw("kernel", kernel, "steps", both=True)


def linear_curve(X: Any, y: Any, solver: str) -> Curve:
    """A certificate after every epoch."""
    options: dict[str, Any] = {"C": 1.0, "intercept": "none", "tol": 1e-6, "seed": 0}
    run = pegasos.solve(X, y, solver=solver, max_epochs=EPOCHS, record_every=1, **options)
    return run.history["epoch"], run.history["relative_gap"]


def joint_curve() -> Curve:
    """Crammer and Singer's problem on three classes."""
    X, y = rows(classes=3)
    options: dict[str, Any] = {"multi_class": "crammer_singer", "random_state": 0}
    options["callbacks"] = [lambda _: None]  # with one, records begin with the first epoch
    run = pegasos.LinearSVC(tol=1e-5, **options).fit(X, y)
    return run.history_["epoch"], run.history_["relative_gap"]


def smo_curve(X: Any, y: Any) -> Curve:
    """A run for every number of steps: short ones are certified at their end only."""
    steps = np.geomspace(100, 6_000, 12).astype(int)
    gaps = [pegasos.SVC(tol=1e-6, max_iter=int(k)).fit(X, y).certificate_ for k in steps]
    return steps, [one.relative_gap for one in gaps]


def kernel_pegasos_curve(X: Any, y: Any) -> Curve:
    """The paper's algorithm on the same kernel, with a penalised intercept."""
    run = pegasos.SVC(tol=1e-6, solver="pegasos", max_iter=400_000, random_state=0).fit(X, y)
    return run.history_["examples"], run.history_["relative_gap"]


def draw(name: str, curves: dict[str, Curve], unit: str, both: bool = False) -> None:
    """One solver's picture."""
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    others = [] if both else [other for other in curves if other != name]
    for other in others:
        label = "the other solvers" if other == others[-1] else None
        axes.loglog(*thinned(*curves[other]), color=GREY, lw=1, label=label)
    for shown, color in zip(curves if both else [name], (BLUE, RED), strict=False):
        axes.loglog(*thinned(*curves[shown]), ".-", color=color, lw=1.8, ms=4, label=shown)
    axes.axhline(1e-3, color="0.5", lw=0.8, ls=":")
    axes.set(xlabel=unit, ylabel="proven gap, P/D - 1")
    axes.set_ylim(5e-7, 100)
    axes.legend(loc="lower left")
    save(figure, f"solver-{name.replace('_', '-')}")


def thinned(at: Any, gap: Any) -> Curve:
    """A curve by so few points that the file is small."""
    at, gap = np.asarray(at, dtype=float), np.asarray(gap, dtype=float)
    chosen = np.unique(np.geomspace(1, len(at), POINTS).round().astype(int)) - 1
    return at[chosen], np.where(np.isfinite(gap), gap, np.nan)[chosen]


def save(figure: Any, name: str) -> None:
    """As SVG."""
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    print(FOLDER / f"{name}.svg")


PICTURES: dict[str, Callable[[], None]] = {"certificate": certificate, "solvers": solvers}


def main() -> None:
    """Those that are named, or all."""
    warnings.simplefilter("ignore")  # runs that are cut short say so
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
