"""skglm's LinearSVC: the hinge loss, without an intercept whatever fit_intercept says.

It minimises the same dual by coordinate descent with Anderson acceleration, on working sets that
start at ``p0`` rows and grow with the number of duals inside the box. That leaves out most of the
duals at C: with the default p0 = 10 it runs into max_iter far from the optimum. So p0 is all rows,
and the numbers of epochs on that one working set are its tolerances.

Compilation is not timed; the product of X and y that ``fit`` makes first is.
"""

import numpy as np

from benchmarks.peers import Fit, Peer


class Skglm(Peer):
    """skglm.LinearSVC on one working set of all rows."""

    name = "skglm"
    title = "skglm"
    package = "skglm"
    counts = True
    tolerances = (10, 30, 100, 300, 1000, 3000, 10000)

    def convert(self, X, y):
        return X.astype(np.float64), y

    def fit(self, data, C, tolerance, threads):  # noqa: ARG002
        from skglm import LinearSVC

        X, y = data
        model = LinearSVC(
            C=C, fit_intercept=False, p0=y.size, max_iter=1, max_epochs=tolerance, tol=1e-12
        )
        return Fit(np.ravel(model.fit(X, y).coef_))


peer = Skglm()
