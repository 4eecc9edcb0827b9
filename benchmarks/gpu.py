"""Training on a GPU: correctness against float64, times, and what they are of the hardware's.

    python -m benchmarks.gpu [check large wide classes path stream peers cpu] [--scale 0.01]

All data are generated: see benchmarks.gpu_data. Medians of --rounds after one that warms up. Writes
results/gpu.json and results/gpu.md after each task. Without a GPU all runs on the CPU, which is to
see that it works: --scale makes it small. Then, and at any other scale than 1, nothing is written.
"""

import argparse
from itertools import product
from unittest.mock import patch

import numpy as np
import torch

import pegasos
from benchmarks import gpu_peers, machine, store
from benchmarks.gpu_data import (
    DEVICE,
    Traffic,
    falling,
    planted,
    planted_on_host,
    spread,
    timed,
    timed_once,
)
from pegasos.sites.device import rows as device_rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[[], *TASKS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of rows")
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    results = store.read("gpu") | _setting()
    options.ceilings = results["ceilings"]
    print("\n".join(_show_setting(results)), flush=True)
    command = " ".join(["python -m benchmarks.gpu", *options.tasks, f"--rounds {options.rounds}"])
    made = {"command": command, "commit": machine.commit(), "date": machine.now()[:10]}
    for name in options.tasks or TASKS:
        lines = TASKS[name](options)
        results[name] = {"lines": lines, **made}
        print("\n".join([f"## {TITLES[name]}", *lines]), flush=True)
        if DEVICE == "cuda" and options.scale == 1.0:
            store.write("gpu", results)
            store.write_text("gpu.md", "\n".join(_report(results)) + "\n")


# The machine.
def _setting():
    if DEVICE == "cpu":
        return {"device": machine.machine()["cpu"], "torch": torch.__version__, "ceilings": {}}
    name = torch.cuda.get_device_name()
    return {"device": name, "torch": torch.__version__, "ceilings": ceilings()}


def ceilings():
    """What the device does at best."""
    X = torch.randn((1 << 30,), device=DEVICE)
    copy, _, _ = timed(X.clone, 5)
    A = torch.randn((8192, 8192), device=DEVICE, dtype=torch.bfloat16)
    multiply, _, _ = timed(lambda: A @ A, 5)
    host = torch.empty((1 << 28,), dtype=torch.float32, pin_memory=True)
    bring, _, _ = timed(lambda: X[: 1 << 28].copy_(host, non_blocking=True), 5)
    return {
        "copy TB/s": 2 * X.nbytes / copy / 1e12,
        "bfloat16 TFLOP/s": 2 * 8192**3 / multiply / 1e12,
        "host GB/s": host.nbytes / bring / 1e9,
    }


def _show_setting(results):
    yield f"{results['device']}, torch {results['torch']}."
    best = results["ceilings"]
    if best:
        yield (
            f"Measured: a copy moves {best['copy TB/s']:.2f} TB/s (read and written), a bfloat16 "
            f"product of 8192 x 8192 runs at {best['bfloat16 TFLOP/s']:.0f} TFLOP/s, pinned host "
            f"memory comes at {best['host GB/s']:.1f} GB/s."
        )


def _report(results):
    done = {name: results[name] for name in TASKS if name in results}
    commands, commits, days = (
        dict.fromkeys(task[key] for task in done.values() if task[key])
        for key in ("command", "commit", "date")
    )
    yield "# Training on a GPU\n"
    yield "\n".join(f"    {command}" for command in commands) + "\n"
    yield from _show_setting(results)
    yield f"{', '.join(days)}{', commit ' if commits else ''}{', '.join(commits)}.\n"
    yield (
        "All data are generated: normal features, labels of a planted hyperplane (for classes: of\n"
        "the largest of ten linear scores), and a tenth of the labels flipped (for classes: drawn\n"
        "at random). Medians after a first run that compiles kernels.\n"
    )
    for name, task in done.items():
        yield f"## {TITLES[name]}\n"
        yield "\n".join(task["lines"]) + "\n"


# Against float64.
def check(_):
    """Against the CPU's solvers in float64, whatever the rows are made of."""
    lines = [
        "| rows | loss | intercept | primal | dual | certificate of the same model |",
        "|---|---|---|---|---|---|",
    ]
    kinds = (torch.float32, torch.float16, torch.bfloat16)
    losses, intercepts = ("hinge", "squared_hinge"), ("none", "regularized", "free")
    for dtype, loss, intercept in product(kinds, losses, intercepts):
        primal, dual, again = _differences(dtype, {"loss": loss, "intercept": intercept, "C": 0.1})
        assert again < 1e-9, again
        assert max(primal, dual) < 1e-6, (primal, dual)
        name = str(dtype).removeprefix("torch.")
        lines.append(f"| {name} | {loss} | {intercept} | {primal:.0e} | {dual:.0e} | {again:.0e} |")
    return lines


def _differences(dtype, problem):
    """Of primal and dual from the optimum, and of both from what the CPU says of the same model."""
    X, codes = planted(20_000, 100, 3, dtype)
    Y = torch.where(codes[:, None] == torch.arange(3, device=DEVICE), 1, -1)
    host, signs = X.double().cpu().numpy(), Y.cpu().numpy()
    ours = pegasos.solve(X, Y, device=DEVICE, tol=1e-7, **problem)
    exact = pegasos.solve(host, signs, solver="interior", tol=1e-7, **problem)
    model = (part.cpu().numpy() for part in (ours.w, ours.b, ours.duals))
    again = pegasos.certify(host, signs, *model, **problem)
    return (
        _apart(ours.certificate.primal, exact.certificate.primal),
        _apart(ours.certificate.dual, exact.certificate.dual),
        max(
            _apart(ours.certificate.primal, again.primal), _apart(ours.certificate.dual, again.dual)
        ),
    )


def _apart(values, others):
    return np.max(np.abs(values / others - 1))


# Times.
HEAD = [
    "| problem | seconds | goal | certified gap | iterations | GB of X read | TB/s "
    "| TFLOP/s of matrices |",
    "|---|---|---|---|---|---|---|---|",
]


def measured(options, X, y, lam, tol=1e-6, target=None, **more):
    """A line of the table."""

    def work():
        return pegasos.solve(X, y, lam=lam, tol=tol, device=DEVICE, **more)

    seconds, times, result = timed(work, options.rounds)
    with Traffic().counted() as traffic:
        work()
    gap = float(np.max(result.certificate.relative_gap))
    name = f"{X.shape[0]:,} x {X.shape[1]} {str(X.dtype).removeprefix('torch.')}, lam = {lam:.0e}"
    by = ", InteriorPoint" if more.get("solver") == "interior" else ""
    return (
        f"| {name}, to {tol:.0e}{by} | {spread(times)} | {f'{target:.2f}' if target else ''} | "
        f"{gap:.1e} | {result.epochs:.0f} | {traffic.bytes / 1e9:.0f} | "
        f"{traffic.bytes / seconds / 1e12:.2f} | {traffic.flops / seconds / 1e12:.1f} |"
    )


def large(options):
    n = int(10_000_000 * options.scale)
    X, y = planted(n, 256)
    lines = [*HEAD]
    for lam in (1e-4, 1 / n):
        lines.append(measured(options, X, y, lam, target=0.40, solver="interior"))
        lines.append(measured(options, X, y, lam, target=0.40))
        lines.append(measured(options, X, y, lam, tol=1e-3))
    X = X.bfloat16()
    return [*lines, measured(options, X, y, 1e-4)]


def wide(options):
    n = int(1_000_000 * options.scale)
    X, y = planted(n, 1024)
    return HEAD + [measured(options, X, y, lam, target=0.25) for lam in (1e-4, 1 / n)]


def classes(options):
    n = int(1_000_000 * options.scale)
    X, codes = planted(n, 768, 10)
    lines = [
        "| problem | seconds | goal | worst certified gap | iterations |",
        "|---|---|---|---|---|",
    ]
    for lam in (1e-4, 1e-6):
        seconds, times, model = _fitted(X, codes, lam, options.rounds)
        alone, _, one = _fitted(X, codes == 0, lam, options.rounds)
        gap = model.certificate_.relative_gap.max()
        lines += [
            f"| {n:,} x 768, ten classes, lam = {lam:.0e}, to 1e-3 | {spread(times)} | 1.00 | "
            f"{gap:.1e} | {model.n_iter_} |",
            f"| the first class alone | {alone:.3f}: ten cost {seconds / alone:.1f} of it | | | "
            f"{one.n_iter_} |",
        ]
    return lines


def _fitted(X, codes, lam, rounds):
    model = pegasos.LinearSVC(lam=lam, tol=1e-3, device=DEVICE)
    return timed(lambda: model.fit(X, codes), rounds)


def path(options):
    n = int(1_000_000 * options.scale)
    X, y = planted(n, 256)
    model = pegasos.LinearSVCCV(Cs=10, cv=5, device=DEVICE)
    seconds, times, _ = timed(lambda: model.fit(X, y), options.rounds)
    worst = model.path_.certificate.relative_gap.max()
    return [
        f"`LinearSVCCV(Cs=10, cv=5)`, {n:,} x 256: {seconds:.2f} s ({min(times):.2f} to "
        f"{max(times):.2f}; goal: 3), all 50 fits and the last one certified to "
        f"{worst:.1e} or better; C = {model.C_:.3g}."
    ]


# Rows that do not fit.
def stream(options):
    """A tenth of the data at a time: the device is told to have no room for more."""
    n = int(40_000_000 * options.scale)
    X, y = planted_on_host(n, 256)
    problem = {"lam": 1e-4, "tol": 1e-3, "device": DEVICE}
    with _no_room(X):
        seconds, times, result = timed(lambda: pegasos.solve(X, y, **problem), options.rounds)
        with Traffic().streamed() as traffic:
            pegasos.solve(X, y, **problem)
        rows, _ = device_rows.rows_on_device(X, DEVICE, 0.0)
        reading, _, _ = timed(lambda: sum(float(block[0, 0]) for _, _, block in rows.visit()), 2)
    return [
        f"{n:,} x 256 bfloat16 ({X.nbytes / 1e9:.1f} GB) in pinned host memory, a tenth of that "
        f"allowed on the device: certified {result.certificate.relative_gap:.1e} in "
        f"{spread(times)} s, {result.epochs:.0f} iterations. They bring "
        f"{traffic.bytes / 1e9:.1f} GB to the device, "
        f"{_of_host(traffic.bytes / seconds / 1e9, options)}; a pass that only reads moves "
        f"{_of_host(X.nbytes / reading / 1e9, options)}."
    ]


def _no_room(X):
    if DEVICE == "cuda":
        return patch.object(device_rows, "room", return_value=X.nbytes // 10)
    return patch.object(device_rows, "_brought", device_rows.stream_of)  # the CPU has them already


def _of_host(rate, options):
    """GB/s, and their share of what was measured for pinned memory."""
    if not options.ceilings:
        return f"{rate:.1f} GB/s"
    return f"{rate:.1f} GB/s ({rate / options.ceilings['host GB/s']:.0%} of pinned host memory's)"


# Others.
LIMIT = 1.5  # seconds of a peer's run
AIMS = (1e-2, 1e-3, 1e-4, 1e-6)


def peers(options):
    """On the planted data, and on such whose spectrum falls as that of embeddings."""
    n = int(10_000_000 * options.scale)
    settings = " and ".join(f"{len(grid)} of {name}" for name, (_, grid) in gpu_peers.GRIDS.items())
    lines = [
        f"{n:,} x 256 float32, hinge loss, no intercept. Planted: normal features; falling: column "
        "j of them times 1/sqrt(1 + j), as the spectra of embeddings fall, with the same labels. "
        "Ours stops by its certificate at tol; its w is then far closer to the optimum than that "
        "proves: how close, against a run to 1e-10, is its suboptimality. Peers: the time of the "
        "fastest setting (widths of the smoothed hinge; eta, batch), chosen and stopped by an "
        f"oracle that knows the optimum, among {settings}, each until it is there, gives up, or "
        f"has run for {LIMIT:g} s. A ratio is the faster peer's time over ours: to the same "
        "suboptimality, and to one of tol, where ours is the better model.",
        "",
        "| data | lam | tol | ours, certified | its suboptimality | L-BFGS, as good | SGD, as good "
        "| ratio, as good | L-BFGS, to tol | SGD, to tol | ratio, to tol |",
        "|---" * 11 + "|",
    ]
    for name, make in {"planted": planted, "falling": falling}.items():
        lines += _raced(name, *make(n, 256), options)
    return lines


def _raced(data, X, y, options):
    for lam in (1e-4, 1e-6):

        def ours(tol, lam=lam):
            return pegasos.solve(X, y, lam=lam, tol=tol, intercept="none", device=DEVICE)

        optimum = ours(1e-10).certificate
        best = (optimum.primal + optimum.dual) / 2
        runs = {aim: timed(lambda aim=aim, ours=ours: ours(aim), options.rounds) for aim in AIMS}
        found = {aim: run[2].certificate.primal for aim, run in runs.items()}
        asked = {aim: best * (1 + aim) for aim in AIMS}
        times = gpu_peers.best_times(X, y, lam, [*asked.values(), *found.values()], LIMIT)
        for aim, (seconds, _, _) in runs.items():
            cells = [f"{seconds:.3f}", f"{found[aim] / best - 1:.0e}"]
            for target in (found[aim], asked[aim]):
                cells += _compared(seconds, [times[name].get(target) for name in times])
            yield f"| {data} | {lam:.0e} | {aim:.0e} | {' | '.join(cells)} |"


def _compared(seconds, peers):
    """``peers``: of each the seconds of its best setting, and that; None without success."""
    cells = [f"{one[0]:.3f} ({one[1]})" if one else "not reached" for one in peers]
    reached = [one[0] for one in peers if one]
    return [*cells, f"{min(reached) / seconds:.1f}" if reached else f"over {LIMIT / seconds:.0f}"]


def cpu(options):
    """The best this package does on all cores of the same machine."""
    n = int(10_000_000 * options.scale)
    X, y = planted(n, 256)
    problem = {"lam": 1e-4, "tol": 1e-6}
    ours, _, _ = timed(lambda: pegasos.solve(X, y, device=DEVICE, **problem), options.rounds)
    host, signs = X.cpu().numpy(), y.cpu().numpy()
    lines = []
    for solver in ("auto", "newton"):
        seconds, there = timed_once(
            lambda solver=solver: pegasos.solve(
                host, signs, n_jobs=-1, solver=solver, max_time=150, **problem
            )
        )
        lines.append(
            f"- `solver={solver!r}` on the CPU, all cores: {seconds:.1f} s ({there.solver.name}, "
            f"{there.stop_reason}, gap {there.certificate.relative_gap:.1e}): "
            f"{seconds / ours:.0f} times as long as the device ({ours:.3f} s)."
        )
    return [*lines, _scikit_learn(host, signs, ours)]


def _scikit_learn(X, y, ours):
    """cuML's stand-in: what scikit-learn does on a core in a tenth of the rows, and five passes."""
    from sklearn.linear_model import SGDClassifier

    few = max(100, len(y) // 10)
    model = SGDClassifier(loss="hinge", alpha=1e-4, max_iter=5, tol=None, average=True)
    seconds, model = timed_once(lambda: model.fit(X[:few], y[:few]))
    w, b = model.coef_[0], model.intercept_[0]
    margins = y[:few] * (X[:few] @ w + b)
    primal = 0.5e-4 * (w @ w) + np.maximum(0, 1 - margins).mean()
    best = pegasos.solve(X[:few], y[:few], lam=1e-4, tol=1e-6, n_jobs=-1).certificate.dual
    return (
        f"- scikit-learn's `SGDClassifier`, one core, five passes over a tenth of the rows: "
        f"{seconds:.1f} s, {primal / best - 1:.1e} from that tenth's optimum: "
        f"{10 * seconds / ours:.0f} times as long as the device for all rows, if it goes on so "
        "(extrapolated)."
    )


TASKS = {task.__name__: task for task in (check, large, wide, classes, path, stream, peers, cpu)}
TITLES = {
    "check": "Against float64 on the CPU (relative differences)",
    "large": "Many rows",
    "wide": "Many features",
    "classes": "Ten classes, one against the rest",
    "path": "Cross-validation",
    "stream": "Data larger than the device",
    "peers": "Optimisers in plain torch on the same device",
    "cpu": "The CPU",
}

if __name__ == "__main__":
    main()
