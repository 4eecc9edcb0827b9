import gzip
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from pegasos.data import DataError, Options, blocks, read
from pegasos.data.svmlight import _BLOCK_BYTES, write_svmlight


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def spelled(rng, number):
    """One of the many ways to write a number."""
    forms = ["%r", "%.3f", "%.17g", "%.6e", "%g", "%+.4f", "%.25f", "%E"]
    text = rng.choice(forms) % number
    if rng.random() < 0.1:
        text = text.replace("0.", ".", 1) if text.startswith("0.") else text
    return text


def valid_file(seed):
    """A random valid file; blanks, comments, empty lines and line ends of all kinds."""
    rng = random.Random(seed)
    wide = rng.choice([5, 300, 100_000])
    end = rng.choice(["\n", "\r\n"])
    queries = rng.random() < 0.3
    lines = []
    for _ in range(rng.randint(1, 30)):
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "   ", "# only a comment 1:2", "\t"]))
        label = rng.choice(["1", "-1", "+1", "0", "2.5", "1e1", "-0.0"])
        query = f" qid:{rng.randint(0, 9)}" if queries else ""
        chosen = sorted(rng.sample(range(1, wide + 1), rng.randint(0, min(wide, 12))))
        scale = 10.0 ** rng.randint(-30, 30)
        features = [f"{j}:{spelled(rng, rng.uniform(-1, 1) * scale)}" for j in chosen]
        blank = rng.choice([" ", "  ", "\t", " \t "])
        line = label + query + "".join(blank + one for one in features)
        line += rng.choice(["", " ", "  # 7:1 comment", "#x"])
        lines.append(rng.choice(["", "", " "]) + line)
    return end.join(lines) + rng.choice(["", end]), queries


@pytest.mark.parametrize("part", range(10))
def test_valid_files_are_read_as_scikit_learn_reads_them(part, tmp_path):
    for seed in range(50 * part, 50 * part + 50):  # 500 files
        text, queries = valid_file(seed)
        path = write(tmp_path / f"{seed}.svm", text)
        data = read(path, Options(threads=1 + seed % 2))
        X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False)
        assert data.X.shape == X.shape
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(data.X, name), getattr(X, name), f"{seed}")
        np.testing.assert_array_equal(data.y, y)
        if queries:
            np.testing.assert_array_equal(data.qid, qid)
        else:
            assert data.qid is None


TOKENS = {  # a bad token and the byte of it that is to blame
    "x:1": 0, "1;2": 0, "3": 0, ":1": 0, ":": 0, "a": 0, "1.5:1": 0, "+2:1": 0, "2 :1": 0,
    "-1:1": 0,
    "2:": 2, "2:x": 2, "2:nan": 2, "2:NaN": 2, "2:inf": 2, "2:-Infinity": 2, "2:1e": 2,
    "2:1e+": 2, "2:0x1": 2, "2:1_000": 2, "2:1,5": 2, "2:--1": 2, "2:1.2.3": 2, "2:1e999": 2,
    "2:-1e400": 2, "2:1:1": 2, "2:.": 2, "2:+": 2, "2:1f": 2, "2:٣": 2, "2:\x001": 2,
    "2:1\x00": 2, "2:1\x0b": 2, "0:1": 0, "00:1": 0, "2147483647:1": 0, "67108865:1": 0,
    "9223372036854775808:1": 0, "18446744073709551617:1": 0, "1e3:1": 0, "é:1": 0,
}  # fmt: skip
LABELS = ["x", "nan", "inf", "-inf", "1,2", "1:", "1e", "--1", "0x1", "1e999", "+", ".", "\x00",
          "\ufeff1", "1;", "qid:1", "'1'", '"1"', "1_0", "one"]  # fmt: skip


