"""CSV: what is read, what is refused, and where."""

import bz2
import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegasos.data import BadLine, Data, DataError, Options, blocks, read
from pegasos.data.convert import write_table

SMALL = Options(block_bytes=64)


@pytest.fixture
def csv(tmp_path):
    def written(text, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def same(parts, whole):
    """Blocks, one after the other, are the whole."""
    parts = list(parts)
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), whole.X)
    if whole.y is not None:
        np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), whole.y)
    assert sum(part.bad_count for part in parts) == whole.bad_count
    return parts


def test_a_header_names_the_label_and_the_features(csv):
    data = read(csv("a,b,Label\n1,2.5,3\n-4,5e-1,6\n"))
    np.testing.assert_array_equal(data.X, [[1, 2.5], [-4, 0.5]])
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [3, 6]
    assert data.y.dtype == np.int64
    assert data.feature_names == ("a", "b")
    assert "column 2 ('Label')" in data.notes[1]


def test_without_a_header_the_first_column_is_the_label(csv):
    data = read(csv("1,2,3\n0,5,6\n"), dtype=np.float32)
    np.testing.assert_array_equal(data.X, [[2, 3], [5, 6]])
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [1, 0]
    assert data.feature_names is None
    assert data.notes[0] == "the first line is a row, as it has a number"
    assert "the label is column 0, the first" in data.notes[1]


@pytest.mark.parametrize(
    ("options", "y", "X"),
    [
        ({"label": -1}, [4], [[1, 2, 3]]),
        ({"label": 1}, [2], [[1, 3, 4]]),
        ({"label": "1"}, [2], [[1, 3, 4]]),
        ({"label": "c"}, [3], [[1, 2, 4]]),
        ({"labels": False}, None, [[1, 2, 3, 4]]),
        ({"labels": False, "label": "c"}, None, [[1, 2, 4]]),
        ({"features": 4}, None, [[1, 2, 3, 4]]),
        ({"features": 3}, [1], [[2, 3, 4]]),
        ({"label": "z"}, None, [[1, 2, 3, 4]]),
        ({"weight": 0}, [2], [[3, 4]]),
        ({"weight": "b"}, [1], [[3, 4]]),
    ],
)
def test_columns_by_name_and_number(csv, options, y, X):
    data = read(csv("a,b,c,d\n1,2,3,4\n"), **options)
    assert (data.y.tolist() if data.y is not None else None) == y
    np.testing.assert_array_equal(data.X, X)
    if "weight" in options:
        assert data.sample_weight.tolist() == [2 if options["weight"] == "b" else 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "z", "labels": True}, "no column 'z' for the label: there are a, b, c, d"),
        ({"label": 4, "labels": True}, "columns go from 0 to 3, or from -1 back to -4"),
        ({"weight": "z"}, "no column 'z' for the weight"),
        ({"label": "a", "weight": 0}, "cannot be the weight and something else"),
        ({"header": False, "weight": "a"}, "has no header, so give its number"),
        ({"features": 4, "labels": True}, "none of the 4 columns is left for the label"),
        ({"features": 7}, "3 features where 7 are declared"),
    ],
)
def test_columns_that_are_not_there(csv, options, message):
    with pytest.raises(DataError, match=message):
        read(csv("a,b,c,d\n1,2,3,4\n"), **options)


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["1", "-1"], "i", [1, -1]),
        (["1.0", "+2"], "i", [1, 2]),
        (["1.5", "2"], "f", [1.5, 2]),
        (["spam", "ham"], "U", ["spam", "ham"]),
        (["1", "other"], "U", ["1", "other"]),
        (["a b", " c "], "U", ["a b", "c"]),
        (["1e400", "x"], None, None),
        (["9007199254740993", "1"], "U", ["9007199254740993", "1"]),
    ],
)
def test_labels_are_numbers_if_all_of_them_are(csv, texts, kind, expected):
    path = csv("label,x\n" + "".join(f"{text},1\n" for text in texts))
    if kind is None:
        with pytest.raises(DataError, match="missing"):
            read(path)
        return
    y = read(path).y
    assert y.dtype.kind == kind
    assert y.tolist() == expected


def test_names_after_a_block_of_numbers_are_refused_in_blocks_alone(csv):
    path = csv("label,x\n" + "1,2\n" * 40 + "a,2\n")
    assert read(path, SMALL).y[-1] == "a"
    with pytest.raises(DataError, match="label 'a' is no number") as caught:
        list(blocks(path, SMALL))
    assert (caught.value.line, caught.value.column) == (42, 1)


def test_numbers_after_a_block_of_names_are_names(csv):
    path = csv("label,x\n" + "a,2\n" * 40 + "1,2\n" * 40)
    assert {part.y.dtype.kind for part in blocks(path, SMALL)} == {"U"}


