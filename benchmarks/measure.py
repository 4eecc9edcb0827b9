"""The measurements of one problem: an oracle's sweep over tolerances, then interleaved rounds.

A **cell** is a data set and a strength of regularization. In its results, a **contender** is a peer
with a number of threads, written ``peer/threads``. Suboptimality is P(w)/D* - 1, where D* is the
lower bound of the optimum from a run of Pegasos to 1e-6: it may be too large by that, never too
small.
"""

import math
from statistics import median

from benchmarks.peers import OURS

TARGETS = (1e-2, 1e-3, 1e-4)
COSTS = (0.1, 1.0, 10.0)
LAMS = (1e-4, 1e-5, 1e-6)
CAP = 60.0
NEAR = 3.0  # what takes longer than so many times the fastest peer's time is not repeated
RESTS = 20.0  # seconds of rounds after which a run is not repeated any more
REFERENCE_TOL = 1e-6
REFERENCE_CAP = 660.0  # ours ends by itself after 600 s, with what it has proven by then
PICTURED = "C=1"  # the cell of the picture: there ours shows all its tolerances


def cells(n, costs=COSTS, lams=LAMS):
    """The grid: name -> C."""
    grid = {f"C={C:g}": C for C in costs}
    return grid | {f"lam={lam:g}": 1 / (lam * n) for lam in lams}


def reference(worker, C):
    """Ours at a tight tolerance: the lower bound that all are compared with."""
    run = worker.fit(C, REFERENCE_TOL, REFERENCE_CAP)
    if run is None:
        raise RuntimeError(f"no reference within {REFERENCE_CAP} s")
    return run


def sweep(worker, peer, C, dual, tolerances=None, target=TARGETS[-1], cap=CAP):
    """Runs from loose to tight, until one is within ``target`` of the optimum or over the cap."""
    runs, ended = [], "no tighter tolerance"
    for tolerance in peer.tolerances if tolerances is None else tolerances:
        if peer.counts and _expected(runs, tolerance) > cap:
            ended = f"over {cap:g} s"
            break
        run = worker.fit(C, tolerance, cap)
        if run is None:
            ended = f"over {cap:g} s"
            break
        run["suboptimality"] = run["primal"] / dual - 1
        runs.append(run)
        if run["suboptimality"] <= target and peer.name != OURS:
            ended = "reached"
            break
        if run.get("last"):
            ended = "its iteration cap"
            break
    return {"runs": runs, "ended": ended}


def winners(contender, swept):
    """Target -> the tolerance to time for it; ours is told the target, a peer has an oracle."""
    chosen = {}
    for target in TARGETS:
        there = [run for run in swept["runs"] if reached(contender, run, target)]
        if there:
            chosen[target] = min(there, key=lambda run: run["seconds"])["tolerance"]
    return chosen


def reached(contender, run, target):
    """Whether a run counts: ours must have been asked for the target, and have proven it."""
    if is_ours(contender):
        return run["tolerance"] == target and run["gap"] <= target
    return run["suboptimality"] <= target


def rounds(cell, workers, dual, repeats, cap=CAP):
    """Every winner in turn, ``repeats`` times; one that took ``RESTS`` seconds in all rests.

    A winner that is far from the fastest peer is not run again: its run of the sweep stands.
    """
    timed = {name: {} for name in cell["sweeps"]}
    entries = []
    for name, swept in cell["sweeps"].items():
        by_tolerance = {run["tolerance"]: run for run in swept["runs"]}
        for tolerance in dict.fromkeys(winners(name, swept).values()):
            if _worth_repeating(cell, name, tolerance):
                entries.append((name, tolerance))
            else:
                timed[name][str(tolerance)] = [by_tolerance[tolerance]]
    for _ in range(repeats):
        for name, tolerance in entries:
            runs = timed[name].setdefault(str(tolerance), [])
            if sum(run["seconds"] for run in runs) <= RESTS:
                run = workers(name).fit(cell["C"], tolerance, cap)
                runs.append(_kept(run, tolerance, dual, cap))
    return timed


def time_to(cell, contender, target):
    """Median seconds to the target; infinite where it was not reached.

    Of a peer, the fastest of all its timed tolerances that get there: a run timed for a tighter
    target may prove to be the faster one.
    """
    return min(
        (_median_to(contender, runs, target) for runs in cell["rounds"][contender].values()),
        default=math.inf,
    )


def is_ours(contender):
    return contender.split("/")[0] == OURS


def _median_to(contender, runs, target):
    return median(
        run["seconds"] if not run.get("over") and reached(contender, run, target) else math.inf
        for run in runs
    )


def _worth_repeating(cell, name, tolerance):
    """Whether the run is near the fastest peer's for some target that it is the winner of."""
    return is_ours(name) or any(
        _swept_time(cell["sweeps"][name], tolerance) <= NEAR * _fastest(cell, target)
        for target, chosen in winners(name, cell["sweeps"][name]).items()
        if chosen == tolerance
    )


def _fastest(cell, target):
    """The fastest peer's time in the sweeps, whatever its threads."""
    return min(
        _swept_time(swept, winners(name, swept)[target])
        for name, swept in cell["sweeps"].items()
        if not is_ours(name) and target in winners(name, swept)
    )


def _swept_time(swept, tolerance):
    return next(run["seconds"] for run in swept["runs"] if run["tolerance"] == tolerance)


def _kept(run, tolerance, dual, cap):
    """What of a timed run goes into the results."""
    if run is None:
        return {"tolerance": tolerance, "seconds": cap, "over": True}
    kept = {key: run[key] for key in ("tolerance", "seconds", "gap", "note") if key in run}
    return kept | {"suboptimality": run["primal"] / dual - 1}


def _expected(runs, tolerance):
    """Seconds that so many epochs will take, by the last run."""
    if not runs:
        return 0.0
    return runs[-1]["seconds"] * _epochs(tolerance) / _epochs(runs[-1]["tolerance"])


def _epochs(tolerance):
    return int(str(tolerance).split()[0])