def malformed():
    """(text, line, column) of files with one mistake."""
    for token, at in TOKENS.items():
        for before in ("", "1 1:1\n", "# c\n\n-1 1:0.5 9:1\n"):
            line = before.count("\n") + 1
            yield before + f"1 {token}\n1 1:1\n", line, 3 + at
        yield f"1 1:1 {token}", 1, 7 + at
    for label in LABELS:
        yield f"{label} 1:1\n", 1, 1
        yield f"1 1:1\n  {label} 1:1", 2, 3
    yield "1 3:1 2:1\n", 1, 7
    yield "1 3:1 3:1\n", 1, 7
    yield "1 2:1 4:1 4:2 5:1\n", 1, 11
    yield "1:1 2:1\n", 1, 1
    yield "1 1:1\n1 qid:3 1:1\n", 2, 3
    yield "1 qid:3 1:1\n1 1:1\n", 2, 3
    yield "1 qid:3.5 1:1\n", 1, 3
    yield "1 qid: 1:1\n", 1, 3
    yield "1 1:1 qid:3\n", 1, 7


def test_malformed_files_are_refused_with_their_place(tmp_path):
    cases = list(malformed())
    assert len(cases) >= 100
    for number, (text, line, column) in enumerate(cases):
        path = write(tmp_path / f"{number}.svm", text)
        with pytest.raises(DataError) as caught:
            read(path, Options())
        place = (caught.value.line, caught.value.column)
        assert place == (line, column), f"{text!r}: {caught.value}"
        assert str(caught.value).startswith(f"{path}:{line}:{column}: ")


def test_bad_lines_can_be_skipped_and_are_counted(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1\n1 1:1 1:2\nx\n-1 2:3\n")
    data = read(path, Options(skip_bad_lines=True))
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [0, 3]])
    assert data.bad_count == 2
    assert [bad.line for bad in data.bad_lines] == [2, 3]