BAD = [
    # text, line, field, message
    ("label,a,color\n1,2,red\n", 2, 3, r"field 3 \('color'\): 'red' is not a number: one-hot"),
    ("label,a\n1,2\n1,two\n", 3, 2, "'two' is not a number.*--text"),
    ("label,a\n1,2\n1,\n", 3, 2, "'' is missing: fill it in"),
    ("label,a\n1,2\n1,NA\n", 3, 2, "'NA' is missing"),
    ("label,a\n1,2\n1,nan\n", 3, 2, "'nan' is missing"),
    ("label,a\n1,?\n", 2, 2, r"'\?' is missing"),
    ("label,a\n1,inf\n", 2, 2, "'inf' is not a finite float64"),
    ("label,a\n1,-Infinity\n", 2, 2, "not a finite float64"),
    ("label,a\n1,1e999\n", 2, 2, "'1e999' is not a finite"),
    ("label,a\n1,1_000\n", 2, 2, "'1_000' is not a number"),
    ("label,a\n1,0x1F\n", 2, 2, "'0x1F' is not a number"),
    ("label,a\n1,٣\n", 2, 2, "is not a number"),
    ("label,a\n,2\n", 2, 1, r"field 1 \('label'\): the label is '', so it is missing"),
    ("label,a\nnan,2\n", 2, 1, "label is 'nan'"),
    ("label,a\n1,2,3\n", 2, 3, "3 fields in this row where 2 are expected"),
    ("label,a,b\n1,2,3\n1,2\n", 3, 3, "2 fields in this row where 3"),
    ("label,a,b\n1,2,3\n\n1,2,x\n", 4, 3, "'x'"),
    ("label,a,b\r\n1,2,3\r\n1,x,3\r\n", 3, 2, "'x'"),
    ("1,2,3\n1,2,3\n1,2,x", 3, 3, "field 3: 'x'"),
    ('label,a\n"1",2\n"1",x\n', 3, 2, "'x'"),
    ('label,a\n"1\n2",2\nb,x\n', 4, 2, "'x'"),
    ('label,a\n"1"x,2\n', 2, None, "no row of CSV"),
    ('label,a\n1,2\n"1,2\n1,3\n', 3, None, "no row of CSV"),
    ("label,a\n1,2\r1,3\n", 2, None, "no row of CSV"),
    (b"label,a\n1,2\n\xff,3\n", 3, None, "byte 0xff at place 1 of the line is not UTF-8"),
    (b"label,a\n1,2\n1,\xe9\n", 3, None, "0xe9 at place 3"),
    (b"l\xe9bel,a\n1,2\n", 1, None, "0xe9 at place 2"),
    ("label,a\n1,2\n1,  \n", 3, 2, "is missing"),
    ("label,a\n1," + "x" * 100 + "\n", 2, 2, r"'x+\.\.\.' is not a number"),
]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("text", "line", "field", "message"), BAD)
def test_malformed_rows_have_their_line_and_field(csv, many, text, line, field, message):
    if many and line > 1:  # far into the file, after blocks that were good
        text = text if isinstance(text, bytes) else text.encode()
        head, newline, rest = text.partition(b"\r\n" if b"\r\n" in text else b"\n")
        good = (b",".join([b"1"] * (head.count(b",") + 1)) + newline) * 99
        text, line = head + newline + good + rest, line + 99
    with pytest.raises(DataError, match=message) as caught:
        read(csv(text), SMALL)
    assert (caught.value.line, caught.value.column) == (line, field)
    with pytest.raises(DataError, match=message):
        list(blocks(csv(text), SMALL))


def test_values_too_large_for_float32(csv):
    path = csv("label,a\n1,1e39\n")
    assert read(path).X[0, 0] == 1e39
    with pytest.raises(DataError, match="'1e39' is not a finite float32"):
        read(path, dtype=np.float32)


def test_negative_weights_are_refused(csv):
    with pytest.raises(DataError, match="the weight -1 is negative") as caught:
        read(csv("label,w,a\n1,1,2\n1,-1,2\n"), weight="w")
    assert (caught.value.line, caught.value.column) == (3, 2)


@pytest.mark.parametrize("quote", ["", '"'])
def test_bad_lines_are_skipped_and_counted(csv, quote):
    good = f"{quote}1{quote},2,3\n"
    text = "label,a,b\n" + good * 30 + "1,2\n" + good + "1,x,3\n" + good * 30 + "1,2,\n"
    data = read(csv(text), SMALL, skip_bad_lines=True)
    assert data.n == 61
    assert data.bad_count == 3
    assert data.bad_lines[0] == BadLine(32, 3, "2 fields in this row where 3 are expected")
    assert [line.line for line in data.bad_lines] == [32, 34, 65]
    same(blocks(csv(text), SMALL, skip_bad_lines=True), data)


def test_lines_that_are_not_utf8_are_skipped_too(csv):
    text = b"label,a\n1,2\n\xff,2\n3,4\n"
    data = read(csv(text), skip_bad_lines=True)
    assert data.y.tolist() == [1, 3]
    assert [line.line for line in data.bad_lines] == [3]


def test_no_more_bad_lines_are_kept_than_are_shown(csv):
    data = read(csv("label,a\n" + "1,x\n" * 500 + "1,2\n"), skip_bad_lines=True)
    assert data.bad_count == 500
    assert len(data.bad_lines) == 20
    with pytest.raises(DataError, match="none of 500 rows is good"):
        read(csv("label,a\n" + "1,x\n" * 500), skip_bad_lines=True)


