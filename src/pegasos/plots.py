"""Plots in scikit-learn's Display style; matplotlib is imported when one is drawn.

A display keeps the numbers; ``from_estimator`` makes and draws one, ``plot`` draws it again. After
that ``ax_`` and ``figure_`` are matplotlib's, and what was drawn has a name of its own.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos.report.measures import margins


class _Display:
    """Where to draw."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any) -> Any:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                f"{type(self).__name__} needs matplotlib: pip install matplotlib"
            ) from None
        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


class GapCurveDisplay(_Display):
    """The proven gap of a fit against seconds or epochs; of several lanes, the worst."""

    def __init__(
        self, *, times: ArrayLike, gaps: ArrayLike, unit: str, tol: float | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        """Keep the numbers."""
        self.times, self.gaps = np.asarray(times), np.asarray(gaps)
        self.unit, self.tol, self.name = unit, tol, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, against: str = "seconds", name: str | None = None, ax: Any = None,
        **line: Any,
    ) -> Self:  # fmt: skip
        """Draw the history of a fitted estimator, or of a ``pegasos.solve`` result.

        ``against`` is ``"seconds"`` or ``"epoch"``; ``line`` goes to ``matplotlib``'s ``plot``.
        """
        history = getattr(estimator, "history_", None) or getattr(estimator, "history", None)
        if history is None:
            raise ValueError(f"{estimator!r} has no history: fit it first")
        if against not in ("seconds", "epoch"):
            raise ValueError(f"against must be 'seconds' or 'epoch', got {against!r}")
        gaps = history["relative_gap"]
        worst = gaps.max(axis=1) if gaps.ndim > 1 else gaps
        shown = cls(
            times=history[against],
            gaps=worst,
            unit="epochs" if against == "epoch" else against,
            tol=getattr(estimator, "tol", None),
            name=name or type(estimator).__name__,
        )
        return shown.plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw, with logarithmic gaps; records before anything was proven are left out."""
        ax = self._begin(ax)
        proven = np.isfinite(self.gaps)
        floor = np.finfo(float).eps
        options = {"marker": "o", "label": self.name} | line
        (self.line_,) = ax.plot(self.times[proven], np.maximum(self.gaps[proven], floor), **options)
        if self.tol:
            self.tol_line_ = ax.axhline(self.tol, linestyle=":", color="grey", label="tol")
        ax.set(yscale="log", xlabel=self.unit, ylabel="proven relative gap")
        ax.legend()
        return self


class PathDisplay(_Display):
    """Scores of a cross-validation against C, with their standard errors."""

    def __init__(
        self, *, C: ArrayLike, mean: ArrayLike, error: ArrayLike, chosen: float, scoring: str
    ) -> None:
        """Keep the numbers."""
        self.C, self.mean, self.error = np.asarray(C), np.asarray(mean), np.asarray(error)
        self.chosen, self.scoring = chosen, scoring

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **bars: Any) -> Self:
        """Draw the path of a fitted ``LinearSVCCV``; ``bars`` goes to ``errorbar``."""
        if not hasattr(estimator, "path_"):
            raise ValueError(f"{estimator!r} has no path_: fit a LinearSVCCV")
        path = estimator.path_
        scoring = estimator.scoring if isinstance(estimator.scoring, str) else None
        shown = cls(
            C=path.C,
            mean=path.mean,
            error=path.error,
            chosen=estimator.C_,
            scoring=scoring or ("accuracy" if estimator.scoring is None else "score"),
        )
        return shown.plot(ax, **bars)

    def plot(self, ax: Any = None, **bars: Any) -> Self:
        """Draw, with C on a logarithmic axis; values of C that were left out have no point."""
        ax = self._begin(ax)
        done = np.isfinite(self.mean)
        options = {"marker": "o", "capsize": 3} | bars
        self.errorbar_ = ax.errorbar(
            self.C[done], self.mean[done], yerr=self.error[done], **options
        )
        label = f"chosen: C = {self.chosen:.3g}"
        self.chosen_ = ax.axvline(self.chosen, linestyle=":", color="grey", label=label)
        ax.set(xscale="log", xlabel="C", ylabel=f"{self.scoring}, mean and standard error")
        ax.legend()
        return self


class MarginsDisplay(_Display):
    """A histogram of the margins y (w.x + b): below 1 they cost, below 0 they are errors."""

    def __init__(self, *, margins: ArrayLike, names: ArrayLike, classes: ArrayLike) -> None:
        """``names`` is the class of each margin's row."""
        self.margins, self.names = np.asarray(margins), np.asarray(names)
        self.classes = np.asarray(classes)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, bins: Any = 50, ax: Any = None, **bars: Any
    ) -> Self:
        """Draw the margins of X, y; of several classes, that of the own one against the best other.

        ``bars`` goes to ``hist``.
        """
        scores = estimator.decision_function(X)
        labels = np.asarray(y)
        classes: NDArray[Any] = estimator.classes_
        unknown = np.setdiff1d(labels, classes)
        if unknown.size:
            raise ValueError(f"y holds {unknown[0]!r}, which is no class of the estimator")
        shown = margins(scores, np.searchsorted(classes, labels))
        return cls(margins=shown, names=labels, classes=classes).plot(ax, bins=bins, **bars)

    def plot(self, ax: Any = None, *, bins: Any = 50, **bars: Any) -> Self:
        """Draw, the classes stacked."""
        ax = self._begin(ax)
        parts = [self.margins[self.names == name] for name in self.classes]
        options = {"stacked": True, "label": [str(name) for name in self.classes]} | bars
        self.bars_ = ax.hist(parts, bins=bins, **options)
        self.margin_ = ax.axvline(1.0, linestyle=":", color="grey")
        ax.set(xlabel="margin", ylabel="rows")
        ax.legend()
        return self