def test_a_tiny_file_with_a_huge_index_takes_no_memory(tmp_path):
    path = write(tmp_path / "a.svm", "1 2147483647:1\n")
    code = (
        "import resource, sys\n"
        "from pegasos.data import DataError, Options, read\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "try:\n    read(sys.argv[1], Options())\n"
        "except DataError as error:\n    print(error.column)\n"
        "data = read(sys.argv[1], Options(features=2**31))\n"
        "print(data.X.shape[1], data.X.nnz)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert run.stdout.split() == ["3", str(2**31), "1"], run.stderr


def test_where_indices_begin(tmp_path):
    ones = write(tmp_path / "one.svm", "1 1:1 3:2\n-1 2:1\n")
    zeros = write(tmp_path / "zero.svm", "1 0:1 2:2\n-1 1:1\n")
    expected = [[1, 0, 2], [0, 1, 0]]
    guess = Options(zero_based="auto")
    for path, options in ((ones, Options()), (zeros, Options(zero_based=True))):
        np.testing.assert_array_equal(read(path, options).X.toarray(), expected)
        data = read(path, guess)
        np.testing.assert_array_equal(data.X.toarray(), expected)
        assert "indices begin with" in data.notes[0]
        (block,) = blocks(path, guess)
        np.testing.assert_array_equal(block.X.toarray(), expected)
    with pytest.raises(DataError, match="--zero-based"):
        read(zeros, Options())
    assert read(ones, Options(zero_based=True)).X.shape == (2, 4)


def test_declared_features_are_the_width_and_the_limit(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1 3:2\n")
    assert read(path, Options(features=10)).X.shape == (1, 10)
    with pytest.raises(DataError, match="declared 2 features"):
        read(path, Options(features=2))
    with pytest.raises(DataError, match="declared 2 features"):
        read(path, Options(features=2, zero_based="auto"))
    wide = read(write(tmp_path / "b.svm", "1 3000000000:1\n"), Options(features=2**32))
    assert wide.X.indices.dtype == np.int64
    assert wide.X.indices[0] == 3000000000 - 1


def test_labels_of_a_row(tmp_path):
    path = write(tmp_path / "a.svm", "1,3 1:1\n2:1\n7 1:2\n3,1,7 2:2\n")
    data = read(path, Options(multilabel=True))
    np.testing.assert_array_equal(data.label_names, [1, 3, 7])
    np.testing.assert_array_equal(data.y.toarray(), [[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1]])
    with pytest.raises(DataError, match="--multilabel"):
        read(path, Options())
    with pytest.raises(DataError, match="twice"):
        read(write(tmp_path / "b.svm", "1,1 1:1\n"), Options(multilabel=True))


def test_float32_values_are_rounded_once(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1.00000005960464477540 2:0.1\n")
    values = read(path, Options(dtype=np.float32)).X.data
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, np.array([1.0000001, 0.1], dtype=np.float32))


def test_blocks_are_the_file_in_order(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(40_000, 50, density=0.2, format="csr", random_state=rng)
    y = rng.integers(0, 3, X.shape[0]).astype(float)
    path = tmp_path / "a.svm.gz"
    write_svmlight(X, y, path)
    assert len(gzip.decompress(path.read_bytes())) > 3 * _BLOCK_BYTES
    parts = list(blocks(path, Options(threads=1)))
    assert len(parts) > 3
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    whole = read(path, Options(threads=2))
    assert abs(whole.X - X).nnz == 0
    joined = sparse.vstack([part.X for part in parts])
    assert abs(joined - X).nnz == 0


def test_a_line_longer_than_a_block(tmp_path):
    d = 400_000
    X = sparse.csr_matrix(np.full((2, d), 0.123456789))
    write_svmlight(X, [1, -1], tmp_path / "a.svm")
    data = read(tmp_path / "a.svm", Options(threads=1))
    assert data.X.nnz == 2 * d
    assert (data.X.data == 0.123456789).all()


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(
        st.dictionaries(
            st.integers(0, 30),
            st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != 0),
            max_size=6,
        ),
        min_size=1,
        max_size=8,
    ),
    zero_based=st.booleans(),
)
def test_written_rows_read_back_to_the_bit(rows, zero_based, tmp_path_factory):
    path = tmp_path_factory.mktemp("a") / "a.svm"
    X = sparse.lil_matrix((len(rows), 31))
    for i, row in enumerate(rows):
        for j, value in row.items():
            X[i, j] = value
    X = X.tocsr()
    write_svmlight(X, np.arange(len(rows)), path, zero_based=zero_based)
    data = read(path, Options(zero_based=zero_based, features=31))
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    np.testing.assert_array_equal(data.y, np.arange(len(rows)))


def test_files_that_are_not_there_or_empty(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "no.svm", Options())
    for text in ("", "\n\n", "# nothing\n"):
        with pytest.raises(DataError, match="no rows"):
            read(write(tmp_path / "e.svm", text), Options())
    write_svmlight(np.eye(2), [0, 1], tmp_path / "t.svm.gz")
    cut = (tmp_path / "t.svm.gz").read_bytes()[:-5]
    with pytest.raises(DataError, match="truncated"):
        read(write(tmp_path / "t2.svm.gz", cut), Options())


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ValueError, match="number the classes"):
        write_svmlight(np.eye(2), ["a", "b"], tmp_path / "a.svm")
    with pytest.raises(ValueError, match="NaN"):
        write_svmlight([[np.nan, 1.0]], [1], tmp_path / "a.svm")
    with pytest.raises(ValueError, match="rows"):
        write_svmlight(np.eye(2), [1], tmp_path / "a.svm")
    assert not list(tmp_path.iterdir())


def test_a_byte_that_case_folding_made_a_colon_is_no_query(tmp_path):
    """It was read as qid 5."""
    (tmp_path / "a.svm").write_bytes(b"1 qid\x1a5 1:2\n")
    with pytest.raises(DataError, match="is not INDEX:VALUE"):
        read(tmp_path / "a.svm")
    (tmp_path / "b.svm").write_bytes(b"1 QID:5 1:2\n")
    assert read(tmp_path / "b.svm").qid.tolist() == [5]
