"""Every format to every other, and back to the same bits."""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pegasos.data import Data, DataError, Options, read
from pegasos.data.cache_writer import write_cache
from pegasos.data.convert import convert, write_npz

pytest.importorskip("pyarrow")

TABLES = ("a.csv", "a.tsv.gz", "a.csv.zst", "a.parquet", "a.feather", "a.npy")
SPARSE = ("a.npz", "a.cache")
if (Path(__file__).parents[2] / "src/pegasos/data/svmlight.py").exists():
    SPARSE += ("a.svm", "a.svm.gz")


def toy(seed=0, dense=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 8))
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)).astype(dtype)
    X[0, d - 1] = 1.0  # the last feature occurs, so that its number is known in every format
    y = rng.integers(-2, 2, n)
    return Data(X if dense else sparse.csr_array(X), y)


def same(found, expected):
    plain = [X.toarray() if sparse.issparse(X) else np.asarray(X) for X in (found.X, expected.X)]
    assert plain[0].dtype == plain[1].dtype
    np.testing.assert_array_equal(*plain)
    assert found.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize(("one", "other"), list(product(TABLES + SPARSE, repeat=2)))
def test_every_pair(tmp_path, one, other):
    data = toy(len(one) * 31 + len(other))
    write_npz(data, tmp_path / "start.npz")
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    convert(tmp_path / "start.npz", tmp_path / "one" / one)
    told = convert(tmp_path / "one" / one, tmp_path / "other" / other)
    found = read(tmp_path / "other" / other)
    same(found, data)
    assert (told.rows, told.features) == data.X.shape
    assert told.values in (data.X.nnz, data.X.shape[0] * data.X.shape[1])
    assert [file.name for file in (tmp_path / "other").iterdir()] == [other]


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(TABLES + SPARSE), st.booleans())
def test_values_to_the_bit(tmp_path_factory, seed, name, dense):
    folder = tmp_path_factory.mktemp("convert")
    dtype = np.float32 if seed % 2 else np.float64
    data = toy(seed, dense, dtype)
    write_npz(data, folder / "start.npz")
    convert(folder / "start.npz", folder / name)
    convert(folder / name, folder / "end.npz", Options(dtype=dtype))
    same(read(folder / "end.npz", dtype=dtype), data)


def test_names_weights_and_string_labels_go_along(tmp_path):
    data = toy(1, dense=True)
    n, d = data.X.shape
    names = tuple(f"the {at}th, feature" for at in range(d))
    y = np.array(["a", 'b "c", d', "1.0"])[np.arange(n) % 3]
    write_npz(Data(data.X, y, np.arange(n) / 2, feature_names=names), tmp_path / "a.npz")
    for name in ("a.csv", "a.parquet", "a.feather", "a.cache"):
        convert(tmp_path / "a.npz", tmp_path / name)
        weight = {} if name == "a.cache" else {"weight": "weight"}
        found = read(tmp_path / name, **weight)
        assert found.y.tolist() == y.tolist()
        assert found.feature_names == names
        assert found.sample_weight.tolist() == (np.arange(n) / 2).tolist()


def test_what_has_no_place_is_an_error_that_says_where_it_has(tmp_path):
    data, n = toy(2), toy(2).n
    indicator = sparse.csr_array((np.arange(n) % 2)[:, None])
    cases = [
        (Data(data.X, indicator), "a.csv", "several labels: write svmlight, npz or a cache"),
        (Data(data.X, data.y, qid=data.y), "a.parquet", "no place for qid"),
        (Data(data.X, data.y, np.ones(n)), "a.npy", "npy has no place for weights"),
        (Data(data.X, data.y, np.ones(n)), "a.svm", "svmlight has no place for weights"),
        (Data(data.X, data.y.astype(str)), "a.npy", "labels that are numbers"),
        (Data(data.X), "a.npy", "labels that are numbers"),
        (
            Data(data.X, data.y, feature_names=("Label", *"bcdefgh")[: data.X.shape[1]]),
            "a.csv",
            "a feature is called 'label'",
        ),
    ]
    for start, name, message in cases:
        write_npz(start, tmp_path / "start.npz")
        with pytest.raises(DataError, match=message) as caught:
            convert(tmp_path / "start.npz", tmp_path / name)
        assert caught.value.path == str(tmp_path / name)
        assert [file.name for file in tmp_path.iterdir()] == ["start.npz"]


