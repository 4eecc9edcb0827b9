"""``pegasos demo``: watch the proven gap fall on news-like text, beside scikit-learn.

The data are generated (``pegasos.data.synthetic``): a stand-in of RCV1's shape, not RCV1.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from pegasos.data.synthetic import make_news
from pegasos.estimators.linear import LinearSVC
from pegasos.run.history import Record
from pegasos.solve import certify, solve

C = 1.0
TOL = 1e-3
ROWS, FEWEST_ROWS = 100_000, 100
PICTURE = Path("pegasos-demo.png")


def run(train: int = ROWS, picture: Path = PICTURE, seed: int = 0) -> None:
    """Generate so many documents, train, compare, draw."""
    print(f"Generating {train:,} news-like documents (and {train // 5:,} to test on) ...")
    X, y = make_news(train + train // 5, seed=seed)
    X_test, y_test, X, y = X[train:], y[train:], X[:train], y[:train]
    print(f"  {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / 1e6:.1f} M non-zeros\n")

    print(f"pegasos.LinearSVC(C={C:g}, tol={TOL:g}): the gap is proven, at every line")
    print(f"{'epoch':>7} {'seconds':>9} {'primal':>11} {'dual':>11} {'proven within':>15}")
    shared: dict[str, Any] = {"C": C, "fit_intercept": False, "random_state": 0}
    ours = LinearSVC(tol=TOL, callbacks=[_show], **shared)
    seconds = _timed(ours, X, y)
    print(f"  {ours.stop_reason_}: {ours.certificate_}\n")

    others = {f"pegasos, tol={TOL / 10:g}": LinearSVC(tol=TOL / 10, **shared)} | _peers(train)
    rows = [(f"pegasos, tol={TOL:g}", seconds, ours)]
    rows += [(name, _timed(model, X, y), model) for name, model in others.items()]
    _table(rows, X, y, X_test, y_test)
    _draw(X, y, rows, picture)
    print(f"\nThe gap curves are in {picture}")


def _show(record: Record) -> None:
    print(
        f"{record.epoch:7g} {record.seconds:9.3f} {record.primal:11.6f} {record.dual:11.6f} "
        f"{record.relative_gap:15.2e}",
        flush=True,
    )


def _peers(n: int) -> dict[str, Any]:
    """scikit-learn's two ways to the same objective, at their default stopping rules."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC as LibLinear

    shared: dict[str, Any] = {"fit_intercept": False, "random_state": 0}
    return {
        "sklearn LinearSVC": LibLinear(C=C, loss="hinge", **shared),
        "sklearn SGDClassifier": SGDClassifier(alpha=1 / (C * n), **shared),
    }


def _timed(model: Any, X: Any, y: Any) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.perf_counter() - began


def _table(rows: list[Any], X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Times as ratios too: they mean more than seconds of one machine."""
    bound, ours = rows[1][2].certificate_.dual, rows[0][1]
    heads = ("seconds", "ratio", "objective", "above the bound", "test accuracy")
    print(" " * 22, "{:>8} {:>6} {:>10} {:>16} {:>14}".format(*heads))
    for name, seconds, model in rows:
        primal = certify(X, y, model.coef_[0], C=C).primal
        print(
            f"{name:<22} {seconds:8.2f} {seconds / ours:6.1f} {primal:10.6f} "
            f"{primal / bound - 1:16.2e} {model.score(X_test, y_test):14.4f}"
        )
    print("(one run each; the bound is the dual of the second row's certificate)")


def _draw(X: Any, y: Any, rows: list[Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for name in ("dual", "sgds", "sgdm", "pegasos"):
        result = solve(
            X, y, C=C, solver=name, intercept="none", tol=TOL / 10, max_epochs=60, seed=0
        )
        axes.loglog(result.history["seconds"], result.history["relative_gap"], ".-", label=name)
    bound = rows[1][2].certificate_.dual
    for (name, seconds, model), marker in zip(rows[2:], "sD", strict=True):
        above = certify(X, y, model.coef_[0], C=C).primal / bound - 1
        axes.loglog([seconds], [above], marker, color="0.4", label=f"{name} (not proven)")
    axes.axhline(TOL, color="0.8", zorder=0)
    axes.set(
        xlabel="seconds, certificates included",
        ylabel="proven relative gap, P/D - 1",
        title=f"Stand-in of RCV1's shape, {X.shape[0]:,} rows, C = {C:g}",
    )
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    run()
