"""Many models in one fit: cross-validation, several classes, pairs of classes, many labels.

    PEGASOS_DATA=folder python -m benchmarks.many [cv newsgroups fashion probability labels]

Each against scikit-learn on the same two cores, in turn; medians of --rounds. Ours stops by its own
certificate of 1e-3, whose cost is included. Writes results/many.json and results/many.md.
"""

import argparse
import resource
import time
import warnings
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import LinearSVC as Peer

import pegasos
from benchmarks import datasets, machine, store
from benchmarks.datasets import as_csr, fashion_mnist, newsgroups, real_file

TOL = 1e-3
CORES = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[[], *TASKS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=store.Path, default=store.RESULTS, help="folder")
    options = parser.parse_args()
    store.RESULTS = options.results
    warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's: part of the result
    results = store.read("many")
    for name in options.tasks or TASKS:
        lines = TASKS[name](options.rounds)
        results[name] = {"lines": lines, "commit": machine.commit(), "rounds": options.rounds}
        print("\n".join(lines), flush=True)
    results |= machine.setting()
    store.write("many", results)
    store.write_text("many.md", "\n".join(_report(results)) + "\n")


def timed(work):
    began = time.perf_counter()
    out = work()
    return time.perf_counter() - began, out


def in_turn(rounds, ours, theirs):
    """Medians of both, interleaved, and what the last call of each gave."""
    times = ([], [])
    for _ in range(rounds):
        for column, work in zip(times, (ours, theirs), strict=True):
            seconds, out = timed(work)
            column.append(seconds)
            if work is ours:
                mine = out
            else:
                other = out
    return median(times[0]), median(times[1]), mine, other


def primal(X, y, w, C):
    """The binary objective, hinge, without an intercept."""
    return w @ w / 2 + C * np.maximum(0, 1 - y * (X @ w)).sum()


GRIDS = ((-3, 1), (-2, 2), (-4, 4))  # powers of ten: the last is what Cs=10 means


def cross_validation(rounds):
    """10 values of C x 5 folds on the RCV1 subset."""
    X, y = datasets.module("rcv1").load()
    lines = ["## Cross-validation: 10 values of C x 5 folds, RCV1 subset, no intercept\n"]
    return lines + [_path_of_costs(X, y, np.logspace(*grid, 10), rounds) for grid in GRIDS] + [""]


def _path_of_costs(X, y, Cs, rounds):
    folds = StratifiedKFold(5)
    plain = Peer(loss="hinge", dual=True, tol=0.01, fit_intercept=False, random_state=0)

    def ours():
        return pegasos.LinearSVCCV(
            Cs=Cs, cv=folds, fit_intercept=False, tol=TOL, n_jobs=CORES, random_state=0
        ).fit(X, y)

    def theirs():
        return GridSearchCV(plain, {"C": Cs}, cv=folds, n_jobs=CORES).fit(X, y)

    GridSearchCV(plain, {"C": Cs[:2]}, cv=folds, n_jobs=CORES).fit(X, y)  # starts its processes
    mine, other, model, search = in_turn(rounds, ours, theirs)
    worst = -np.inf
    for k, (train, _) in enumerate(folds.split(X, y)):
        rows = X[train].astype(np.float64)
        for c, C in enumerate(Cs):
            peer = Peer(**plain.get_params() | {"C": C}).fit(rows, y[train])
            value = primal(rows, y[train], peer.coef_[0], C)
            worst = max(worst, primal(rows, y[train], model.path_.coef[c, k, 0], C) / value - 1)
    mean, error = model.path_.mean, model.path_.error
    theirs_at = int(np.argmin(np.abs(Cs - search.best_params_["C"])))
    tie = abs(mean[theirs_at] - mean[model.best_index_]) <= error[model.best_index_]
    return (
        f"- C from {Cs[0]:g} to {Cs[-1]:g}: LinearSVCCV {mine:.2f} s, "
        f"GridSearchCV(LinearSVC(tol=0.01), n_jobs=2) {other:.2f} s: **{other / mine:.1f} x**. "
        f"C {model.C_:.3g} against {search.best_params_['C']:.3g}"
        f" ({'the same up to one standard error' if tie else 'not the same'}). Largest gap of "
        f"a fold {model.path_.certificate.relative_gap.max():.1e}; largest primal over "
        f"scikit-learn's {1 + worst:.5f}."
    )


