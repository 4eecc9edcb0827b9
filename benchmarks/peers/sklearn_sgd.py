"""scikit-learn's SGDClassifier: its stopping rule off, numbers of epochs instead.

With and without averaging of the weights: plain is better early, averaged late. Up to 100 epochs
in float32, which is faster; beyond that in float64, since its float32 weights drift away from the
optimum again.
"""

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.peers import Fit, Peer

SINGLE = 100  # epochs in float32 at most


class SklearnSGD(Peer):
    """SGDClassifier(loss="hinge"); a tolerance is "epochs" or "epochs averaged"."""

    name = "sklearn-sgd"
    title = "scikit-learn SGD"
    package = "scikit-learn"
    module = "sklearn"
    counts = True
    tolerances = (
        "1", "3", "10", "10 averaged", "30", "30 averaged", "100", "100 averaged", "300",
        "300 averaged", "1000", "1000 averaged", "3000", "3000 averaged", "10000",
        "10000 averaged",
    )  # fmt: skip

    def convert(self, X, y):
        return X, X.astype(np.float64), y

    def fit(self, data, C, tolerance, threads):  # noqa: ARG002
        single, double, y = data
        epochs, *averaged = tolerance.split()
        model = SGDClassifier(
            loss="hinge", alpha=1 / (C * y.size), fit_intercept=False, max_iter=int(epochs),
            tol=None, average=bool(averaged), random_state=0,
        )  # fmt: skip
        return Fit(model.fit(single if int(epochs) <= SINGLE else double, y).coef_[0])


peer = SklearnSGD()
