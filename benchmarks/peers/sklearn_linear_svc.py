"""scikit-learn's LinearSVC: LIBLINEAR's algorithm, without a cap on the iterations.

``fit`` converts to LIBLINEAR's nodes each time, which cannot be told apart from the training; only
the conversion to float64 is done before.
"""

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.peers import LIBLINEAR_TOLERANCES, Fit, Peer


class SklearnLinearSVC(Peer):
    """LinearSVC(loss="hinge")."""

    name = "sklearn-linear-svc"
    title = "scikit-learn LinearSVC"
    package = "scikit-learn"
    module = "sklearn"
    tolerances = LIBLINEAR_TOLERANCES

    def convert(self, X, y):
        return X.astype(np.float64), y

    def fit(self, data, C, tolerance, threads):  # noqa: ARG002
        X, y = data
        model = LinearSVC(
            C=C, loss="hinge", dual=True, fit_intercept=False, tol=tolerance, max_iter=10**8,
            random_state=0,
        )  # fmt: skip
        return Fit(model.fit(X, y).coef_[0])


peer = SklearnLinearSVC()
