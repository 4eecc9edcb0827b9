"""Rows of K and scores, dense and sparse, of all kernels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from pegasos import _core
from pegasos.kernel.gram import MatrixGram, ShiftedGram
from pegasos.kernel.kernels import Kernel
from pegasos.kernel.pairs import ClassBlocks, PairGram
from pegasos.kernel.points import Points

KERNELS = [
    (Kernel("linear"), pairwise.linear_kernel),
    (Kernel("rbf", 0.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)),
    (Kernel("poly", 0.2, 3, 1.0), lambda A, B: pairwise.polynomial_kernel(A, B, 3, 0.2, 1.0)),
    (Kernel("poly", 0.2, 2.5, 9.0), lambda A, B: pairwise.polynomial_kernel(A, B, 2.5, 0.2, 9.0)),
    (Kernel("sigmoid", 0.1, coef0=-0.5), lambda A, B: pairwise.sigmoid_kernel(A, B, 0.1, -0.5)),
]


def rows(n, d=23, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.uniform(size=X.shape) < 0.5] = 0
    return X


@pytest.mark.parametrize(("kernel", "expected"), KERNELS, ids=lambda k: getattr(k, "name", ""))
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_and_scores_are_those_of_scikit_learn(kernel, expected, make, threads):
    X, Z = rows(75), rows(37, seed=1)
    chosen, place = np.array([3, 70, 5, 11]), np.array([6, 0, 2, 3])
    out = np.zeros((7, 75), dtype=np.float32)
    points = Points(kernel, make(X), threads)
    points.rows(chosen, out, place)
    np.testing.assert_allclose(out[place], expected(X[chosen], X), rtol=2e-5, atol=2e-5)
    assert not out[[1, 4, 5]].any()
    points.rows_with(make(Z[:2]), out, place[:2])
    np.testing.assert_allclose(out[place[:2]], expected(Z[:2], X), rtol=2e-5, atol=2e-5)
    for coef in (np.linspace(-1, 1, 37), np.linspace(-1, 1, 37 * 5).reshape(37, 5), np.zeros(37)):
        np.testing.assert_allclose(
            points.scores(make(Z), coef), expected(X, Z) @ coef, rtol=1e-10, atol=1e-10
        )
    np.testing.assert_allclose(points.diagonal, np.diag(expected(X, X)), rtol=1e-12)
    np.testing.assert_allclose(kernel.block(make(X), make(Z)), expected(X, Z), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_exp_is_right_to_the_last_digits(dtype, name):
    before = _core.instruction_set()
    try:
        _core.use_instruction_set(name)
    except ValueError:
        pytest.skip(f"no {name} here")
    try:
        ends = -86 if dtype == np.float32 else -700
        x = np.concatenate([np.linspace(ends, 0, 100_003), [-1e-9, 0.0]]).astype(dtype)
        zero = np.zeros(x.size, dtype=dtype)
        out = (x / 2)[None, :].copy()
        _core.Mercer("rbf", 1.0, 3, 0.0).values(out, np.zeros(1, dtype=dtype), zero, 1)
        exact = np.exp(x.astype(np.longdouble))
        worst = np.max(np.abs(out[0] - exact) / exact) / np.finfo(dtype).eps
        assert worst < 2
        far = np.full((1, 9), -1e4, dtype=dtype)
        _core.Mercer("rbf", 1.0, 3, 0.0).values(far, np.zeros(1, dtype=dtype), zero[:9], 1)
        assert not far.any()
    finally:
        _core.use_instruction_set(before)


def test_sparse_rows_out_of_order_are_put_in_order():
    X = sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    points = Points(Kernel("linear"), X)
    np.testing.assert_allclose(points.scores(X, np.eye(2)), X.toarray() @ X.toarray().T)
    bad = sparse.csr_matrix(np.eye(3))
    bad.indices[0] = 7
    with pytest.raises(ValueError, match="column index"):
        Points(Kernel("linear"), bad)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_pairs_share_rows_within_classes(make):
    X = rows(60)
    kernel = Kernel("rbf", 0.3)
    of_class = [np.arange(0, 60, 3), np.arange(1, 60, 3), np.arange(2, 60, 3)]
    blocks = ClassBlocks(kernel, make(X), of_class)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = np.concatenate([of_class[i], of_class[j]])
        gram = PairGram(blocks, i, j, make(X)[both])
        expected = kernel.block(X[both], X[both])
        for chosen in (np.array([3, 25, 7]), np.array([30, 39]), np.array([0, 3])):
            out = np.zeros((5, 40), dtype=np.float32)
            place = np.array([4, 0, 2])[: chosen.size]
            gram.rows(chosen, out, place)
            np.testing.assert_allclose(out[place], expected[chosen], rtol=1e-5, atol=1e-6)
    assert blocks.known[0].sum() == 3


def test_all_grams_agree():
    X = rows(30)
    K = pairwise.rbf_kernel(X, gamma=0.3)
    coef = np.random.default_rng(0).normal(size=(30, 2))
    for gram, expected in (
        (Points(Kernel("rbf", 0.3), X), K),
        (MatrixGram(K), K),
        (ShiftedGram(Points(Kernel("rbf", 0.3), X)), K + 1),
    ):
        keep = np.array([2, 3, 5, 7, 11, 13])
        for one, matrix in ((gram, expected), (gram.take(keep), expected[np.ix_(keep, keep)])):
            some, n = np.array([1, 3, 4]), matrix.shape[0]
            out = np.zeros((3, n), dtype=np.float32)
            one.rows(some, out, np.arange(3))
            np.testing.assert_allclose(out, matrix[some], rtol=1e-5)
            np.testing.assert_allclose(one.diagonal, np.diag(matrix))
            np.testing.assert_allclose(one.times(coef[:n]), matrix @ coef[:n])
            np.testing.assert_allclose(one.some(some, coef[:n, 0]), matrix[some] @ coef[:n, 0])
            np.testing.assert_allclose(one.part(some), matrix[np.ix_(some, some)])