def one_vs_rest(rounds):
    """20 classes of 20 Newsgroups."""
    X, y = newsgroups.load_classes()
    with np.load(real_file("20news_bydate_tfidf_test.npz")) as file:
        test = as_csr(file["data"], file["indices"], file["indptr"], file["shape"])
        truth = file["y"]
    options = {"C": 1.0, "fit_intercept": False, "random_state": 0}
    best = pegasos.LinearSVC(tol=1e-6, **options).fit(X, y)
    N = len(y)

    def loss(model):
        values = [
            primal(X, np.where(y == c, 1, -1), w, 1.0) / N
            for c, w in zip(model.classes_, model.coef_, strict=True)
        ]
        return float(np.mean(np.array(values) / best.certificate_.dual - 1))

    lines = ["## Several classes: 20 Newsgroups, one against the rest, C = 1, no intercept\n"]
    for jobs in (1, CORES):
        ours = pegasos.LinearSVC(tol=TOL, n_jobs=jobs, **options)
        reached = loss(ours.fit(X, y))
        for tol in (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4):
            peer = Peer(loss="hinge", tol=tol, max_iter=100_000, **options).fit(X, y)
            if loss(peer) <= reached:
                break
        mine, other, model, theirs = in_turn(
            rounds, lambda ours=ours: ours.fit(X, y), lambda peer=peer: peer.fit(X, y)
        )
        lines.append(
            f"- {jobs} thread{'s' if jobs > 1 else ''}: LinearSVC {mine:.2f} s, mean suboptimality "
            f"{reached:.1e}; scikit-learn's (tol={tol:g}) {other:.2f} s, {loss(theirs):.1e}: "
            f"**{other / mine:.1f} x**. Test accuracy {model.score(test, truth):.4f} against "
            f"{theirs.score(test, truth):.4f}."
        )
    return [*lines, ""]


