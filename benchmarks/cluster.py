"""A cluster against one machine: ``python -m benchmarks.cluster [rounds compare model simulate]``.

    PEGASOS_DATA=folder python -m benchmarks.cluster

``rounds``: certified 1e-3 on four worker processes, against the epochs of one machine, and whether
the primals agree. ``compare``: two workers of one thread against gathering the rows to one process
of two threads, and against partial_fit of scikit-learn's SGDClassifier from chunk to chunk, as
dask_ml's Incremental does. ``model``: the constants of the cost model (a pass over rows, a round
against workers and features, rounds against workers). ``simulate``: 2 to 256 workers, from these
constants, drawn to docs/cluster.png. Workers are processes of this machine: nothing here is about
networks. Writes results/cluster.json and results/cluster.md.
"""

import argparse
import itertools
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.linear_model import SGDClassifier

import pegasos
import pegasos.dask
from benchmarks import datasets, machine, store
from pegasos.data.synthetic import make_news
from pegasos.sites.cluster import rounds as cluster_rounds
from pegasos.sites.cluster.cluster import Cluster
from pegasos.sites.cluster.placed import of_classes
from pegasos.sites.cluster.rounds import HARD_ROWS_SHARE, Rounds
from pegasos.sites.cluster.source import source_of
from pegasos.tasks.options import checked_training
from pegasos.tasks.training import PlacedTask

TOL = 1e-3
DOCS = Path(__file__).parent.parent / "docs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[[], *TASKS])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sending large graph")
    results = store.read("cluster")
    for name in options.tasks or TASKS:
        lines = TASKS[name](options.repeat)
        results[name] = {"lines": lines, "commit": machine.commit()}
        print("\n".join(lines), flush=True)
    results |= machine.setting()
    store.write("cluster", results)
    store.write_text("cluster.md", "\n".join(_report(results)) + "\n")


def _report(results):
    measured = [results[name] for name in TASKS if name in results]
    lines = ["# A cluster", "", machine.show(results, measured), ""]
    for result in measured:
        lines += [*result["lines"], ""]
    return lines[:-1]


@contextmanager
def workers(count, *, processes=True):
    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=processes, dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


def on_workers(client, X, y, count):
    """Parts of the rows, already in the memory of the workers."""
    cuts = np.linspace(0, X.shape[0], count + 1).astype(int)
    places = sorted(client.scheduler_info()["workers"])
    parts = []
    for k, (lo, hi) in enumerate(itertools.pairwise(cuts)):
        part = (X[lo:hi], y[lo:hi])
        [there] = client.scatter([part], workers=[places[k % len(places)]], hash=False)
        parts.append(dask.delayed(there))
    return parts


# Rounds against epochs.
def rounds(_):
    lines = [
        "`python -m benchmarks.cluster rounds`: four worker processes, four parts, free "
        "intercept, certified 1e-3.",
        "",
        "| data | C | solver | rounds | epochs, one machine | primals differ by |",
        "|---|---|---|---|---|---|",
    ]
    with workers(4) as client:
        for name in ("rcv1", "news_200k", "covtype", "fashion_mnist"):
            try:
                load = datasets.module(name)
                X, y = getattr(load, "load_classes", load.load)()
            except datasets.MissingError as missing:
                lines.append(f"| {name}: {missing} | | | | | |")
                continue
            for C in (0.1, 1.0, 10.0) if name in ("rcv1", "news_200k") else (1.0,):
                parts = on_workers(client, X, y, 4)
                model = pegasos.dask.LinearSVC(C=C, random_state=0).fit(parts)
                local = pegasos.LinearSVC(C=C, random_state=0).fit(X, y)
                ratio = model.certificate_.primal / local.certificate_.primal - 1
                lines.append(
                    f"| {load.TITLE} | {C:g} | {model.solver_.name} | {model.n_iter_} | "
                    f"{local.n_iter_} | {np.abs(ratio).max():.1e} |"
                )
                print(lines[-1], flush=True)
                del parts
    return lines


