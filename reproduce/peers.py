"""Other solvers, told how near to the optimum they have to come."""

import tempfile
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC

from benchmarks.peers import by_name
from pegasos.data.svmlight import write_svmlight

OCAS, CUTTING_PLANE = "1", "0"  # svmocas -m: OCAS; plain cutting planes, the method of SVM-perf
_EXACT = "1e-9"  # of its own gap, so that the objective decides when it ends


def no_ocas():
    """Why svmocas (Debian's libocas-tools) cannot run here; None if it can."""
    return by_name("ocas").available()


@contextmanager
def ocas(X, y):
    """Rows written as text for svmocas: what ``cut`` takes; None if it is not here."""
    if no_ocas():
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="ocas-") as name:
        # svmocas wants a space after the label of an empty row; scikit-learn's slow writer has one.
        empty = not isinstance(X, np.ndarray) and (np.diff(X.indptr) == 0).any()
        if empty:
            dump_svmlight_file(X, y, f"{name}/rows", zero_based=False)
        else:
            write_svmlight(X, y, f"{name}/rows")
        yield SimpleNamespace(name=name), X.shape[1]


def cut(rows, lam, n, objective, cap, method=OCAS):
    """Until lam/2 |w|^2 + mean loss <= objective, or ``cap`` seconds: seconds, and w."""
    return by_name("ocas").train(
        rows, "-c", repr(1 / (lam * n)), "-q", repr(objective / lam), "-r", _EXACT,
        "-t", repr(cap), "-m", method,
    )  # fmt: skip


def decomposition(data, lam, longest, first=1_000, seed=0):
    """LIBSVM on growing samples until one takes ``longest`` seconds: [[rows, seconds], ...].

    Four at least, so that there is a line to draw through them.
    """
    order = np.random.default_rng(seed).permutation(data.y.size)
    points, n = [], min(first, data.y.size)
    while True:
        X, y = data.X[order[:n]].astype(np.float64), data.y[order[:n]]
        model = SVC(kernel="linear", C=1 / (lam * n), cache_size=1000)
        began = time.perf_counter()
        model.fit(X, y)
        points.append([int(n), time.perf_counter() - began])
        if (len(points) >= 4 and points[-1][1] >= longest) or n == data.y.size:
            return points
        n = min(2 * n, data.y.size)


def power_law(points, n, last=4):
    """Seconds at n rows by a line through the last points on logarithmic axes, and its slope."""
    rows, seconds = np.log(np.array(points[-last:], dtype=float)).T
    if rows.size < 2:
        return points[-1][1] * n / points[-1][0], 1.0
    slope, level = np.polyfit(rows, seconds, 1)
    return float(np.exp(level + slope * np.log(n))), float(slope)
