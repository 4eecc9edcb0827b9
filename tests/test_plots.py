"""Displays: they draw what the estimators hold."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification

import pegasos
from pegasos import GapCurveDisplay, LinearSVC, LinearSVCCV, MarginsDisplay, PathDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def binary():
    return make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=0)


def several():
    return make_blobs(400, 5, centers=3, cluster_std=5.0, random_state=1)


@pytest.mark.parametrize("data", [binary, several])
@pytest.mark.parametrize("against", ["seconds", "epoch"])
def test_the_gap_curve_is_the_history(data, against):
    X, y = data()
    model = LinearSVC(C=0.01, solver="dual", tol=1e-3, callbacks=[lambda _: None]).fit(X, y)
    display = GapCurveDisplay.from_estimator(model, against=against, color="red")
    gaps = model.history_["relative_gap"]
    worst = gaps.max(axis=1) if gaps.ndim > 1 else gaps
    proven = np.isfinite(worst)
    np.testing.assert_allclose(display.line_.get_ydata(), worst[proven])
    np.testing.assert_allclose(display.line_.get_xdata(), model.history_[against][proven])
    assert display.line_.get_color() == "red"
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure
    again = display.plot(display.ax_)
    assert len(again.ax_.lines) == 4  # two curves, two tolerances


def test_results_of_solve_are_drawn_too():
    X, y = binary()
    result = pegasos.solve(X, y, C=0.01, solver="sgds", tol=0.1, seed=0)
    assert GapCurveDisplay.from_estimator(result).line_.get_label() == "Result"
    with pytest.raises(ValueError, match="has no history"):
        GapCurveDisplay.from_estimator(LinearSVC())
    with pytest.raises(ValueError, match="against must be"):
        GapCurveDisplay.from_estimator(result, against="hours")


def test_the_path_shows_scores_and_errors():
    X, y = binary()
    model = LinearSVCCV(Cs=[0.01, 0.1, 1.0], cv=4, random_state=0).fit(X, y)
    display = PathDisplay.from_estimator(model)
    line, _, (bars,) = display.errorbar_
    np.testing.assert_allclose(line.get_ydata(), model.scores_.mean(axis=1))
    low, high = np.array(bars.get_segments())[:, :, 1].T
    wanted = model.scores_.std(axis=1, ddof=1) / 2
    np.testing.assert_allclose(high - low, 2 * wanted)
    assert display.chosen_.get_xdata()[0] == model.C_
    assert display.ax_.get_xscale() == "log"
    assert "accuracy" in display.ax_.get_ylabel()
    with pytest.raises(ValueError, match="LinearSVCCV"):
        PathDisplay.from_estimator(LinearSVC().fit(X, y))


@pytest.mark.parametrize("data", [binary, several])
def test_negative_margins_are_errors(data):
    X, y = data()
    model = LinearSVC(C=0.01).fit(X, y)
    display = MarginsDisplay.from_estimator(model, X, y)
    assert (display.margins > 0).mean() == model.score(X, y)
    counts = np.atleast_2d(display.bars_[0])
    assert counts[-1].sum() == len(y)
    with pytest.raises(ValueError, match="no class of the estimator"):
        MarginsDisplay.from_estimator(model, X, y + 7)


def test_matplotlib_is_imported_late():
    code = "import sys, pegasos; pegasos.GapCurveDisplay; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
