"""The tables of results/README.md, made from the results alone.

python -m benchmarks.report
"""

import math
from statistics import median

from benchmarks import check, datasets, machine, peers, store
from benchmarks.compare import compare
from benchmarks.measure import CAP, NEAR, REFERENCE_TOL, RESTS, TARGETS, time_to
from benchmarks.table import header, row, show_gap, show_ratio, show_time

WORK = 0.05  # seconds of ours below which a cell is noise
MAIN = 1e-3  # the target of the tables over all peers
COMMAND = "PEGASOS_DATA=folder make bench"

HOW = f"""\
Seconds to a primal within r of the optimum: hinge loss, no intercept, lam = 1/(C n). Ours stops by
its own certificate, whose cost is included; a peer is stopped by an oracle that knows which of its
tolerances is the fastest to reach r. A ratio is the fastest peer's time over ours: below 1, we
lose. Medians of interleaved rounds, fewer than said below where they add up to more than
{RESTS:g} s; what took over {NEAR:g} times as long as the fastest peer may be one run. A run is
capped at {CAP:g} s. `-` is a target that no run reached. Where no peer reached it, the ratio counts
as the cap over our time if a run met the cap, as infinite if all ended by themselves. All runs at
C = 1 are in `suboptimality.png`.
"""


def write():
    """results/README.md, from whatever results there are."""
    found = {name: store.read(name) for name in datasets.NAMES}
    found = {name: results for name, results in found.items() if _cells(results)}
    if found:
        store.write_text("README.md", "\n".join(_lines(found)) + "\n")


def _cells(results):
    """Those that are complete."""
    return {name: cell for name, cell in results.get("cells", {}).items() if "rounds" in cell}


def _lines(found):
    yield "# Pegasos against its peers\n"
    yield f"    {COMMAND}\n"
    yield HOW
    yield from dict.fromkeys(_setting(results) for results in found.values())
    yield from _summary(found)
    for name, results in found.items():
        yield from _data_set(name, results)
    yield from _two_threads(found)
    yield from _conversions(found)
    yield from _same_problem()


def _setting(results):
    cells = _cells(results).values()
    rounds = min(cell["repeats"] for cell in cells)
    return f"{machine.show(results, cells)} Rounds: {rounds}.\n"


def _summary(found):
    entries = [
        (results["data"]["title"], name, target, compare(cell, 1, target))
        for results in found.values()
        for name, cell in _cells(results).items()
        for target in TARGETS
    ]
    yield "## Summary, one thread\n"
    yield from header("within", "cells", "median ratio", "lost", f"lost with over {WORK} s of work")
    for target in TARGETS:
        of_target = [entry for *_, r, entry in entries if r == target]
        lost = [entry for entry in of_target if entry.ratio < 1]
        middle = show_ratio(median(entry.ratio for entry in of_target))
        worth = sum(entry.ours > WORK for entry in lost)
        yield row(f"{target:g}", len(of_target), middle, len(lost), worth)
    lost = [entry for entry in entries if entry[-1].ratio < 1 and entry[-1].ours > WORK]
    yield f"\nLost cells where ours works for more than {WORK} s: {len(lost) or 'none'}.\n"
    for title, name, target, entry in lost:
        yield (
            f"- {title}, {name}, within {target:g}: ours {show_time(entry.ours)} s, "
            f"{entry.peer} {show_time(entry.theirs)} s, ratio {show_ratio(entry.ratio)}"
        )


def _data_set(name, results):
    data = results["data"]
    origin = "**generated stand-in**" if data["generated"] else "real"
    yield f"\n## {data['title']}\n"
    yield (
        f"{data['rows']:,} x {data['features']:,}, {data['values'] / 1e6:.3g} M values, "
        f"{data['storage']}, {origin}; {data['task']} (`datasets/{name}.py`). One thread.\n"
    )
    kinds = ("ours", "fastest peer", "ratio")
    yield from header("", *(f"{kind}, {target:g}" for target in TARGETS for kind in kinds))
    for cell_name, cell in _cells(results).items():
        yield row(cell_name, *(text for r in TARGETS for text in _compared(compare(cell, 1, r))))
    yield from _loose_references(results)
    contenders = [key for key in _contenders(results) if key.endswith("/1")]
    yield f"\nEach, within {MAIN:g}; in brackets what ours chose, or the best a peer reached:\n"
    yield from header("", *map(_title, contenders))
    for cell_name, cell in _cells(results).items():
        yield row(cell_name, *(_to_main(cell, key) for key in contenders))


