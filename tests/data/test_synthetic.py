import numpy as np
import pytest

from pegasos.data.synthetic import BLOCK, make_news

CSR_PARTS = ("data", "indices", "indptr")


@pytest.fixture(scope="module")
def news():
    return make_news(6_000)


def same(one, other):
    return all(np.array_equal(getattr(one, p), getattr(other, p)) for p in CSR_PARTS)


def test_types_and_shape(news):
    X, y = news
    assert X.format == "csr"
    assert X.shape == (6_000, 47_236)
    assert [getattr(X, part).dtype for part in CSR_PARTS] == [np.float32, np.int32, np.int32]
    assert y.dtype == np.int8
    assert set(np.unique(y)) == {-1, 1}
    assert X.indices.min() >= 0
    assert X.indices.max() < X.shape[1]


def test_rows_are_sorted_non_empty_and_of_unit_length(news):
    X, _ = news
    assert np.diff(X.indptr).min() >= 1
    steps = np.diff(X.indices)
    steps[X.indptr[1:-1] - 1] = 1  # from the last of a row to the first of the next
    assert steps.min() >= 1
    assert X.data.min() > 0
    norms = np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1])
    np.testing.assert_allclose(norms, 1, atol=1e-5)


def test_shape_is_that_of_rcv1(news):
    X, y = news
    assert X.nnz / X.shape[0] == pytest.approx(77.7, rel=0.1)
    assert np.mean(y > 0) == pytest.approx(0.45, abs=0.03)
    shares = np.sort(np.bincount(X.indices))[::-1] / X.shape[0]
    # the real shares of documents with the 10th, 100th and 1000th most frequent feature
    np.testing.assert_allclose(shares[[9, 99, 999]], [0.255, 0.115, 0.0164], rtol=0.35)


def test_classes_can_be_told_apart_but_not_perfectly(news):
    X, y = news
    train, test = slice(0, 5_000), slice(5_000, 6_000)
    centre = X[train].T @ (y[train] / np.where(y[train] > 0, np.sum(y > 0), np.sum(y < 0)))
    accuracy = np.mean(np.sign(X[test] @ centre) == y[test])
    assert 0.8 < accuracy < 0.99


def test_same_seed_same_bits(news):
    X, y = make_news(6_000)
    assert same(X, news[0])
    assert np.array_equal(y, news[1])


def test_seeds_differ(news):
    X, _ = make_news(6_000, seed=1)
    assert not same(X, news[0])


@pytest.mark.parametrize("rows", [1, BLOCK, BLOCK + 1])
def test_fewer_rows_are_the_first_of_more(news, rows):
    X, y = make_news(rows)
    assert same(X, news[0][:rows])
    assert np.array_equal(y, news[1][:rows])


def test_rows_are_alike_wherever_they_stand(news):
    X, y = news
    sizes = np.diff(X.indptr)
    for part in (slice(0, 3_000), slice(3_000, 6_000)):
        assert sizes[part].mean() == pytest.approx(sizes.mean(), rel=0.05)
        assert np.mean(y[part] > 0) == pytest.approx(np.mean(y > 0), abs=0.03)


def test_fewer_features():
    X, _ = make_news(500, 1_000)
    assert X.shape == (500, 1_000)
    assert np.diff(X.indptr).min() >= 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("n_rows", {"n_rows": 0}),
        ("n_features", {"n_features": 999}),
        ("seed", {"seed": -1}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=f"^{name} must"):
        make_news(**arguments)
