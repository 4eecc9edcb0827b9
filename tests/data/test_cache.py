"""Caches: what comes back is what went in, or an error that says what is damaged."""

import json
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import pegasos.data.cache
from pegasos.data import Data, DataError, blocks, read
from pegasos.data.cache import Cache
from pegasos.data.cache_manifest import parse
from pegasos.data.cache_writer import CacheWriter, write_cache
from pegasos.util.sparse import issparse


def rows(n=9, d=5, seed=0, dtype=np.float32, dense=False):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.5, format="csr", rng=rng).astype(dtype)
    X.sort_indices()
    return X.toarray() if dense else X


def same(found, expected):
    assert issparse(found) == issparse(expected)
    if issparse(found):
        found, expected = found.tocsr(), expected.tocsr()
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    else:
        np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


@pytest.fixture
def cache(tmp_path):
    X, y = rows(), np.arange(9) % 2
    path = tmp_path / "a.cache"
    parts = [Data(X[:4], y[:4], np.ones(4), y[:4]), Data(X[4:], y[4:], np.ones(5), y[4:])]
    write_cache(parts, path)
    return path


@given(st.integers(0, 2**32 - 1))
def test_round_trip(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 9))
    X = rows(n, d, seed, [np.float32, np.float64, np.int8, np.uint8][seed % 4], rng.random() < 0.5)
    kinds = [
        None, rng.integers(-3, 3, n), rng.normal(size=n), rng.choice(["a", "é", "long one"], n),
    ]  # fmt: skip
    y = kinds[rng.integers(4)]
    weight = rng.random(n) if rng.random() < 0.5 else None
    qid = rng.integers(0, 5, n) if rng.random() < 0.5 else None
    names = tuple(f"f{at}" for at in range(d)) if rng.random() < 0.5 else None
    cut = np.sort(rng.integers(0, n + 1, 3)).tolist()
    parts = [
        Data(X[lo:hi], *(None if a is None else a[lo:hi] for a in (y, weight, qid)), names)
        for lo, hi in zip([0, *cut], [*cut, n], strict=True)
    ]
    path = tmp_path_factory.mktemp("cache") / "a.cache"
    write_cache(parts, path)
    found = read(path)
    same(found.X, X)
    for one, other in ((found.y, y), (found.sample_weight, weight), (found.qid, qid)):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype.kind == other.dtype.kind
            np.testing.assert_array_equal(one, other)
    assert found.feature_names == names
    stacked = [block.X for block in blocks(path)]
    assert len(stacked) == len([part for part in parts if part.n])
    same(sparse.vstack(stacked, format="csr") if sparse.issparse(X) else np.vstack(stacked), X)


def test_labels_of_several_kinds_of_numbers(tmp_path):
    parts = [Data(rows(2), np.array([1, 2])), Data(rows(2), np.array([1.5, 2]))]
    write_cache(parts, tmp_path / "a.cache")
    assert read(tmp_path / "a.cache").y.tolist() == [1, 2, 1.5, 2]
    with pytest.raises(DataError, match="labels of kind text after labels of kind int"):
        write_cache([parts[0], Data(rows(2), np.array(["a", "b"]))], tmp_path / "b.cache")
    with pytest.raises(DataError, match=r"whole ones below 2\^53"):
        write_cache([Data(rows(1), np.array([2**53 + 1]))], tmp_path / "b.cache")


def test_indicators_with_labels_of_their_own_in_each_block(tmp_path):
    one = Data(rows(2), sparse.csr_array([[1, 1], [0, 1]]), label_names=np.array([7.0, 3.0]))
    two = Data(rows(2), sparse.csr_array([[1, 0], [0, 0]]), label_names=np.array([5.0, 7.0]))
    write_cache([one, two], tmp_path / "a.cache")
    found = read(tmp_path / "a.cache")
    assert found.label_names.tolist() == [3, 5, 7]
    np.testing.assert_array_equal(found.y.toarray(), [[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    assert found.y.has_sorted_indices
    first = next(blocks(tmp_path / "a.cache"))
    np.testing.assert_array_equal(first.y.toarray(), [[1, 0, 1], [1, 0, 0]])


def test_features_grow_with_the_blocks_and_can_be_declared(tmp_path):
    write_cache([Data(rows(2, 3)), Data(rows(2, 6))], tmp_path / "a.cache")
    assert read(tmp_path / "a.cache").X.shape == (4, 6)
    write_cache([Data(rows(2, 3))], tmp_path / "a.cache", features=50, overwrite=True)
    assert read(tmp_path / "a.cache").X.shape == (2, 50)
    assert read(tmp_path / "a.cache", features=60).X.shape == (2, 60)


def test_arrays_stay_in_their_files(cache):
    """What is read is memory-mapped: no copy of values or indices."""
    X = read(cache).X
    for array in (X.data, X.indices):
        while isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        assert type(array).__name__ == "mmap"


def test_indices_are_widened_where_the_core_needs_it(tmp_path):
    X = rows(20, 5)
    writer = CacheWriter(tmp_path, tmp_path, narrow=25)
    for lo in range(0, 20, 4):
        writer.add(Data(X[lo : lo + 4]))
    writer.finish()
    found = read(tmp_path).X
    assert found.indices.dtype == found.indptr.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), X.toarray())


def test_unsorted_rows_are_sorted_and_bad_ones_refused(tmp_path):
    X = sparse.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 0]), np.array([0, 3])), (1, 3))
    write_cache([Data(X)], tmp_path / "a.cache")
    assert read(tmp_path / "a.cache").X.toarray().tolist() == [[5, 0, 1]]
    with pytest.raises(DataError, match="not finite"):
        write_cache([Data(np.array([[1.0, np.nan]]))], tmp_path / "b.cache")
    for bad, message in (
        ([], "no rows"),
        ([Data(rows(3)), Data(rows(3, dense=True))], "all rows must be sparse, or dense"),
        ([Data(rows(3), np.ones(3)), Data(rows(3))], "the same arrays"),
        ([Data(rows(3)), Data(rows(3, dtype=np.float64))], "values of float64 after values of"),
        ([Data(None, text=["a"])], "not text"),
    ):
        with pytest.raises(DataError, match=message):
            write_cache(bad, tmp_path / "b.cache")
    assert [file.name for file in tmp_path.iterdir()] == ["a.cache"]


