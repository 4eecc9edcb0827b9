"""Chunks: rows of files in any order, and rows that come only once."""

import gzip

import numpy as np
import pytest
from scipy import sparse

import pegasos
from pegasos.data.cache import Cache
from pegasos.data.cache_writer import write_cache
from pegasos.data.chunks import ArrayChunks, CacheChunks, open_chunks, spill
from pegasos.data.dataset import Data, DataError
from pegasos.data.svmlight import write_svmlight


def rows(n=1000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.3, "csr", random_state=seed)
    return X, rng.integers(0, 3, n), rng.uniform(0.5, 2, n)


def together(chunks):
    parts = [chunks.read(number) for number in reversed(range(chunks.n_blocks))][::-1]
    X = [part.X.scipy() if hasattr(part.X, "scipy") else part.X for part in parts]
    join = sparse.vstack if sparse.issparse(X[0]) else np.concatenate
    weights = [part.sample_weight for part in parts]
    return (
        join(X),
        np.concatenate([part.y for part in parts]),
        None if weights[0] is None else np.concatenate(weights),
    )


@pytest.mark.parametrize("dense", [False, True])
def test_a_cache_in_any_order(tmp_path, dense):
    X, y, weight = rows()
    X = X.toarray() if dense else X
    write_cache([Data(X[:300], y[:300], weight[:300]), Data(X[300:], y[300:], weight[300:])],
                tmp_path / "c")  # fmt: skip
    chunks = CacheChunks(tmp_path / "c", block_bytes=12_000)
    assert chunks.n_blocks > 3
    assert all(chunks.read(k).X.shape[0] == chunks.read(0).X.shape[0]
               for k in range(chunks.n_blocks - 1))  # fmt: skip
    for number in (2, 0):
        chunks.expect(number)
    found = together(chunks)
    assert (found[0] != X).sum() == 0
    np.testing.assert_array_equal(found[1], y)
    np.testing.assert_array_equal(found[2], weight)


def test_damage_is_found_in_the_block_that_is_read(tmp_path):
    X, y, _ = rows(20_000)
    write_cache([Data(X[k : k + 5000], y[k : k + 5000]) for k in range(0, 20_000, 5000)],
                tmp_path / "c")  # fmt: skip
    with open(tmp_path / "c" / "values.npy", "r+b") as file:
        file.seek(-8, 2)
        file.write(b"\0" * 8)
    chunks = CacheChunks(Cache(tmp_path / "c"), block_bytes=1 << 18)
    chunks.read(0)
    with pytest.raises(DataError, match="checksum of block 3"):
        chunks.read(chunks.n_blocks - 1)


def test_npy_and_parquet_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y, _ = rows()
    table = np.column_stack([y, X.toarray()])
    np.save(tmp_path / "rows.npy", table)
    found = together(open_chunks(tmp_path / "rows.npy", block_bytes=40_000))
    np.testing.assert_array_equal(found[0], X.toarray())
    np.testing.assert_array_equal(found[1], y)
    for name, part in (("one", table[:600]), ("two", table[600:])):
        columns = {"label": part[:, 0].astype(int)} | {
            f"f{k}": part[:, k] for k in range(1, part.shape[1])
        }
        parquet.write_table(
            pyarrow.table(columns), tmp_path / f"{name}.parquet", row_group_size=250
        )
    for paths in ([tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path):
        chunks = open_chunks(paths)
        assert chunks.n_blocks == 5
        found = together(chunks)
        np.testing.assert_array_equal(found[0], X.toarray())
        np.testing.assert_array_equal(found[1], y)


@pytest.mark.parametrize("block_bytes", [1, 50, 3000, None])
@pytest.mark.parametrize("end", ["\n", ""])
def test_svmlight_text_in_any_order(tmp_path, block_bytes, end):
    X, y, _ = rows(200)
    X = sparse.hstack([X, np.ones((200, 1))], "csr")  # all blocks are as wide
    path = tmp_path / "rows"
    write_svmlight(X, y, path)
    text = path.read_text().splitlines()
    path.write_text("\n".join(["# a comment", *text[:70], "", *text[70:]]) + end)
    chunks = open_chunks(path, block_bytes=block_bytes)
    parts = [chunks.read(number) for number in range(chunks.n_blocks)]
    if block_bytes == 1:
        assert chunks.n_blocks == 202
        assert min(part.n for part in parts) == 0
    found = together(chunks) if block_bytes != 1 else None
    if found is not None:
        assert (found[0] != X).nnz == 0
        np.testing.assert_array_equal(found[1], y)
    options = {"C": 0.1, "seed": 0, "solver": "interior", "tol": 1e-8}
    ours = pegasos.solve(chunks, y == 1, **options)
    np.testing.assert_allclose(ours.w, pegasos.solve(X, y == 1, **options).w, atol=1e-6)


def test_svmlight_text_is_checked_as_it_is_read(tmp_path):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n" * 1000 + "1 1:x\n" + "1 1:1\n" * 10)
    chunks = open_chunks(path, block_bytes=500)
    assert chunks.read(0).n > 50
    with pytest.raises(DataError, match="rows:1001:"):
        together(chunks)
    path.write_text("1 0:1\n0 1:1\n" * 40)
    assert together(open_chunks(path, zero_based="auto", block_bytes=60))[0].shape == (80, 2)
    with pytest.raises(DataError, match="index 0"):
        together(open_chunks(path, block_bytes=60))
    path.write_text("")
    with pytest.raises(DataError, match="no rows"):
        open_chunks(path)
    with gzip.open(tmp_path / "rows.gz", "wt") as file:
        file.write("1 1:1\n")
    with pytest.raises(DataError, match="unpack it, or convert it"):
        open_chunks(tmp_path / "rows.gz")


def test_what_cannot_be_read_in_any_order_says_so(tmp_path):
    (tmp_path / "rows.csv").write_text("1,1\n")
    with pytest.raises(ValueError, match="convert them to a cache"):
        open_chunks(tmp_path / "rows.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no Parquet files"):
        open_chunks(tmp_path / "empty")
    with pytest.raises(ValueError, match="no files"):
        open_chunks([])


def test_rows_that_come_only_once_are_spilled(tmp_path):
    X, y, weight = rows()

    def parts():
        for k in range(0, 1000, 300):
            yield X[k : k + 300], y[k : k + 300], weight[k : k + 300]

    found = together(spill(parts(), tmp_path / "c"))
    assert (found[0] != X).sum() == 0
    np.testing.assert_array_equal(found[2], weight)
    with pytest.raises(FileExistsError):
        spill(parts(), tmp_path / "c")
    with pytest.raises(ValueError, match="part 0 must be"):
        spill([X], tmp_path / "d")
    with pytest.raises(ValueError, match="part 1: X has"):
        spill([(X, y), (X, y[:3])], tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_arrays_are_chunks_too():
    X, y, _ = rows()
    chunks = ArrayChunks(X, y, block_bytes=20_000)
    assert chunks.n_blocks > 2
    assert (together(chunks)[0] != X).sum() == 0
