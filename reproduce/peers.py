"""Other solvers, told how near to the optimum they have to come."""

import tempfile
import time

import numpy as np
from sklearn.svm import SVC

from benchmarks.peers import by_name
from pegasos.data.svmlight import write_svmlight

OCAS, CUTTING_PLANE = "1", "0"  # svmocas -m: OCAS; plain cutting planes, the method of SVM-perf
_EXACT = "1e-9"  # of its own gap, so that the objective decides when it ends


class Ocas:
    """svmocas (Debian's libocas-tools) on rows that are written once; ``with`` removes them."""

    def __init__(self, X, y):
        """Write the rows as text."""
        self.folder, self.features = tempfile.TemporaryDirectory(prefix="ocas-"), X.shape[1]
        write_svmlight(X, y, f"{self.folder.name}/rows")

    @staticmethod
    def missing():
        """None, or why it cannot run here."""
        return by_name("ocas").available()

    def fit(self, lam, n, objective, cap, method=OCAS):
        """Until lam/2 |w|^2 + mean loss <= objective: seconds by its own clock, and w.

        It ends at ``cap`` seconds, too.
        """
        return by_name("ocas").train(
            (self.folder, self.features), "-c", repr(1 / (lam * n)), "-q", repr(objective / lam),
            "-r", _EXACT, "-t", repr(cap), "-m", method,
        )  # fmt: skip


def decomposition(data, lam, longest, first=1_000, seed=0):
    """LIBSVM on growing samples until one takes ``longest`` seconds: [[rows, seconds], ...]."""
    order = np.random.default_rng(seed).permutation(data.y.size)
    points, n = [], min(first, data.y.size)
    while True:
        X, y = data.X[order[:n]].astype(np.float64), data.y[order[:n]]
        model = SVC(kernel="linear", C=1 / (lam * n), cache_size=1000)
        began = time.perf_counter()
        model.fit(X, y)
        points.append([int(n), time.perf_counter() - began])
        if points[-1][1] >= longest or n == data.y.size:
            return points
        n = min(2 * n, data.y.size)


def power_law(points, n, last=4):
    """Seconds at n rows by a line through the last points on logarithmic axes, and its slope."""
    rows, seconds = np.log(np.array(points[-last:], dtype=float)).T
    if rows.size < 2:
        return points[-1][1] * n / points[-1][0], 1.0
    slope, level = np.polyfit(rows, seconds, 1)
    return float(np.exp(level + slope * np.log(n))), float(slope)
