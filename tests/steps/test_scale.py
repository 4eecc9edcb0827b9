"""Scaling: as scikit-learn's scalers, on rows that stay as they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from pegasos.data import Data
from pegasos.steps import restore
from pegasos.steps.moments import Moments
from pegasos.steps.scale import METHODS, ScaleStep

PEERS = {
    "maxabs": lambda _: MaxAbsScaler(),
    "minmax": lambda _: MinMaxScaler(),
    "standard": lambda dense: StandardScaler(with_mean=dense),
}


def rows(seed, dense, positive=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) * 10.0 ** rng.integers(-3, 4, 6) + rng.normal(size=6)
    X[rng.random(X.shape) < 0.5] = 0
    X[0], X[:, 2], X[:, 4] = 0, 0, 3.5  # a row without features, two constants
    X = np.abs(X) if positive else X
    return X if dense else sparse.csr_array(X)


def plain(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("method", PEERS)
def test_equal_to_the_peer(method, dense, seed):
    if method == "minmax" and not dense:
        return  # the peer refuses sparse rows; see below
    X = rows(seed, dense)
    before = plain(X).copy()
    found = ScaleStep.fit(method, X).transform(X)
    assert sparse.issparse(found) != dense
    expected = plain(PEERS[method](dense).fit_transform(X.copy()))
    np.testing.assert_allclose(plain(found), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(plain(X), before)


def test_minmax_of_sparse_rows_takes_zero_for_the_least():
    X = rows(0, False, positive=True)
    found = ScaleStep.fit("minmax", X).transform(X)
    np.testing.assert_allclose(plain(found), MaxAbsScaler().fit_transform(plain(X)), rtol=1e-15)
    with pytest.raises(ValueError, match=r"would fill up sparse rows: feature \d goes down to -"):
        ScaleStep.fit("minmax", rows(0, False))
    X = sparse.csr_array([[1.0, -2.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="feature 1 goes down to -2; use maxabs, or make X dense"):
        ScaleStep.fit("minmax", X)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_blocks_add_up_to_the_whole(seed, dense):
    X = rows(seed, dense)
    cut = np.sort(np.random.default_rng(seed).integers(0, 31, 2)).tolist()
    parts = [Moments.of(X[lo:hi]) for lo, hi in zip([0, *cut], [*cut, 30], strict=True)]
    merged = parts[0].merged(parts[1]).merged(parts[2])
    whole = plain(X)
    np.testing.assert_allclose(merged.mean, whole.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(merged.deviation(), whole.std(axis=0), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(merged.least, whole.min(axis=0))
    np.testing.assert_array_equal(merged.most, whole.max(axis=0))


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(METHODS), st.booleans())
def test_folded_weights_give_the_same_scores(seed, dense, method, sparse_coef):
    rng = np.random.default_rng(seed)
    X = rows(seed, dense, positive=method == "minmax")
    step = ScaleStep.fit(method, X)
    coef, intercept = rng.normal(size=(3, 6)), rng.normal(size=3)
    expected = plain(step.transform(X)) @ coef.T + intercept
    given_coef = sparse.csr_array(coef) if sparse_coef else coef
    folded, moved = step.fold(given_coef, intercept)
    assert sparse.issparse(folded) == sparse_coef
    found = plain(X) @ plain(folded).T + moved
    size = np.abs(plain(X)) @ np.abs(plain(folded)).T + np.abs(moved)
    np.testing.assert_allclose(found, expected, atol=1e-12 * size.max())
    np.testing.assert_array_equal(plain(given_coef), coef)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_types_are_kept_and_rows_not_written_to(method, dense, dtype):
    X = np.array([[1, 0, 5], [0, 2, 5], [3, 0, 5]], dtype)
    X = X if dense else sparse.csr_array(X)
    (X if dense else X.data).flags.writeable = False
    found = ScaleStep.fit(method, X).apply(Data(X)).X
    floats = dtype in (np.float32, np.float64)
    assert found.dtype == (dtype if floats or method == "none" else np.float64)
    if not dense:
        assert found.indices is X.indices or np.shares_memory(found.indices, X.indices)
    if method == "none":
        assert found is X


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_restored_it_scales_to_the_same_bits(method, dense):
    X = rows(3, dense, positive=True)
    step = ScaleStep.fit(method, X)
    again = restore("scale", step.meta(), step.arrays())
    assert plain(again.transform(X)).tobytes() == plain(step.transform(X)).tobytes()


GOOD = {"meta": {"method": "standard", "features": 2}, "arrays": {"scale": np.ones(2)}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"meta": {"method": "standard"}}, "cannot have"),
        ({"meta": {"method": "other", "features": 2}}, "cannot be 'other'"),
        ({"meta": {"method": "standard", "features": "2"}}, "of '2' features"),
        ({"arrays": {}}, "cannot have"),
        ({"arrays": {"scale": np.ones(2), "x": np.ones(2)}}, "cannot have"),
        ({"arrays": {"scale": np.ones(3)}}, "scale of a scale step must be 2 finite float64"),
        ({"arrays": {"scale": np.ones(2, np.float32)}}, "2 finite float64"),
        ({"arrays": {"scale": np.array([1, np.nan])}}, "2 finite"),
        ({"arrays": {"scale": np.array([1.0, 0])}}, "must be positive"),
        ({"arrays": {"scale": np.ones(2), "shift": np.ones(1)}}, "shift of a scale step"),
    ],
)
def test_what_cannot_be_restored_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        restore("scale", **(GOOD | change))


def test_what_cannot_be_scaled_is_named():
    with pytest.raises(ValueError, match="scale must be one of none, maxabs, minmax, standard"):
        ScaleStep.fit("robust", np.ones((2, 2)))
    with pytest.raises(ValueError, match="at least one row"):
        ScaleStep.fit("standard", np.ones((0, 2)))
    step = ScaleStep.fit("standard", rows(0, True))
    with pytest.raises(ValueError, match="learned on 6 features, got 5 features"):
        step.transform(np.ones((2, 5)))
    with pytest.raises(ValueError, match="got text"):
        step.apply(Data(None, text=["a"]))
    with pytest.raises(ValueError, match="learned on dense rows would fill up sparse ones"):
        step.transform(rows(0, False))
    with pytest.raises(ValueError, match="feature 0 is too large to be scaled"):
        ScaleStep.fit("standard", np.array([[1e300], [-1e300]]))
    with pytest.raises(ValueError, match="feature 0 is too large to be scaled"):
        ScaleStep.fit("minmax", np.array([[1.7e308], [-1.7e308]]))
    with pytest.raises(ValueError, match="a step must be one of text, scale, got 'pickle'"):
        restore("pickle", {}, {})


def test_tiny_values_never_give_infinity():
    for dense in (True, False):
        X = np.array([[1e-200, 5e-324], [0, 0], [-1e-200, 0]])
        X = X if dense else sparse.csr_array(X)
        for method in ("maxabs", "standard"):
            assert np.isfinite(plain(ScaleStep.fit(method, X).transform(X))).all()