def test_only_caches_are_overwritten(tmp_path, cache):
    with pytest.raises(FileExistsError, match="already"):
        write_cache([Data(rows())], cache)
    write_cache([Data(rows(3))], cache, overwrite=True)
    assert read(cache).n == 3
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").write_text("x")
    with pytest.raises(FileExistsError, match="not a cache: it is not overwritten"):
        write_cache([Data(rows())], tmp_path / "precious", overwrite=True)
    assert (tmp_path / "precious" / "x").exists()


def everything(path):
    """Read all ways there are."""
    found = Cache(path)
    for number in range(found.n_blocks):
        found.block(number)
    return found.read()


def test_truncated_at_every_byte_of_every_file(cache):
    for file in cache.iterdir():
        whole = file.read_bytes()
        for size in range(len(whole)):
            file.write_bytes(whole[:size])
            with pytest.raises(DataError) as caught:
                everything(cache)
            assert caught.value.path.startswith(str(cache))
        file.write_bytes(whole + b"\0")
        with pytest.raises(DataError):
            everything(cache)
        file.write_bytes(whole)
    everything(cache)


def test_random_damage_is_always_found(cache):
    rng = np.random.default_rng(2_000)
    files = sorted(cache.iterdir())
    whole = {file: file.read_bytes() for file in files}
    for _ in range(2_000):
        file = files[rng.integers(len(files))]
        damaged = bytearray(whole[file])
        kind = rng.integers(4)
        at = int(rng.integers(len(damaged)))
        if kind == 0:
            damaged[at] ^= 1 << rng.integers(8)
        elif kind == 1:
            damaged[at] = rng.integers(256)
        elif kind == 2:
            size = int(rng.integers(1, 20))
            damaged[at : at + size] = rng.bytes(len(damaged[at : at + size]))
        else:
            other = int(rng.integers(len(damaged)))
            damaged[at], damaged[other] = damaged[other], damaged[at]
        if damaged == whole[file]:
            continue
        file.write_bytes(damaged)
        with pytest.raises(DataError):
            everything(cache)
        file.write_bytes(whole[file])
    everything(cache)


def sealed(path, change):
    """A manifest that says something else, with the right checksum."""
    import hashlib

    told = json.loads((path / "manifest.json").read_text())
    del told["sha256"]
    change(told)
    body = json.dumps(told).removesuffix("}")
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body},\n"sha256": "{digest}"}}\n'.encode()


def put(key, value):
    def change(told):
        told[key] = value

    return change


def block_of(number, place, value):
    def change(told):
        told["blocks"][number][place] = value

    return change


def range_of(name, place, value):
    def change(told):
        told["blocks"][0][2][name][place] = value

    return change


def array_of(name, place, value):
    def change(told):
        told["arrays"][name][place] = value

    return change


LIES = [
    (put("version", 2), "has version 2, this package reads 1"),
    (put("version", None), "has version None"),
    (put("format", "other"), "something else"),
    (put("rows", 10), "contradicts"),
    (put("rows", 10**30), "contradicts"),
    (put("rows", -1), "contradicts"),
    (put("rows", True), "contradicts"),
    (put("rows", "9"), "contradicts"),
    (put("features", 0), "contradicts"),
    (put("features", 3), "is outside 0..3 - 1"),
    (put("stored", 5), "contradicts"),
    (put("labels", "codes"), "contradicts"),
    (put("labels", "text"), "contradicts"),
    (put("labels", None), "contradicts"),
    (put("label_names", ["a"]), "contradicts"),
    (put("feature_names", ["a"]), "contradicts"),
    (put("feature_names", 5), "contradicts"),
    (put("feature_names", [1] * 5), "contradicts"),
    (put("arrays", {}), "contradicts"),
    (put("arrays", []), "contradicts"),
    (put("blocks", []), "contradicts"),
    (put("blocks", [[]]), "contradicts"),
    (put("blocks", None), "contradicts"),
    (block_of(0, 0, 1), "contradicts"),
    (block_of(0, 1, 3), "contradicts"),
    (block_of(0, 1, 0), "contradicts"),
    (block_of(1, 2, {}), "contradicts"),
    (range_of("values", 0, 132), "contradicts"),
    (range_of("values", 1, 3), "contradicts"),
    (range_of("values", 1, 10**9), "contradicts"),
    (range_of("values", 2, 0), "checksum of block 0"),
    (array_of("values", 0, "|O"), "contradicts"),
    (array_of("values", 0, "<f8"), "contradicts"),
    (array_of("values", 1, [10**12]), "contradicts"),
    (array_of("values", 1, [3, 3]), "contradicts"),
    (array_of("values", 2, 0), "checksum of the header"),
    (array_of("weights", 1, [8]), "contradicts"),
]