@pytest.mark.parametrize("text", ["", "\n\n", "label,a\n", "label,a\n\n"])
def test_files_without_rows(csv, text):
    with pytest.raises(DataError, match=r"empty|no rows"):
        read(csv(text))


def test_byte_order_mark_tabs_and_blank_lines(csv):
    data = read(csv(b"\xef\xbb\xbflabel\ta\n\n1\t2\n\n", "a.tsv"))
    assert data.feature_names == ("a",)
    assert data.X.tolist() == [[2]]
    assert read(csv("label;a\n1;2\n"), delimiter=";").X.tolist() == [[2]]
    with pytest.raises(ValueError, match="delimiter must be one character"):
        read(csv("label;a\n1;2\n"), delimiter=";;")


def test_a_wrong_delimiter_is_guessed_at(csv):
    with pytest.raises(DataError, match="is the delimiter right"):
        read(csv("label;a\n1;2\n"))


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed(csv, ending, pack):
    assert read(csv(pack(b"label,a\n1,2\n"), f"a.csv{ending}")).X.tolist() == [[2]]


def test_a_text_column_is_kept_as_it_is(csv):
    rows = [
        ("spam", 'buy "now", cheap'),
        ("ham", "line\nend"),
        ("ham", ""),
        ("spam", "é" * 200_000),
    ]
    quoted = "".join(f'{label},7,"{text.replace(chr(34), 2 * chr(34))}"\n' for label, text in rows)
    path = csv("class,id,body\n" + quoted)
    data = read(path, SMALL, text="body")
    assert data.X is None
    assert data.n == 4
    assert data.text == [text for _, text in rows]
    assert data.y.tolist() == [label for label, _ in rows]
    assert "not used: id" in data.notes[-1]
    parts = list(blocks(path, SMALL, text="body"))
    assert [text for part in parts for text in part.text] == data.text
    assert read(path, SMALL, text=2, labels=False).y is None
    with pytest.raises(DataError, match="cannot be the text and the label"):
        read(path, SMALL, text="body", label="body")


@given(st.data())
def test_what_is_written_comes_back_to_the_bit(tmp_path_factory, data):
    n, d = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 5))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    X = np.array(
        data.draw(st.lists(st.lists(finite, min_size=d, max_size=d), min_size=n, max_size=n))
    )
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
    name = text.map(str.strip).filter(
        lambda one: one and not one[0].isdigit() and one[:1] not in ".+-"
    )
    names = name.filter(lambda one: one.lower() not in ("nan", "inf", "infinity"))
    y = data.draw(
        st.lists(st.integers(-9, 9), min_size=n, max_size=n)
        | st.lists(st.floats(-1e15, 1e15), min_size=n, max_size=n)
        | st.lists(names, min_size=n, max_size=n)
    )
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    write_table([Data(X, np.array(y), np.abs(X[:, 0]))], path, "csv", d)
    found = read(path, weight="weight")
    assert found.X.tobytes() == X.tobytes()
    assert found.y.tolist() == y
    assert found.sample_weight.tolist() == np.abs(X[:, 0]).tolist()


@given(st.integers(0, 2**32 - 1))
def test_blocks_one_after_the_other_are_the_whole(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 60), 3)).round(int(rng.integers(0, 17)))
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    write_table([Data(X, rng.integers(0, 3, len(X)))], path, "csv", 3)
    parts = same(blocks(path, block_bytes=int(rng.integers(1, 300))), read(path))
    assert all(part.feature_names == ("x0", "x1", "x2") for part in parts)


@given(
    st.binary(max_size=60)
    | st.from_regex(rb"([-+0-9.eE_xn \t\r,]{0,9}[,\n\"]?){0,12}", fullmatch=True)
)
def test_any_bytes_give_rows_or_an_error_and_both_ways_the_same(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(b"label,x\n1,2\n" + raw)
    by_numpy = outcome(path)
    path.write_bytes(b'label,x\n"1",2\n' + raw)  # from a quote on, the csv module reads
    assert outcome(path) == by_numpy


def outcome(path):
    try:
        data = read(path)
    except DataError as error:
        return str(error)
    return data.X.tobytes(), data.y.dtype.kind, data.y.tolist()


def test_blocks_take_the_memory_of_a_block(csv):
    peaks = []
    for rows in (5_000, 50_000):
        path = csv("label,a,b\n" + "1,0.25,3\n" * rows)
        tracemalloc.start()
        assert sum(block.n for block in blocks(path, block_bytes=1 << 14)) == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.skipif("PEGASOS_DATA" not in os.environ, reason="PEGASOS_DATA is not set")
def test_covtype_as_pandas_reads_it():
    pandas = pytest.importorskip("pandas")
    path = Path(os.environ["PEGASOS_DATA"]) / "covtype.csv.gz"
    data = read(path, Options(label=-1))
    expected = pandas.read_csv(path).to_numpy()
    np.testing.assert_array_equal(data.X, expected[:, :-1])
    np.testing.assert_array_equal(data.y, expected[:, -1])
    assert data.feature_names[0] == "Elevation"
