"""KernelPegasos: the paper's algorithm, step by step."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from tests.common.reference import kernel_pegasos

import pegasos
from pegasos.kernel.gram import MatrixGram, ShiftedGram
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.pegasos import KernelPegasos
from pegasos.kernel.points import Points
from pegasos.kernel.problem import KernelProblem


def problem(n=60, C=0.5, shifted=False, matrix=False, seed=0):
    X, labels = make_classification(n, 5, flip_y=0.2, random_state=seed)
    y = np.where(labels == 1, 1.0, -1.0)
    c = np.random.default_rng(seed).uniform(0.5, 2, n)
    K = rbf_kernel(X, gamma=0.3)
    gram = MatrixGram(K) if matrix else Points(Kernel("rbf", 0.3), X)
    if shifted:
        gram, K = ShiftedGram(gram), K + 1
    intercept = "regularized" if shifted else "none"
    return KernelProblem(gram, y, C * c, 1 / C, float(n), intercept), K, c


@pytest.mark.parametrize("batch_size", [1, 3, 60])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("matrix", [False, True])
def test_every_step_is_that_of_the_paper(batch_size, shifted, matrix):
    task, K, c = problem(shifted=shifted, matrix=matrix)
    solver = KernelPegasos(batch_size=batch_size)
    state = solver.start(task, seed=3)
    batches = np.concatenate([np.random.default_rng(k).integers(60, size=(40, batch_size))
                              for k in range(3)])  # fmt: skip
    lam = task.s / task.n
    naive = kernel_pegasos(K, task.y, c, lam, batches)
    # Three blocks of steps, as a run would take them.
    parts = np.split(batches, 3)
    ours = (counts.copy() for part in parts for counts in solver.walk(task, state, part))
    for step, (counts, (expected, f)) in enumerate(zip(ours, naive, strict=True), start=1):
        np.testing.assert_array_equal(counts, expected)
        if step in (1, 7, 120):
            coef = solver.weights(task, state)[:-1, 0]
            np.testing.assert_allclose(K @ coef, f, rtol=1e-10, atol=1e-12)


def test_the_order_is_a_function_of_the_seed():
    solver, (task, _, _) = KernelPegasos(batch_size=4), problem()
    one, two, other = (solver.start(task, seed) for seed in (1, 1, 2))
    for state in (one, two, other):
        solver.advance(task, state, work=1, stop_seen=2**62, stop_steps=2**62)
    np.testing.assert_array_equal(one["errors"], two["errors"])
    assert np.any(one["errors"] != other["errors"])
    assert one["draws"].sum() == one.seen == 256


def test_its_certificate_bounds_the_optimum():
    X, y = make_classification(400, 6, flip_y=0.1, random_state=1)
    exact = pegasos.SVC(C=0.1, tol=1e-9, intercept="none").fit(X, y)
    model = pegasos.SVC(C=0.1, tol=0.05, intercept="none", solver="pegasos", random_state=0)
    proof = model.fit(X, y).certificate_
    assert proof.relative_gap <= 0.05
    assert proof.dual <= exact.certificate_.primal + 1e-12
    assert proof.primal >= exact.certificate_.dual - 1e-12
    assert len(model.history_.records) > 1


def test_intercepts():
    X, y = make_classification(300, 6, random_state=1)
    X[:, 0] += 3
    both = [
        pegasos.SVC(C=0.1, tol=tol, intercept="regularized", solver=solver, random_state=0)
        for solver, tol in (("pegasos", 0.02), ("dual", 1e-6))
    ]
    scores = [model.fit(X, y).decision_function(X) for model in both]
    assert np.corrcoef(*scores)[0, 1] > 0.98
    assert both[1].certificate_.primal <= both[0].certificate_.primal
    with pytest.raises(ValueError, match="free intercept"):
        pegasos.SVC(solver="pegasos", intercept="free").fit(X, y)
    with pytest.raises(ValueError, match="solver must be"):
        pegasos.SVC(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="batch_size"):
        KernelPegasos(batch_size=0)


def test_limits_hold():
    X, y = make_classification(300, 6, random_state=1)
    solver = pegasos.KernelPegasos(batch_size=16)
    with pytest.warns(ConvergenceWarning, match="max_steps"):
        model = pegasos.SVC(solver=solver, max_iter=40, random_state=0).fit(X, y)
    assert 40 <= model.n_iter_[0] < 80
    assert model.score(X, y) > 0.8
    with pytest.warns(ConvergenceWarning, match="max_time"):
        pegasos.SVC(solver=solver, max_time=0.05, tol=1e-9, random_state=0).fit(X, y)