def one_vs_one(rounds):
    """45 pairs of Fashion-MNIST."""
    X, y = fashion_mnist.load_classes()
    test, truth = fashion_mnist.load_classes("t10k")
    Cs = np.logspace(-4, 0, 5)
    options = {"multi_class": "ovo", "tol": TOL, "n_jobs": CORES, "random_state": 0}
    seconds, search = timed(
        lambda: pegasos.LinearSVCCV(Cs=Cs, cv=3, fit_intercept=False, **options).fit(X, y)
    )
    C = search.C_
    ours = pegasos.LinearSVC(C=C, fit_intercept=False, **options)
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]

    def mean_primal(coefs):
        total = 0.0
        for (i, j), w in zip(pairs, coefs, strict=True):
            rows = (y == i) | (y == j)
            total += primal(X[rows], np.where(y[rows] == j, 1, -1), np.ravel(w), C) / rows.sum()
        return total / len(pairs)

    reached = mean_primal(ours.fit(X, y).coef_)
    for tol in (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3):
        plain = Peer(C=C, loss="hinge", tol=tol, max_iter=20_000, fit_intercept=False)
        peer = OneVsOneClassifier(plain, n_jobs=CORES).fit(X, y)
        theirs_reached = mean_primal([one.coef_ for one in peer.estimators_])
        if theirs_reached <= reached * (1 + 1e-5):
            break
    mine, other, model, theirs = in_turn(rounds, lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    return [
        "## Pairs of classes: Fashion-MNIST, 45 pairs, float32 pixels / 255, no intercept\n",
        f"LinearSVCCV over {len(Cs)} values of C x 3 folds chose C = {C:.3g} in {seconds:.0f} s; "
        f"test accuracy {search.score(test, truth):.4f}. At that C, LinearSVC {mine:.1f} s, mean "
        f"primal {reached / C:.6f}; OneVsOneClassifier(LinearSVC(tol={tol:g}), n_jobs=2) "
        f"{other:.1f} s, {theirs_reached / C:.6f}: **{other / mine:.1f} x**. Test accuracy "
        f"{model.score(test, truth):.4f} against {theirs.score(test, truth):.4f}.\n",
    ]


def probabilities(rounds):
    """Brier scores on a9a.t."""
    X, y = datasets.module("a9a").load()
    test, truth = load_svmlight_file(str(real_file("a9a.t")), n_features=X.shape[1])
    lines = ["## Probabilities: a9a, C = 1; Brier score of a9a.t, the smaller the better\n"]
    for loss in ("hinge", "squared_hinge"):
        plain = Peer(loss=loss, random_state=0)
        models = {
            "LinearSVC(probability=True)": pegasos.LinearSVC(
                loss=loss, probability=True, n_jobs=CORES, random_state=0
            ),
            'probability="sigmoid"': pegasos.LinearSVC(
                loss=loss, probability="sigmoid", n_jobs=CORES, random_state=0
            ),
            "CalibratedClassifierCV(LinearSVC())": CalibratedClassifierCV(
                pegasos.LinearSVC(loss=loss, random_state=0)
            ),
            "CalibratedClassifierCV(scikit-learn's LinearSVC())": CalibratedClassifierCV(plain),
        }
        found = []
        for name, model in models.items():
            seconds = median(timed(lambda model=model: model.fit(X, y))[0] for _ in range(rounds))
            score = brier_score_loss(truth, model.predict_proba(test)[:, 1])
            found.append(f"{name} {score:.5f} in {seconds:.2g} s")
        lines.append(f"- {loss}: {'; '.join(found)}.")
    return [*lines, ""]


def many_labels(rounds):  # noqa: ARG001 - one is enough
    """1,000 labels of generated rows."""
    X, Y = _labelled(20_000, 50_000, 1_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, model = timed(lambda: pegasos.LinearSVC(n_jobs=CORES, random_state=0).fit(X, Y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return [
        "## Many labels: 20,000 rows x 50,000 features x 1,000 labels (generated), C = 1\n",
        f"LinearSVC {seconds:.0f} s, every label within "
        f"{model.certificate_.relative_gap.max():.1e}; peak memory of the process "
        f"{peak / 2**20:.2f} GiB, {before / 2**20:.2f} before.\n",
    ]


def _labelled(n, d, labels):
    """Rows of words with Zipf-like frequencies; labels of sparse linear functions of them."""
    rng = np.random.default_rng(0)
    columns = (d * rng.random((n, 80)) ** 3).astype(np.int32)
    X = sparse.csr_matrix(
        (np.ones(n * 80, np.float32), columns.ravel(), np.arange(n + 1) * 80), shape=(n, d)
    )
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    parts = []
    for _ in range(0, labels, 100):
        w = sparse.random(d, 100, 0.002, format="csr", random_state=rng)
        scores = (X @ w).toarray() + 0.02 * rng.standard_normal((n, 100))
        parts.append(sparse.csr_matrix(scores > np.quantile(scores, 0.99, axis=0), dtype=np.int8))
    return X.astype(np.float32), sparse.hstack(parts, format="csr")


TASKS = {
    "cv": cross_validation,
    "newsgroups": one_vs_rest,
    "fashion": one_vs_one,
    "probability": probabilities,
    "labels": many_labels,
}


def _report(results):
    yield "# Many models in one fit\n"
    names = [name for name in TASKS if name in results]
    done = [results[name] for name in names]
    for rounds in sorted({task["rounds"] for task in done}):
        tasks = " ".join(name for name in names if results[name]["rounds"] == rounds)
        yield f"    PEGASOS_DATA=folder python -m benchmarks.many {tasks} --rounds {rounds}"
    yield ""
    yield f"{machine.show(results, done)}\n"
    for task in done:
        yield from task["lines"]


if __name__ == "__main__":
    main()