# Against other ways to use the same two cores.
def compare(repeat):
    lines = [
        "`python -m benchmarks.cluster compare`: seconds, medians of interleaved runs; rows lie on "
        "two workers of one thread each, C = 1, no intercept. Gathered: the rows are sent to one "
        "process, and trained there on two threads. SGD: `partial_fit` of scikit-learn's "
        "SGDClassifier from part to part, as dask_ml's `Incremental` does, passes until the primal "
        "is within 1e-3 of the optimum (known beforehand), at most 30.",
        "",
        "| data | pegasos.dask | gathered | of that, sending | SGD, part to part |",
        "|---|---|---|---|---|",
    ]
    with workers(2) as client:
        for name in ("rcv1", "news_200k"):
            try:
                X, y = datasets.module(name).load()
            except datasets.MissingError:
                continue
            best = pegasos.solve(X, y, C=1.0, intercept="none", tol=1e-6).certificate.primal
            times = {"cluster": [], "gathered": [], "sending": [], "sgd": []}
            ended = "to 1e-3"
            for _ in range(repeat):
                parts = on_workers(client, X, y, 2)
                began = time.perf_counter()
                pegasos.dask.solve(parts, C=1.0, intercept="none", seed=0)
                times["cluster"].append(time.perf_counter() - began)
                began = time.perf_counter()
                there = client.gather(client.compute(parts))
                times["sending"].append(time.perf_counter() - began)
                rows = datasets.as_csr(*_stacked([part[0] for part in there]))
                labels = np.concatenate([part[1] for part in there])
                pegasos.solve(rows, labels, C=1.0, intercept="none", seed=0, n_jobs=2)
                times["gathered"].append(time.perf_counter() - began)
                seconds, ended = _incremental(client, parts, X, y, best)
                times["sgd"].append(seconds)
                del parts, there, rows
            t = {key: median(value) for key, value in times.items()}
            title = datasets.module(name).TITLE
            lines.append(
                f"| {title} | {t['cluster']:.2f} | {t['gathered']:.2f} "
                f"({t['cluster'] / t['gathered']:.2g} x) | {t['sending']:.2f} | {t['sgd']:.2f} "
                f"({t['sgd'] / t['cluster']:.2g} x, {ended}) |"
            )
            print(lines[-1], flush=True)
    return lines


def _stacked(matrices):
    from scipy.sparse import vstack

    X = vstack(matrices, format="csr")
    return X.data, X.indices, X.indptr, X.shape


def _incremental(client, parts, X, y, best):
    """Seconds until SGD is within 1e-3 of the optimum, its scores apart; and where it ended."""
    n = X.shape[0]
    model = SGDClassifier(loss="hinge", alpha=1.0 / n, fit_intercept=False, random_state=0)
    spent, gap = 0.0, np.inf
    for passes in range(1, 31):
        began = time.perf_counter()
        for part in parts:
            model = client.submit(_partial, model, client.compute(part), pure=False)
        model = model.result()
        spent += time.perf_counter() - began
        w = model.coef_[0]
        primal = 0.5 / n * w @ w + np.maximum(0, 1 - y * (X @ w)).mean()
        gap = primal / best - 1
        if gap <= TOL:
            return spent, f"{passes} passes"
    return spent, f"still {gap:.1e} away"


def _partial(model, part):
    X, y = part
    return model.partial_fit(X, y, classes=np.array([-1, 1]))


