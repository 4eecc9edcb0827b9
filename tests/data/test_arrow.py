"""Parquet, Feather and Arrow files: columns as in CSV, batch by batch."""

import contextlib
import sys

import numpy as np
import pytest

from pegasos.data import DataError, blocks, read
from pegasos.data.arrow import need_pyarrow

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
N = 3000
COLUMNS = {
    "a": RNG.normal(size=N),
    "b": RNG.normal(size=N).astype(np.float32),
    "c": RNG.integers(0, 100, N),
    "d": RNG.integers(0, 2, N).astype(bool),
    "target": RNG.choice(["spam", "ham"], N),
    "w": RNG.random(N),
    "body": RNG.choice(["some text", "", "é"], N),
}
X = np.column_stack([COLUMNS[name] for name in "abcd"])


@pytest.fixture(params=["a.parquet", "a.feather", "a.arrow", "stream.arrow"])
def put(request, tmp_path):
    def put(columns):
        path, table = tmp_path / request.param, pa.table(columns)
        if path.suffix == ".parquet":
            parquet.write_table(table, path, row_group_size=1000)
        elif path.suffix == ".feather":
            feather.write_feather(table, path, chunksize=700)
        else:
            new = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
            with new(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=700)
        return path

    return put


def test_columns_are_what_they_are_called(put):
    without_text = {name: column for name, column in COLUMNS.items() if name != "body"}
    path = put(without_text)
    data = read(path, weight="w")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == COLUMNS["target"].tolist()
    np.testing.assert_array_equal(data.sample_weight, COLUMNS["w"])
    assert data.feature_names == ("a", "b", "c", "d")
    assert read(path, weight="w", dtype=np.float32).X.dtype == np.float32
    parts = list(blocks(path, weight=-1))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)


def test_blocks_are_small(put, monkeypatch):
    monkeypatch.setattr("pegasos.data.arrow.VALUES", 500)
    path = put({"y": np.arange(N), "x": np.arange(N)})
    parts = list(blocks(path))
    assert max(part.n for part in parts) <= 250
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), np.arange(N))
    assert parts[0].y.dtype == np.int64


def test_text(put):
    data = read(put(COLUMNS), text="body")
    assert data.X is None
    assert data.text == COLUMNS["body"].tolist()
    assert data.y.tolist() == COLUMNS["target"].tolist()
    assert "not used: a, b, c, d, w" in data.notes[-1]


def test_categories_are_labels_but_no_features(put):
    column = pa.array(["u", "v"] * 5).dictionary_encode()
    assert read(put({"y": column, "x": np.ones(10)})).y.tolist() == ["u", "v"] * 5
    with pytest.raises(DataError, match=r"field 2 \('x'\) is of type dictionary.*one-hot"):
        read(put({"y": np.ones(10), "x": column}))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["red"] * 9, r"field 2 \('x'\) is of type string, not a number: one-hot encode"),
        ([1.0] * 7 + [None, 1.0], r"field 2 \('x'\): the value in row 7 is missing"),
        ([1.0] * 7 + [np.nan, 1.0], "nan in row 7 is not finite"),
        ([1.0] * 7 + [-np.inf, 1.0], "-inf in row 7 is not finite"),
    ],
)
def test_bad_columns_are_named(put, column, message):
    with pytest.raises(DataError, match=message):
        read(put({"y": np.ones(9), "x": pa.array(column)}))


def test_labels_and_weights_are_checked_too(put):
    with pytest.raises(DataError, match=r"\('y'\): the value in row 1 is missing"):
        read(put({"y": pa.array(["a", None]), "x": np.ones(2)}))
    with pytest.raises(DataError, match="negative weights"):
        read(put({"y": np.ones(2), "x": np.ones(2), "w": -np.ones(2)}), weight="w")
    with pytest.raises(DataError, match=r"of type timestamp.*, no label"):
        read(put({"y": np.array(["2020-01-01"], "M8[ms]"), "x": np.ones(1)}))
    with pytest.raises(DataError, match="is of type double, not text"):
        read(put({"y": np.ones(2), "x": np.ones(2)}), text="x")
    with pytest.raises(DataError, match="too large for float32"):
        read(put({"y": np.ones(2), "x": np.full(2, 1e39)}), dtype=np.float32)
    with pytest.raises(DataError, match="no rows"):
        read(put({"y": np.ones(0), "x": np.ones(0)}))


def test_truncated_files_are_errors(put):
    path = put({"y": np.ones(50), "x": np.arange(50.0)})
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        try:
            found = read(path)
        except DataError:
            continue
        # A stream has no end of its own: batches before the cut are all there is to see.
        assert path.stem == "stream"
        assert found.n == 50


def test_damaged_files_give_an_error_or_rows(put):
    """The format has no checksum that covers everything: only errors of other kinds are wrong."""
    path = put({"y": np.ones(20), "x": np.arange(20.0)})
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):
            read(path)


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'pegasos\[arrow\]'"):
        need_pyarrow()
