"""Time to a relative accuracy of 0.01, all solvers in turn.

Pegasos, SGD-r, SGD-s and SGD-m are stopped by an oracle that looks at the objective off the clock,
LIBLINEAR by the loosest tolerance that does, OCAS and plain cutting planes by the objective they
have to reach, as in the paper. Dual coordinate descent, and SGD-s once more, stop by their own
proof, whose cost is theirs. No intercept, one thread.
"""

import time
from statistics import median

import numpy as np

import pegasos
from benchmarks import peers as benchmark
from benchmarks.objective import primal
from pegasos.solvers import SGDM, SGDR, SGDS, Pegasos
from reproduce import peers
from reproduce.experiment import Table
from reproduce.walk import Walk, ladder, optimum, problem_of

ACCURACY = 0.01
ONCE = 1.0  # seconds of a run that is not repeated
TITLES = {
    "pegasos": "Pegasos", "sgdr": "SGD-r", "sgds": "SGD-s", "sgdm": "SGD-m",
    "sgds_proven": "SGD-s, by its own proof",
    "dual": "dual coordinate descent (ours)", "liblinear": "LIBLINEAR", "ocas": "OCAS",
    "cutting_plane": "plain cutting planes (svmocas -m 0)",
}  # fmt: skip


def missing():
    """Peers that are not here, and why."""
    ocas = peers.no_ocas()
    found = {"ocas": ocas, "cutting_plane": ocas}
    found["liblinear"] = benchmark.by_name("liblinear").available()
    return {name: why for name, why in found.items() if why}


def measure(data, C, rounds, cap):
    """Rounds in which every solver runs once; those over the cap, or slow, have one run."""
    X, y = data.X, data.y
    best = float(optimum(X, y, C=C).certificate.primal)
    with peers.ocas(X, y) as text:
        solvers = _solvers(X, y, C, best, cap, text)
        runs = {name: [] for name in solvers}
        for turn in range(rounds):
            for name, solve in solvers.items():
                if all(run["reached"] and run["seconds"] < ONCE for run in runs[name]):
                    runs[name].append(solve(turn))
    return {"data": data.about(), "C": C, "cap": cap, "runs": runs}


def _solvers(X, y, C, best, cap, text):
    """Name -> a function of the seed that runs it once; ``text`` are the rows for svmocas."""
    lam = 1 / (C * y.size)
    enough = (1 + ACCURACY) * best
    problem = problem_of(X, y, C=C)

    def oracle(solver):
        def run(seed):
            walk = Walk(problem, solver, seed)
            for stop in ladder(y.size / 8, 1e5 * y.size, 12):
                if walk.to(stop).objective <= enough:
                    return _kept(walk.seconds, True, stop / y.size)
                if walk.seconds > cap:
                    break
            return _kept(walk.seconds, False, stop / y.size)

        return run

    def proven(name):
        def run(seed):
            result = pegasos.solve(
                X, y, C=C, solver=name, intercept="none", tol=ACCURACY, max_time=cap, seed=seed,
                n_jobs=1,
            )  # fmt: skip
            return _kept(result.seconds, result.stop_reason == "converged", result.epochs)

        return run

    found = {
        "pegasos": oracle(Pegasos()),
        "sgdr": oracle(SGDR()),
        "sgds": oracle(SGDS()),
        "sgdm": oracle(SGDM()),
        "sgds_proven": proven("sgds"),
        "dual": proven("dual"),
    }

    def cutting(method):
        def run(seed):  # noqa: ARG001 - nothing in it is random
            fit = peers.cut(text, lam, y.size, enough, cap, method)
            return _kept(fit.seconds, primal(X, y, fit.w, lam) <= enough * (1 + 1e-6))

        return run

    if "liblinear" not in missing():
        found["liblinear"] = _liblinear(X, y, C, lam, enough, cap)
    if text is not None:
        found |= {"ocas": cutting(peers.OCAS), "cutting_plane": cutting(peers.CUTTING_PLANE)}
    return found