def _loose_references(results):
    """Say where the optimum itself is not known as well as it should be."""
    for name, cell in _cells(results).items():
        gap = cell["reference"]["gap"]
        if gap > REFERENCE_TOL:
            yield f"\n{name}: the optimum is known to {gap:.1e} only; all may be that much better."


def _compared(entry):
    bound = "> " if entry.only_a_bound else ""
    return (
        show_time(entry.ours),
        f"{show_time(entry.theirs)} {entry.peer}".strip(),
        bound + show_ratio(entry.ratio),
    )


def _to_main(cell, contender):
    """The time to the main target; where it was not reached, what came nearest."""
    swept = cell["sweeps"].get(contender)
    if swept is None:
        return ""
    seconds = time_to(cell, contender, MAIN)
    if math.isfinite(seconds):
        notes = [run.get("note") for run in swept["runs"] if run["tolerance"] == MAIN]
        return show_time(seconds) + (f" ({notes[0]})" if notes and notes[0] else "")
    best = min((run["suboptimality"] for run in swept["runs"]), default=None)
    return f"- ({show_gap(best)}; {swept['ended']})"


def _two_threads(found):
    keys = dict.fromkeys(key for results in found.values() for key in _contenders(results))
    two = [key for key in keys if key.endswith("/2")]
    if not two:
        return
    yield f"\n## One thread and two, within {MAIN:g}\n"
    yield "Those that have threads, on what was measured with two.\n"
    pairs = [(key.replace("/2", "/1"), key) for key in two]
    yield from header("", "", *(f"{_title(key)}, {key[-1]}" for pair in pairs for key in pair))
    for results in found.values():
        for cell_name, cell in _cells(results).items():
            if not any(key in cell["sweeps"] for key in two):
                continue
            times = [
                time_to(cell, key, MAIN) if key in cell["sweeps"] else None
                for pair in pairs
                for key in pair
            ]
            yield row(results["data"]["title"], cell_name, *map(show_time, times))


def _conversions(found):
    keys = dict.fromkeys(key for results in found.values() for key in results["convert"])
    keys = [key for key in keys if key.endswith("/1")]
    yield "\n## Conversion into the peer's own format\n"
    yield "Seconds, part of no time above. scikit-learn's and Snap ML's `fit` converts once more.\n"
    yield from header("", *map(_title, keys))
    for results in found.values():
        times = (results["convert"].get(key) for key in keys)
        yield row(results["data"]["title"], *map(show_time, times))


def _same_problem():
    known = store.read("check")
    columns = list(dict.fromkeys(name for entry in known.values() for name in entry["best"]))
    yield "\n## The same problem?\n"
    yield f"A peer is timed if it comes within {check.WITHIN:g} of our optimum at C = 1. Reached:\n"
    yield from header("", "version", *columns, "")
    for name, entry in known.items():
        verdict = "timed" if check.passes(entry["best"]) else "other objective: left out"
        best = (show_gap(entry["best"].get(column)) for column in columns)
        yield row(peers.by_name(name).title, entry["version"], *best, verdict)


def _contenders(results):
    """All that took part, in the order of the peers."""
    keys = {key for cell in results["cells"].values() for key in cell["sweeps"]}
    order = list(peers.MODULES)
    return dict.fromkeys(sorted(keys, key=lambda key: (order.index(key.split("/")[0]), key)))


def _title(contender):
    return peers.by_name(contender.split("/")[0]).title


if __name__ == "__main__":
    write()