# The cost model.
def model(repeat):
    value = _pass_seconds()
    lines = [
        "`python -m benchmarks.cluster model`: the constants of the cost model.",
        "",
        f"A pass of DualCoordinate takes {1e9 * value:.2f} ns per stored value (one thread, "
        "generated news).",
        "",
        "Seconds of a round with hardly any rows, workers as processes of this machine:",
        "",
        "| features | 2 workers | 4 workers | 8 workers |",
        "|---|---|---|---|",
    ]
    sizes, counts = (1_000, 30_000, 300_000, 1_000_000), (2, 4, 8)
    seconds = {}
    for count in counts:
        with workers(count) as client:
            for d in sizes:
                seconds[count, d] = _round_seconds(client, count, d, repeat)
    for d in sizes:
        row = " | ".join(f"{seconds[count, d]:.3f}" for count in counts)
        lines.append(f"| {d:,} | {row} |")
    a, b, c = _fitted(seconds)
    lines += [
        "",
        f"Fitted: {1e3 * a:.0f} ms + {1e3 * b:.1f} ms x workers + {1e9 * c:.1f} ns x workers x "
        "features (all workers and the scheduler share two cores here: a cluster's own are lower).",
        "",
        "Rounds to a certified 1e-3, generated news of 200,000 rows, C = 1, no intercept:",
        "",
    ]
    found = _rounds_by_workers((1, 2, 4, 8, 16))
    with no_hard_rows():
        bare = _rounds_by_workers((2, 4, 8, 16))
    lines += [
        "| workers | " + " | ".join(str(k) for k in found) + " |",
        "|---" * (len(found) + 1) + "|",
        "| rounds | " + " | ".join(f"{r:g}" for r in found.values()) + " |",
        "| without hard rows | 1 machine | " + " | ".join(f"{r:g}" for r in bare.values()) + " |",
        "",
    ]
    constants = {"value": value, "round": [a, b, c], "rounds": found, "without_hard_rows": bare}
    store.write("cluster_constants", constants)
    return lines[:-1]


def _pass_seconds():
    """Of one stored value in a pass over rows that outgrow the cache."""
    X, y = make_news(200_000)
    found = []
    for epochs in (2, 6):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = pegasos.DualCoordinate(shrink=False, second_order=False)
            options = {"C": 1.0, "intercept": "none", "tol": 1e-12, "n_jobs": 1}
            pegasos.solve(X, y, solver=plain, max_epochs=epochs, **options)
        found.append(time.perf_counter() - began)
    return (found[1] - found[0]) / 4 / X.nnz


def _round_seconds(client, count, d, repeat):
    """Of a round over rows that are so few that only messages count."""
    from scipy.sparse import random

    rng = np.random.default_rng(0)
    X = random(64 * count, d, density=min(1.0, 20 / d), format="csr", random_state=rng)
    y = np.where(np.arange(X.shape[0]) % 2, 1, -1)
    training = checked_training(
        C=1.0, lam=None, loss="hinge", solver="dual", tol=TOL, intercept="none",
        fit_intercept=True, intercept_scaling=1.0, multi_class="ovr", max_iter=None,
        max_time=None, seed=0, n_jobs=1, callbacks=(), began=0.0,
    )  # fmt: skip
    cluster = Cluster(client, source_of(on_workers(client, X, y, count)), 60.0, 1)
    try:
        problem = PlacedTask(of_classes(cluster), None, "ovr").problem(training)
        solver = Rounds(pegasos.DualCoordinate(), TOL)
        with no_hard_rows():
            state = solver.start(problem, 0)
        times = []
        for _ in range(5 * repeat):
            began = time.perf_counter()
            solver.advance(problem, state, work=1, stop_seen=2**62, stop_steps=2**62)
            times.append(time.perf_counter() - began)
        return median(times)
    finally:
        cluster.close()


@contextmanager
def no_hard_rows():
    """None comes to the client."""
    share, cluster_rounds.HARD_ROWS_SHARE = cluster_rounds.HARD_ROWS_SHARE, 0.0
    try:
        yield
    finally:
        cluster_rounds.HARD_ROWS_SHARE = share


def _fitted(seconds):
    """a + b workers + c workers features, by least squares of relative errors."""
    rows = [[1.0, count, count * d] for count, d in seconds]
    times = np.array(list(seconds.values()))
    found, *_ = np.linalg.lstsq(np.array(rows) / times[:, None], np.ones(times.size), rcond=None)
    return np.maximum(found, 0.0)