@pytest.mark.parametrize(("change", "message"), LIES)
def test_a_manifest_that_cannot_be_is_an_error_whatever_its_checksum(cache, change, message):
    (cache / "manifest.json").write_bytes(sealed(cache, change))
    with pytest.raises(DataError, match=message):
        everything(cache)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\xff", b"{" * 100_000])
def test_no_manifest_at_all(cache, raw):
    with pytest.raises(DataError, match="checksum of the manifest"):
        parse("x", raw)


def test_what_is_missing_is_named(tmp_path, cache):
    (cache / "indices.npy").unlink()
    with pytest.raises(DataError, match=r"indices.npy: this file of the cache is missing"):
        Cache(cache)
    (cache / "manifest.json").unlink()
    with pytest.raises(DataError, match="never finished"):
        read(cache)
    with pytest.raises(DataError, match="not a folder"):
        read(tmp_path / "none.cache")


def test_contents_are_checked_where_checksums_are_right(tmp_path):
    """A cache of someone else's making: sound files, senseless numbers."""
    for name, array, message in (
        ("values", np.float32([1, np.nan]), "not finite"),
        ("indices", np.int32([3, 1]), "do not increase"),
        ("indices", np.int32([1, 9]), "index 9 in row 0 is outside"),
        ("indices", np.int32([-1, 2]), "index -1 in row 0"),
        ("indptr", np.int64([0, 1]), "does not fit indices"),
        ("indptr", np.int64([1, 2]), "does not begin with 0"),
        ("weights", np.array([-1.0]), "negative"),
        ("labels", np.array([0.5]), "no int"),
    ):
        path = tmp_path / "a.cache"
        X = sparse.csr_array((np.float32([1, 2]), np.int32([1, 3]), np.int32([0, 2])), (1, 4))
        write_cache([Data(X, np.array([1]), np.ones(1))], path, overwrite=True)
        header = (path / f"{name}.npy").read_bytes()[:128]
        (path / f"{name}.npy").write_bytes(header + array.tobytes())
        part = array[1:] if name == "indptr" else array
        crc = pegasos.data.cache.crc(part)
        (path / "manifest.json").write_bytes(sealed(path, range_of(name, 2, crc)))
        with pytest.raises(DataError, match=message):
            everything(path)


def test_blocks_are_checked_when_they_are_touched_and_once(cache, monkeypatch):
    file = cache / "values.npy"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    opened = Cache(cache)
    opened.block(0)
    with pytest.raises(DataError, match=r"values.npy: the checksum of block 1 \(rows 4 to 8\)"):
        opened.block(1)
    monkeypatch.setattr(pegasos.data.cache, "crc", None)  # block 0 is not summed again
    opened.block(0)


def test_threads_may_share_a_cache(tmp_path):
    X = rows(400, 20)
    write_cache([Data(X[lo : lo + 10]) for lo in range(0, 400, 10)], tmp_path / "a.cache")
    opened = Cache(tmp_path / "a.cache")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(opened.block, list(range(40)) * 5))
    for number, part in enumerate(found):
        same(part.X, X[10 * (number % 40) : 10 * (number % 40) + 10])


def test_writing_takes_the_memory_of_a_block(tmp_path):
    X = sparse.random_array((20_000, 500), density=0.1, format="csr", rng=np.random.default_rng(0))
    parts = [X[lo : lo + 1000] for lo in range(0, 20_000, 1000)]
    tracemalloc.start()
    write_cache((Data(part) for part in parts), tmp_path / "a.cache")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * (X.data.nbytes + X.indices.nbytes)


def test_a_failure_on_the_way_leaves_nothing(tmp_path):
    def failing():
        yield Data(rows())
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space"):
        write_cache(failing(), tmp_path / "a.cache")
    assert list(tmp_path.iterdir()) == []
    write_cache([Data(rows(2))], tmp_path / "a.cache")
    with pytest.raises(OSError, match="no space"):
        write_cache(failing(), tmp_path / "a.cache", overwrite=True)
    assert read(tmp_path / "a.cache").n == 2
    shutil.rmtree(tmp_path / "a.cache")
    assert list(tmp_path.iterdir()) == []
