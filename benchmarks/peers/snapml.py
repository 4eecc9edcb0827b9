"""Snap ML (proprietary licence: used if the user has it). Dual coordinate descent, float32.

``regularizer`` is lam n = 1/C. The tolerance is on the change of the weights.
"""

import numpy as np

from benchmarks.peers import Fit, Peer


class SnapML(Peer):
    """snapml.SupportVectorMachine."""

    name = "snapml"
    title = "Snap ML"
    package = "snapml"
    threaded = True
    tolerances = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)

    def convert(self, X, y):
        return X, y.astype(np.float32)

    def fit(self, data, C, tolerance, threads):
        from snapml import SupportVectorMachine

        model = SupportVectorMachine(
            loss="hinge", regularizer=1 / C, fit_intercept=False, tol=tolerance, max_iter=10**7,
            n_jobs=threads, random_state=0,
        )  # fmt: skip
        return Fit(np.ravel(model.fit(*data).coef_).astype(np.float64))


peer = SnapML()