def _rounds_by_workers(counts):
    """Workers are threads here: how many rounds it takes does not depend on speed."""
    X, y = make_news(200_000)
    found = {}
    for count in counts:
        with workers(count, processes=False) as client:
            result = pegasos.dask.solve(
                on_workers(client, X, y, count), C=1.0, intercept="none", seed=0, solver="dual"
            )
            found[count] = result.epochs
            print(f"{count} workers: {result.epochs:g} rounds", flush=True)
    return found


NETWORK = 1e9  # bytes a second, of a worker: assumed
EPOCHS = 2 + 1  # passes over its rows that a worker makes in a round: two of steps, one of margins


CLIENT = 16e9  # bytes of memory: assumed
HARD_ROWS = 0.085  # of all rows, that come to the client: so many of 200,000 generated ones
FIRST_ROUNDS = 4  # in which none come, or few


def simulate(_):
    """Seconds on 1 to 256 workers, from the constants of ``model``; assumptions are stated."""
    constants = store.read("cluster_constants")
    value, (a, b, _) = constants["value"], constants["round"]
    found = {int(k): rounds_ for k, rounds_ in constants["rounds"].items()}
    bare = {int(k): rounds_ for k, rounds_ in constants["without_hard_rows"].items()}
    workers_ = 2 ** np.arange(1, 9)
    values, d = 75, 47_236
    in_message = 5.6 * d / (8 * values + 33)
    most = HARD_ROWS_SHARE * CLIENT / (8 * values) / HARD_ROWS
    lines = [
        "**A simulation, not a measurement**: seconds to a certified 1e-3 on rows like those of "
        f"RCV1 ({values} values, {d:,} features), from the constants above. Assumed: workers of "
        f"one thread, {NETWORK / 1e9:g} GB/s each; {HARD_ROWS:.1%} of the rows are hard, and "
        f"{in_message:.0f} fit a worker's message: it takes so many rounds until they are on "
        "the client, at least those measured with hard rows there, at most without. A client of "
        f"{CLIENT / 1e9:g} GB has room for those of {most:.0e} rows. Beyond {max(found)} workers "
        "measured rounds stay what they are. One machine needs 8 passes, and memory for all rows.",
        "",
        "| rows | 1 machine | " + " | ".join(str(w) for w in workers_) + " workers |",
        "|---" * (workers_.size + 2) + "|",
    ]
    curves = {}
    for n in (10**6, 10**7, 10**8, 10**9):
        one = 8 * n * values * value
        curve = []
        for w in workers_:
            taken = bare[min(int(w), max(bare))]
            if n <= most:
                sending = FIRST_ROUNDS + HARD_ROWS * n / (in_message * w)
                taken = min(taken, max(found[min(int(w), max(found))], sending))
            computing = EPOCHS * n / w * values * value
            message = a + b * w + np.log2(w) * 16 * d / NETWORK
            curve.append(taken * (computing + message))
        curves[n] = (one, curve)
        cells = " | ".join(f"{seconds:.3g}" for seconds in curve)
        lines.append(f"| {n:.0e} | {one:.3g} | {cells} |")
    _draw(curves, workers_)
    return lines


def _draw(curves, workers_):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for n, (one, curve) in curves.items():
        [line] = axes.plot(workers_, curve, marker="o", label=f"{n:.0e} rows")
        axes.axhline(one, color=line.get_color(), linestyle=":", linewidth=1)
    axes.set(
        xscale="log", yscale="log", xlabel="workers", ylabel="seconds to a certified 1e-3",
        title="Simulation from measured constants (dotted: one machine)",
    )  # fmt: skip
    axes.set_xticks(workers_, [str(w) for w in workers_])
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(DOCS / "cluster.png", dpi=130)


TASKS = {"rounds": rounds, "compare": compare, "model": model, "simulate": simulate}

if __name__ == "__main__":
    main()
