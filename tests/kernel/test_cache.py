"""The cache: rows are what they should be, whatever came and went."""

import numpy as np
import pytest

from pegasos import _core
from pegasos.kernel.cache import Cache
from pegasos.kernel.gram import MatrixGram


def check(cache, K):
    here = np.flatnonzero(cache.place >= 0)
    np.testing.assert_array_equal(np.flatnonzero(cache.marks & _core.SMO_HERE), here)
    assert np.unique(cache.place[here]).size == here.size
    np.testing.assert_array_equal(cache.owner[cache.place[here]], here)
    np.testing.assert_allclose(cache.rows[cache.place[here]], K[here], rtol=1e-6)


@pytest.mark.parametrize("places", [4, 7, 40])
def test_rows_are_those_of_the_matrix_whatever_came_and_went(places):
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 40))
    marks = np.zeros(40, dtype=np.uint8)
    gram = MatrixGram(K)
    cache = Cache(gram, marks, places * 40 * 4e-6, np.arange(40))
    for _ in range(30):
        absent = np.flatnonzero(cache.place < 0)
        if absent.size:
            cache.fetch(rng.permutation(absent)[: rng.integers(1, 6)])
        check(cache, K)
    keep = np.sort(rng.permutation(40)[:15])
    marks = marks[keep]
    cache.narrow(keep, gram.take(keep), marks)
    assert (cache.place >= 0).any() or places < 15
    check(cache, K[np.ix_(keep, keep)])
    for _ in range(10):
        absent = np.flatnonzero(cache.place < 0)
        if absent.size:
            cache.fetch(rng.permutation(absent)[: rng.integers(1, 4)])
        check(cache, K[np.ix_(keep, keep)])
    cache.begin(gram, np.full(40, _core.SMO_HERE, dtype=np.uint8), np.arange(40))
    assert not (cache.place >= 0).any()
    cache.fetch(np.array([5, 6]))
    check(cache, K)