def _liblinear(X, y, C, lam, enough, cap):
    """LIBLINEAR at the loosest of its tolerances that is within the accuracy, or over the cap."""
    peer = benchmark.by_name("liblinear")
    nodes = peer.convert(X, y)

    def fit(tolerance):
        began = time.perf_counter()
        done = peer.fit(nodes, C, tolerance, 1)
        seconds = time.perf_counter() - began
        return seconds, primal(X, y, done.w, lam) <= enough, done.last

    for tolerance in peer.tolerances:
        swept, there, last = fit(tolerance)
        if there or last or swept > cap:
            break

    def run(seed):  # noqa: ARG001 - it has its own
        if not there or swept >= ONCE:
            return _kept(swept, there)
        seconds, near, _ = fit(tolerance)
        return _kept(seconds, near)

    return run


def _kept(seconds, reached, epochs=None):
    return {"seconds": float(seconds), "reached": bool(reached), "epochs": epochs}


def seconds(cell, name):
    """The median, and whether every run got there; None if it did not run."""
    runs = cell["runs"].get(name)
    if not runs:
        return None
    # svmocas tells hundredths; nothing here is faster than a tenth of a millisecond.
    middle = max(1e-4, median(run["seconds"] for run in runs))
    return middle, all(run["reached"] for run in runs)


def ratios(cells, C, slow, fast):
    """Of each data set, how many times as long ``slow`` takes, and "> " or "< " of a capped one."""
    found = {}
    for cell in cells:
        a, b = seconds(cell, slow), seconds(cell, fast)
        if cell["C"] == C and a and b and (a[1] or b[1]):
            bound = "" if a[1] and b[1] else "> " if b[1] else "< "
            found[cell["data"]["title"]] = (a[0] / b[0], bound)
    return found


def ratio(cells, C, slow, fast):
    """The geometric mean of the ratios, and the bound that it is, if all that are any agree."""
    found = ratios(cells, C, slow, fast)
    if not found:
        return float("nan"), ""
    mean = float(np.exp(np.mean([np.log(value) for value, _ in found.values()])))
    bounds = {bound for _, bound in found.values()} - {""}
    return mean, bounds.pop() if len(bounds) == 1 else ""


def each(cells, C, slow, fast):
    """The ratios in words."""
    found = ratios(cells, C, slow, fast)
    return ", ".join(f"{name} {bound}{value:.2g}" for name, (value, bound) in found.items())


def tables(cells):
    """One table for each C: seconds of dual coordinate descent, the others in multiples of it."""
    found = []
    for C in sorted({cell["C"] for cell in cells}):
        rows = []
        for cell in cells:
            if cell["C"] != C:
                continue
            base = seconds(cell, "dual")[0]
            entries = [_entry(cell, name, base) for name in TITLES]
            about = cell["data"]
            rows.append([f"{about['title']} ({about['kind']})", f"{base:.2g} s", *entries])
        header = ["data", "dual, seconds", *TITLES.values()]
        title = (
            f"C = {C:g}: time to a relative accuracy of {ACCURACY:g}, in multiples of our dual "
            "coordinate descent's (epochs); > where the cap ended it"
        )
        found.append(Table(title, header, rows))
    return found


def _entry(cell, name, base):
    found = seconds(cell, name)
    if found is None:
        return "not installed"
    epochs = [run["epochs"] for run in cell["runs"][name] if run["epochs"] is not None]
    passes = f" ({median(epochs):.3g})" if epochs else ""
    return f"{'' if found[1] else '> '}{found[0] / base:.2g}{passes}"


def draw(cells, axes):
    """Geometric means over the data sets, by C."""
    costs = sorted({cell["C"] for cell in cells})
    for name, title in TITLES.items():
        if name == "dual" or not any(cell["runs"].get(name) for cell in cells):
            continue
        values = [ratio(cells, C, name, "dual")[0] for C in costs]
        axes.loglog(costs, values, ".-", label=title)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(costs, [f"{C:g}" for C in costs])
    axes.set_xlabel("C")
    axes.set_ylabel("time, dual coordinate descent = 1")
    axes.set_title("geometric means of all data sets", size=9)
    axes.legend(fontsize=5.5)
