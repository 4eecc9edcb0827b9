"""What solvers on a device are compared with: the optimum that the CPU finds."""

import numpy as np

import pegasos

MODES = ["none", "regularized", "free"]
LOSSES = ["hinge", "squared_hinge"]
SOLVERS = ["interior", "newton"]


def agree(found, X, y, tol, **options):
    """It is proven within tol of what the CPU finds, which is far closer to the optimum."""
    best = pegasos.solve(X, y, solver="interior", tol=1e-11, **options)
    ours, theirs = found.certificate, best.certificate
    assert found.stop_reason == "converged"
    assert np.all(ours.relative_gap <= tol)
    assert np.all(ours.primal <= theirs.primal * (1 + tol))
    assert np.all(ours.primal >= theirs.dual * (1 - 1e-12))
    assert np.all(ours.dual <= theirs.primal * (1 + 1e-12))
    # The objective is strongly convex: so far from the optimum w can be.
    total = np.asarray(options.get("sample_weight", np.ones(len(X)))) @ (np.asarray(y) != 0)
    far = 2 * options["C"] * total * (ours.primal - theirs.dual + theirs.gap)
    w, best_w = np.atleast_2d(np.asarray(found.w)), np.atleast_2d(best.w)
    assert np.all(((w - best_w) ** 2).sum(1) <= 1.01 * far + 1e-12)
