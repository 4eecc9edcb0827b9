"""npz and npy: checked before use, never unpickled."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pegasos.data import Data, DataError, blocks, read
from pegasos.data.convert import write_npz
from pegasos.data.csr import check_csr
from pegasos.data.dataset import VALUES

CSR = sparse.random_array((20, 7), density=0.3, format="csr", rng=np.random.default_rng(0))
CSR.sort_indices()
Y = np.arange(20) % 3
PARTS = {
    "data": CSR.data,
    "indices": CSR.indices,
    "indptr": CSR.indptr,
    "shape": np.array(CSR.shape),
    "y": Y,
}


def equal(found, expected):
    assert sparse.issparse(found) == sparse.issparse(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if sparse.issparse(found):
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    else:
        np.testing.assert_array_equal(found, expected)


def test_what_scipy_saves(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", CSR)
    data = read(tmp_path / "a.npz")
    equal(data.X, CSR)
    assert data.y is None
    with pytest.raises(DataError, match="no labels"):
        read(tmp_path / "a.npz", labels=True)
    sparse.save_npz(tmp_path / "a.npz", CSR.tocsc())
    with pytest.raises(DataError, match=r"the sparse format is b'csc': save X.tocsr\(\)"):
        read(tmp_path / "a.npz")


def test_bare_arrays_and_what_is_not_used(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", **PARTS, names=np.array(["a", "b"]))
    data = read(tmp_path / "a.npz", features=9)
    assert data.X.shape == (20, 9)
    np.testing.assert_array_equal(data.X.toarray()[:, :7], CSR.toarray())
    assert data.y.tolist() == Y.tolist()
    assert data.notes == ("not used: names",)


@pytest.mark.parametrize("y", [Y, Y + 0.5, Y.astype(str)])
def test_dense(tmp_path, y):
    X = CSR.toarray().astype(np.float32)
    np.savez(tmp_path / "a.npz", X=X, y=y, sample_weight=np.ones(20), qid=Y)
    data = read(tmp_path / "a.npz")
    equal(data.X, X)
    assert data.y.tolist() == y.tolist()
    assert data.qid.tolist() == Y.tolist()
    assert data.sample_weight.dtype == np.float64


def changed(name, place, value):
    array = PARTS[name].copy()
    array[place] = value
    return {**PARTS, name: array}


BAD = [
    (changed("indptr", 3, 10_000), "indptr decreases after row 3"),
    (changed("indptr", 0, 1), "indptr must go from 0"),
    (changed("indptr", -1, 3), "indptr must go from 0 to the"),
    (changed("indices", 0, 7), "index 7 in row 0 is outside 0..7 - 1"),
    (changed("indices", 0, -1), "index -1 in row 0"),
    (changed("indices", slice(None), 2), "indices of row . do not increase"),
    (changed("data", 4, np.nan), "value nan in row . is not finite"),
    (changed("data", 4, -np.inf), "value -inf in row"),
    (changed("shape", 0, 21), "indptr must have 22 entries"),
    (changed("shape", 1, -1), "shape must be two whole numbers"),
    ({**PARTS, "data": CSR.data[:-1]}, "values for"),
    ({**PARTS, "data": CSR.data.astype(complex)}, "data must hold real numbers"),
    ({**PARTS, "indices": CSR.indices + 0.5}, "indices must be one row of whole numbers"),
    ({**PARTS, "y": Y[:-1]}, r"y has the shape \(19,\) for 20 rows"),
    ({**PARTS, "y": Y.astype(str)[:-1]}, r"y has the shape \(19,\) for 20 rows"),
    ({**PARTS, "y": np.array([None] * 20)}, "holds Python objects, which are not read"),
    ({**PARTS, "y": np.where(Y == 1, np.nan, 1)}, "y holds values that are not finite"),
    ({**PARTS, "sample_weight": -np.ones(20)}, "negative weights"),
    ({**PARTS, "feature_names": np.array(["a"])}, "feature_names must be 7 strings"),
    ({"data": CSR.data, "y": Y}, "holds neither X nor"),
    # These raised KeyError.
    ({"X": CSR.toarray(), "indptr": CSR.indptr}, "indptr, .* but not data, indices, shape"),
    ({"X": Y}, r"X must be two-dimensional .*got \(20,\)"),
    ({"X": np.array([["a"]])}, "X must hold real numbers"),
    ({"X": np.array([[1.0, np.inf]])}, "value inf in row 0"),
    ({**PARTS, "y_indptr": Y}, "need y_indices and the numbers label_names"),
]


@pytest.mark.parametrize(("arrays", "message"), BAD, ids=[message for _, message in BAD])
def test_arrays_that_do_not_fit_are_named(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", allow_pickle=True, **arrays)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("seed", range(4))
def test_a_row_may_begin_below_the_end_of_the_row_before(seed):
    at = 1 << 20  # values that are checked together
    sizes = np.random.default_rng(seed).integers(0, 5, at // 2 + 10_000)
    indptr = np.append(0, np.cumsum(sizes))
    indices = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
    values = np.ones(indices.size)
    check_csr("a", values, indices, indptr, 4)
    for place in (at - 1, at, at + 1):
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        if indptr[row] < place:
            kept, indices[place] = indices[place], indices[place - 1]
            with pytest.raises(DataError, match=f"indices of row {row} do not increase"):
                check_csr("a", values, indices, indptr, 4)
            indices[place] = kept


def test_npz_damaged_or_truncated(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(Data(CSR, Y), path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for size in range(0, len(whole), 11):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError):
            read(path)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            data = read(path)
        except DataError:
            continue
        # What no checksum of the zip format covers: times, attributes, and the names of arrays.
        equal(data.X, CSR)
        assert data.y is None or data.y.tolist() == Y.tolist()


def test_npz_headers_that_ask_for_more_than_there_is_allocate_nothing(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.zeros((2, 3)))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"(2, 3)", b"(2**60)")[: len(raw)])
    with pytest.raises(DataError):
        read(path)
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    raw = (tmp_path / "a.npy").read_bytes()
    huge = raw.replace(b"(2, 3), }       ", b"(2, 10**12), }  ".replace(b"10**12", b"999999999999"))
    (tmp_path / "a.npy").write_bytes(huge)
    with pytest.raises(DataError, match=r"bytes, while its header asks for|no header"):
        read(tmp_path / "a.npy")


@given(st.integers(0, 2**32 - 1), st.sampled_from(["f4", "f8", "i1", "u1", "i8", ">f8", "?"]))
def test_npz_round_trip(tmp_path_factory, seed, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rng.integers(1, 9), rng.integers(1, 9))) * 20).astype(dtype)
    X = X if rng.random() < 0.5 or not X.dtype.isnative else sparse.csr_array(X)
    y = rng.integers(0, 3, X.shape[0])
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    names = tuple(f"é{at}" for at in range(X.shape[1]))
    write_npz(Data(X, y, rng.random(len(y)), y, names), path)
    found = read(path)
    equal(found.X, X.astype(X.dtype.newbyteorder("=")))
    assert found.y.tolist() == y.tolist()
    assert found.feature_names == names
    if sparse.issparse(X):
        equal(sparse.load_npz(path), X)


def test_npz_with_several_labels(tmp_path):
    y = sparse.csr_array((Y[:, None] == [0, 1, 2]).astype(np.int64))
    write_npz(Data(CSR, y, label_names=np.array([10.0, 20, 30])), tmp_path / "a.npz")
    found = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.y.toarray(), y.toarray())
    assert found.label_names.tolist() == [10, 20, 30]


def test_npy_is_mapped_and_its_first_column_the_label(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "a.npy", X)
    data = read(tmp_path / "a.npy")
    np.testing.assert_array_equal(data.X, X[:, 1:])
    assert data.y.tolist() == [0, 3, 6, 9]
    assert data.y.dtype == np.int64
    assert not data.X.flags.owndata
    assert "the label is column 0" in data.notes[0]
    assert read(tmp_path / "a.npy", label=-1).y.tolist() == [2, 5, 8, 11]
    assert read(tmp_path / "a.npy", label=1, weight=0).X.tolist() == X[:, 2:].tolist()
    np.testing.assert_array_equal(read(tmp_path / "a.npy", labels=False).X, X)
    np.testing.assert_array_equal(read(tmp_path / "a.npy", features=3).X, X)
    assert read(tmp_path / "a.npy", dtype=np.float32).X.dtype == np.float32


def test_npy_with_labels_beside_it(tmp_path):
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    np.save(tmp_path / "a.npy", np.asfortranarray(X))
    np.save(tmp_path / "a.y.npy", np.array(["u", "v"] * 2))
    data = read(tmp_path / "a.npy")
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.uint8
    assert data.y.tolist() == ["u", "v"] * 2
    assert data.notes == ("labels are from a.y.npy",)


def test_npy_truncated_anywhere(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError):
            read(path)
    np.save(path, np.array([[None]]), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        read(path)


def test_blocks_are_slices(tmp_path):
    times = 3 * VALUES // (2 * CSR.nnz)
    X, y = sparse.kron(np.ones((times, 1)), CSR, format="csr"), np.tile(Y, times)
    write_npz(Data(X, y), tmp_path / "a.npz")
    parts = list(blocks(tmp_path / "a.npz"))
    assert max(part.X.nnz for part in parts) < 1.01 * VALUES
    equal(sparse.vstack([part.X for part in parts], format="csr"), X)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)


@pytest.mark.skipif("PEGASOS_DATA" not in os.environ, reason="PEGASOS_DATA is not set")
def test_newsgroups():
    data = read(Path(os.environ["PEGASOS_DATA"]) / "20news_bydate_tfidf_train.npz")
    assert data.X.shape == (11_314, 130_107)
    assert np.unique(data.y).size == 20
    assert data.notes == ("not used: names",)
