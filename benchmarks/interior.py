"""Iterations of InteriorPoint to a certified 1e-3 / 1e-8, by loss, intercept and C.

    PEGASOS_DATA=folder python -m benchmarks.interior [--data ...] [--losses ...] [--modes ...]

The benchmark's data sets of few features; where there are several classes, each against the rest.
Each iteration is certified. Writes results/interior.json and results/interior.md after each line;
lines of other data sets, losses and intercepts stay.
"""

import argparse
from itertools import product

import numpy as np

import pegasos
from benchmarks import datasets, machine, store
from benchmarks.datasets import signs
from benchmarks.table import header, row

NAMES = ("a9a", "w8a", "ijcnn1", "covtype", "fashion_mnist", "dense_500k")
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MODES = ("free", "none", "regularized")
LOSSES = ("hinge", "squared_hinge")
TOLERANCES = (1e-3, 1e-8)
MOST = 40  # iterations to the last of them, meant for any
_END = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, help="of intercept")
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    for name in options.data:
        try:
            X, tasks = _tasks(datasets.module(name))
        except datasets.MissingError as missing:
            print(f"{name}: skipped: {missing}", flush=True)
            continue
        for task, y in tasks:
            for loss, mode in product(options.losses, options.modes):
                line = {"data": name, "task": task, "loss": loss, "mode": mode}
                needed = [_iterations(X, y, C, loss, mode) for C in STRENGTHS]
                print(*line.values(), *map(_show, needed), flush=True)
                _keep(line | {"positive": float((y > 0).mean()), "needed": needed})


def _keep(line):
    """Write it, in place of the one of the same problem."""
    results = store.read("interior")
    lines = [other for other in results.get("lines", []) if _key(other) != _key(line)]
    lines = sorted([*lines, line | {"commit": machine.commit()}], key=_key)
    results = {"lines": lines} | machine.setting()
    store.write("interior", results)
    store.write_text("interior.md", "\n".join(_lines(results)) + "\n")


def _key(line):
    place = NAMES.index(line["data"]), line["task"] or 0
    return *place, line["loss"], MODES.index(line["mode"])


def _tasks(module):
    """Rows, and the binary tasks on them."""
    if not hasattr(module, "load_classes"):
        X, y = module.load()
        return X, [("", y)]
    X, classes = module.load_classes()
    return X, [(int(k), signs(classes == k)) for k in np.unique(classes)]


def _iterations(X, y, C, loss, mode):
    """To each tolerance; None if it was not reached."""
    result = pegasos.solve(
        X, y, C=C, loss=loss, solver="interior", intercept=mode, tol=TOLERANCES[-1],
        max_epochs=_END, record_every=1,
    )  # fmt: skip
    gaps = np.ravel(result.history["relative_gap"])
    reached = [gaps <= tol for tol in TOLERANCES]
    return [1 + int(np.argmax(there)) if there.any() else None for there in reached]


def _show(needed):
    return "/".join("-" if count is None else str(count) for count in needed)


def _lines(results):
    yield "# Iterations of InteriorPoint\n"
    yield "    PEGASOS_DATA=folder python -m benchmarks.interior\n"
    yield f"{machine.show(results, results['lines'])}\n"
    last = [needed[-1] for line in results["lines"] for needed in line["needed"]]
    reached = [count for count in last if count is not None]
    over = len(last) - sum(count <= MOST for count in reached)
    yield (
        f"To a certified 1e-3 / 1e-8. {over or 'None'} of {len(last)} need more than {MOST} "
        f"iterations to the latter; the most is {max(reached)}, and "
        f"{len(last) - len(reached) or 'none'} did not get there. Where losses or intercepts are "
        "missing, --losses and --modes left them out.\n"
    )
    columns = (f"C = {C:g}" for C in STRENGTHS)
    yield from header("data", "against the rest", "its rows", "loss", "intercept", *columns)
    for line in results["lines"]:
        title = datasets.module(line["data"]).TITLE
        named = (f"class {line['task']}" if line["task"] != "" else "", f"{line['positive']:.1%}")
        yield row(title, *named, line["loss"], line["mode"], *map(_show, line["needed"]))


if __name__ == "__main__":
    main()