def test_indicators_between_formats_that_hold_them(tmp_path):
    data = toy(3)
    y = sparse.csr_array(data.y[:, None] == [-2, -1, 0, 1], dtype=np.int64)
    start = Data(data.X, y, label_names=np.array([2.0, 4, 6, 8]))
    write_npz(start, tmp_path / "a.npz")
    convert(tmp_path / "a.npz", tmp_path / "a.cache")
    convert(tmp_path / "a.cache", tmp_path / "b.npz")
    found = read(tmp_path / "b.npz")
    np.testing.assert_array_equal(found.y.toarray(), y.toarray())
    assert found.label_names.tolist() == [2, 4, 6, 8]


def test_nothing_is_overwritten_unasked(tmp_path):
    write_npz(toy(1), tmp_path / "a.npz")
    for name in ("b.csv", "b.cache"):
        convert(tmp_path / "a.npz", tmp_path / name)
        with pytest.raises(FileExistsError, match="overwrite"):
            convert(tmp_path / "a.npz", tmp_path / name)
        write_npz(toy(2), tmp_path / "a.npz")
        convert(tmp_path / "a.npz", tmp_path / name, overwrite=True)
        same(read(tmp_path / name), toy(2))
        write_npz(toy(1), tmp_path / "a.npz")
    with pytest.raises(ValueError, match="onto itself"):
        convert(tmp_path / "a.npz", tmp_path / "a.npz", overwrite=True)
    with pytest.raises(ValueError, match="text"):
        convert(tmp_path / "b.csv", tmp_path / "c.csv", Options(text=1))


def test_a_bad_source_leaves_no_target_and_is_the_one_named(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\n1,2\n1,x\n")
    for name in ("b.npz", "b.parquet", "b.cache", "b.npy"):
        with pytest.raises(DataError, match=r"a.csv:3:2: ") as caught:
            convert(tmp_path / "a.csv", tmp_path / name)
        assert caught.value.path == str(tmp_path / "a.csv")
        assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_lines_that_were_skipped_are_reported(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\n1,2\n1,x\n")
    told = convert(tmp_path / "a.csv", tmp_path / "a.cache", Options(skip_bad_lines=True))
    assert (told.rows, told.bad_count, told.bad_lines[0].line) == (1, 1, 3)
    assert any("label" in note for note in told.notes)


class Standin:
    """What convert asks of the module for svmlight."""

    def __init__(self, parts):
        self.parts, self.written = parts, []

    def blocks(self, _path, _options):
        return iter(self.parts)

    def write_blocks(self, blocks, path):
        Path(path).write_text("x")
        self.written += blocks


def test_svmlight_is_counted_before_it_becomes_a_table_and_written_by_blocks(tmp_path, monkeypatch):
    """Its blocks have the features met so far."""
    import sys

    parts = [
        Data(sparse.csr_array([[1.0, 0]]), np.array([1])),
        Data(sparse.csr_array([[0, 2.0, 3.0]]), np.array([-1])),
    ]
    standin = Standin(parts)
    monkeypatch.setitem(sys.modules, "pegasos.data.svmlight", standin)
    for name in ("a.csv", "a.parquet", "a.npy", "a.cache"):
        told = convert(tmp_path / "a.svm", tmp_path / name)
        assert told.features == 3
        found = read(tmp_path / name).X
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, [[1, 0, 0], [0, 2, 3]])
    convert(tmp_path / "a.csv", tmp_path / "b.svm")
    assert sum(data.n for data in standin.written) == 2


@pytest.mark.slow
@pytest.mark.skipif("PEGASOS_DATA" not in os.environ, reason="PEGASOS_DATA is not set")
def test_covtype_through_a_cache(tmp_path):
    path = Path(os.environ["PEGASOS_DATA"]) / "covtype.csv.gz"
    told = convert(path, tmp_path / "a.cache", Options(label=-1))
    assert (told.rows, told.features) == (581_012, 54)
    data, found = read(path, label=-1), read(tmp_path / "a.cache")
    np.testing.assert_array_equal(found.X, data.X)
    np.testing.assert_array_equal(found.y, data.y)


def test_a_cache_made_in_memory_is_read_like_any_other(tmp_path):
    write_cache([toy(4)], tmp_path / "a.cache")
    same(read(tmp_path / "a.cache"), toy(4))
