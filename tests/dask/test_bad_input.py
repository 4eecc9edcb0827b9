"""What is wrong, where, and what to do, before anything is computed for long."""

import dask
import dask.array as da
import numpy as np
import pytest

import pegasos.dask

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.arange(60) % 2


def chunked(values, size=20):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: (X, Y), TypeError, "X must be a Dask array"),
        (lambda: (chunked(X), Y), TypeError, "y must be a Dask collection"),
        (lambda: (chunked(X), None), ValueError, "y is missing"),
        (lambda: (chunked(X), chunked(Y[:40])), ValueError, "60 rows, y has 40"),
        (lambda: (chunked(X), chunked(np.zeros(60))), ValueError, "one class"),
        (lambda: (chunked(X), chunked(Y + 0.5 * X[:, 0])), ValueError, "continuous"),
        (lambda: ([], None), ValueError, "no parts"),
        (lambda: ([(X,)], None), TypeError, "part 0"),
        (lambda: ([dask.delayed(3)], None), TypeError, r"part 0 must give \(X, y\)"),
        (lambda: ([(dask.delayed(X), dask.delayed(Y[:9]))], None), ValueError, "chunk 0.*y has 9"),
        (lambda: (chunked(np.where(X > 2, np.nan, X)), chunked(Y)), ValueError, "NaN"),
        (lambda: (chunked(X), chunked(Y), chunked(-np.ones(60))), ValueError, "not negative"),
        (lambda: (chunked(X), chunked(Y), chunked(1.0 * Y)), ValueError, "sample_weight of zero"),
    ],
)  # fmt: skip
def test_data(client, make, error, words):
    with pytest.raises(error, match=words):
        pegasos.dask.LinearSVC().fit(*make())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "pegasos", "max_iter": 5}, "does not run on a cluster"),
        ({"timeout": 0}, "timeout"),
        ({"C": -1.0}, "C must be"),
        ({"tol": -1}, "tol"),
        ({"intercept": "some"}, "intercept"),
        ({"loss": "l1"}, "loss"),
    ],
)
def test_options(client, options, words):
    with pytest.raises(ValueError, match=words):
        pegasos.dask.LinearSVC(**options).fit(chunked(X), chunked(Y))


def test_client():
    with pytest.raises(TypeError, match="client must be"):
        pegasos.dask.LinearSVC(client=3).fit(chunked(X), chunked(Y))


def test_chunks_that_differ_in_width(client):
    parts = [(dask.delayed(X), dask.delayed(Y)), (dask.delayed(X[:, :3]), dask.delayed(Y))]
    with pytest.raises(ValueError, match="differ in their number of features"):
        pegasos.dask.LinearSVC().fit(parts)
