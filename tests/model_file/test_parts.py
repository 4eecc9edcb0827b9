"""Parts of a model file one by one: where each rule ends, and what breaks it is named."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.common.models import random_model, same

from pegasos.certificate import Certificate
from pegasos.model.file import ModelFileError, NewerFormatError
from pegasos.model.file.arrays import (
    ROOM,
    check_ends,
    put_array,
    put_text,
    take,
    take_array,
    take_text,
)
from pegasos.model.file.contents import decode, encode
from pegasos.model.file.errors import WrongContent
from pegasos.model.file.plain import dumps, from_plain, loads, to_plain
from pegasos.tasks.probability import Isotonic


@pytest.mark.parametrize("kind", [ModelFileError, NewerFormatError])
@pytest.mark.parametrize("line", [None, 3])
def test_errors_keep_their_parts_in_copies(kind, line):
    error = copy(kind("a/model", "is wrong", line))  # by what processes send each other, too
    assert type(error) is kind
    assert (error.path, error.what, error.line) == ("a/model", "is wrong", line)
    assert str(error) == ("a/model: is wrong" if line is None else "a/model:3: is wrong")


def test_an_array_is_taken_once_and_is_what_was_asked_for():
    arrays = {"x": np.zeros((2, 3), np.float32)}
    with pytest.raises(WrongContent, match="'x' is an array of float32 of shape"):
        take(dict(arrays), "x", 1, "float32")
    with pytest.raises(WrongContent, match="should be of float64 or int8 and have 2 dim"):
        take(dict(arrays), "x", 2, "float64", "int8")
    assert take(arrays, "x", 2, "float64", "float32").shape == (2, 3)
    with pytest.raises(WrongContent, match="the array 'x' is missing"):
        take(arrays, "x", 2, "float32")
    for kind in ("numbers", "bool"):
        with pytest.raises(WrongContent, match="'x' is missing"):
            take_array({}, "x", kind)


@pytest.mark.parametrize("ends", [[], [0], [4], [0, 4], [2, 2, 4]])
def test_parts_may_be_empty(ends):
    check_ends("x", np.array(ends, np.int64), ends[-1] if ends else 0)


@pytest.mark.parametrize("ends", [[], [3], [5], [-1, 4], [3, 2, 4], [4, 3]])
def test_parts_that_do_not_fit_are_refused(ends):
    with pytest.raises(WrongContent, match="'x' has parts that do not fit its size of 4"):
        check_ends("x", np.array(ends, np.int64), 4)


def test_strings_are_bytes_and_where_they_end():
    arrays = {}
    put_text(arrays, "x", ["é", "", "abc"])
    assert arrays["x.utf8"].tobytes() == b"\xc3\xa9abc"
    assert arrays["x.ends"].tolist() == [2, 2, 5]
    assert arrays["x.ends"].dtype == np.int64
    assert take_text(arrays, "x") == ["é", "", "abc"]
    assert arrays == {}
    cut = {"x.utf8": np.array([0xC3, 0xA9], np.uint8), "x.ends": np.array([1, 2])}
    with pytest.raises(WrongContent, match="'x' is no UTF-8"):
        take_text(dict(cut), "x")
    with pytest.raises(WrongContent, match=r"^'x' has parts that do not fit its size of 2$"):
        take_text(cut | {"x.ends": np.array([3])}, "x")


NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
           "float32", "float64")  # fmt: skip


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", "U3", "O"])
def test_arrays_of_every_kind_come_back(dtype):
    arrays = {}
    array = np.array(["a", "bcd"] if dtype in ("U3", "O") else [0, 1]).astype(dtype)
    kind = put_array(arrays, "x", array)
    expected = {"bool": "bool", "U3": "text", "O": "objects"}.get(dtype, "numbers")
    assert kind == expected
    found = take_array(arrays, "x", kind)
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()
    assert arrays == {}


@pytest.mark.parametrize(
    "array",
    [np.array([1j]), np.array(["2020-01-01"], "M8[D]"), np.array([["a"]]), np.array([b"a"]),
     np.array(["a", 1], object), np.array([["a"]], object)],
    ids=str,
)  # fmt: skip
def test_arrays_of_other_kinds_are_not_saved(array):
    with pytest.raises(WrongContent, match="what is saved are numbers"):
        put_array({}, "x", array)


@pytest.mark.parametrize(("room", "dtype"), [(24, "U3"), (23, "O")])
def test_text_that_would_take_too_much_room_comes_as_objects(room, dtype):
    arrays = {}
    put_text(arrays, "x", ["abc", "d"])  # 2 strings of 3 characters of 4 bytes
    found = take_array(arrays, "x", "text", room)
    assert found.dtype == dtype
    assert found.tolist() == ["abc", "d"]


def test_no_strings_are_an_array_too():
    arrays = {}
    put_text(arrays, "x", [])
    assert take_array(arrays, "x", "text").dtype == "U1"


@pytest.mark.parametrize("shape", [(1, 8), (3, 4), (1, 20), (12, 3)])
@pytest.mark.parametrize("given", ["dense", "csr"])
def test_coefficients_are_stored_as_what_takes_less(shape, given):
    lanes, features = shape
    for count in range(lanes * features + 1):
        coef = np.zeros(shape)
        coef.flat[:count] = 1.0
        model = replace(
            random_model("labels", lanes, features),
            coef=sparse.csr_matrix(coef) if given == "csr" else coef,
        )
        meta, arrays = encode(model)
        # A place takes 4 bytes, and the end of a row 8.
        small = given == "csr" or 12 * count + 8 * lanes < 8 * lanes * features
        stored = [name for name in arrays if name.startswith("coef")]
        assert stored == (["coef.values", "coef.indices", "coef.ends"] if small else ["coef"])
        assert meta["coef"] == {"given": given, "stored": "csr" if small else "rows"}
        if small:
            assert arrays["coef.indices"].dtype == np.int32
            assert arrays["coef.ends"].dtype == np.int64
        assert same(decode(meta, arrays, 0), model)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("csr", [False, True])
def test_models_of_other_numbers_are_saved_in_float64(dtype, csr):
    ones = np.ones(3, dtype)
    model = replace(
        random_model(),
        coef=sparse.csr_matrix(np.ones((3, 5), dtype)) if csr else np.ones((3, 5), dtype),
        intercept=ones,
        certificate=Certificate(2 * ones, ones, 0 * ones),
        calibrators=(Isotonic(np.arange(2).astype(dtype), np.arange(2).astype(dtype)),) * 3,
    )
    found = decode(*encode(model), 0)
    bounds, curve = found.certificate, found.calibrators[0]
    coef = found.coef.toarray() if csr else found.coef
    for array, value in ((coef, np.ones((3, 5))), (found.intercept, ones), (bounds.dual, ones),
                         (bounds.primal, 2 * ones), (bounds.rounding, 0 * ones),
                         (curve.scores, [0, 1]), (curve.values, [0, 1])):  # fmt: skip
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_coefficients_keep_their_order_in_memory(order):
    model = random_model()
    model = replace(model, coef=np.array(model.coef, order=order))
    meta, arrays = encode(model)
    assert meta["coef"]["stored"] == ("rows" if order == "C" else "columns")
    found = decode(meta, arrays, 0).coef
    assert found.flags.f_contiguous == (order == "F")


def test_duplicates_in_sparse_coefficients_are_one_number():
    coef = sparse.csr_matrix(([1.0, 2.0, 4.0], [3, 1, 3], [0, 3]), shape=(1, 5))
    model = replace(random_model(classes=2), coef=coef)
    meta, arrays = encode(model)
    assert arrays["coef.indices"].tolist() == [1, 3]
    assert arrays["coef.values"].tolist() == [2.0, 5.0]
    assert coef.nnz == 3  # the model's own are left alone
    assert decode(meta, arrays, 0).coef.toarray().tolist() == [[0.0, 2.0, 0.0, 5.0, 0.0]]


def few():
    """Coefficients 1 in 5 of 3 x 40 places: of rows 0, 0, 1, 2, 2."""
    coef = np.zeros((3, 40))
    coef[[0, 0, 1, 2, 2], [0, 1, 2, 3, 39]] = 1.0
    return replace(random_model(features=40), coef=coef)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("indices", [0, 1, 2, 3, 40], "its coefficients: index 40 in row 2 is outside 0..40 - 1"),
        ("indices", [-1, 1, 2, 3, 39], "its coefficients: index -1 in row 0 is outside 0..40 - 1"),
        ("indices", [0, 0, 2, 3, 39], "its coefficients: indices of row 0 do not increase"),
        ("indices", [0, 1, 2, 39, 3], "its coefficients: indices of row 2 do not increase"),
        ("indices", [0, 1, 2, 3], "its coefficients: indptr must go from 0 to the 4 stored values"),
        ("values", [1, 1, 1, 1], "its coefficients: 4 values for 5 indices"),
        ("ends", [2, 3, 6], "its coefficients: indptr must go from 0 to the 5 stored values"),
        ("ends", [2, 3, 4], "its coefficients: indptr must go from 0 to the 5 stored values"),
        ("ends", [2, 1, 5], "its coefficients: indptr decreases after row 1"),
        ("ends", [2, 5], "its coefficients have 2 rows, not 3"),
    ],
)
def test_places_of_coefficients_have_rules(name, value, what):
    meta, arrays = encode(few())
    arrays[f"coef.{name}"] = np.array(value, arrays[f"coef.{name}"].dtype)
    with pytest.raises(WrongContent, match=f"^{what}$"):
        decode(meta, arrays, 0)


def test_places_may_take_8_bytes_and_rows_be_empty():
    meta, arrays = encode(few())
    arrays["coef.indices"] = arrays["coef.indices"].astype(np.int64)
    assert same(decode(meta, dict(arrays), 0), few())
    arrays["coef.ends"] = np.array([0, 0, 5])
    assert decode(meta, dict(arrays), 0).coef.sum(axis=1).tolist() == [0.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("beyond", "size", "fits"),
    [(0, 0, True), (1, 0, False), (1, ROOM + 31, False), (1, ROOM + 32, True)],
)
def test_what_is_made_of_a_file_takes_no_more_than_it_warrants(beyond, size, fits):
    features = ROOM // 32 + beyond  # 8 bytes x 4 lanes; strings of 4 bytes x 4 classes x 2 of them
    coef = np.zeros((4, features))
    coef[1, 7] = 1.0
    model = replace(
        random_model(classes=4), coef=coef, classes=np.array(["a", "b", "c", "d" * 2 * features])
    )
    found = decode(*encode(model), size)
    assert sparse.issparse(found.coef) != fits
    assert (found.classes.dtype == object) != fits


def test_arrays_of_no_purpose_are_named_up_to_five():
    meta, arrays = encode(random_model())
    with pytest.raises(WrongContent, match=r"^it has arrays of an unknown purpose: a, b, c, d, e$"):
        decode(meta, arrays | {name: np.zeros(1) for name in "fedcba"}, 0)


UNKNOWN = "it has arrays of an unknown purpose: "
META = [
    *(({name: value}, f"{name} is {value!r}, and should be a positive whole number")
      for name in ("lanes", "features") for value in (0, -1, True, 3.0, None, 1 << 62)),
    *(({name: value}, f"{name} is no mapping")
      for name in ("parameters", "training", "data", "history", "path") for value in ([], 1, None)),
    ({"parameters": {"$": "float", "value": "1"}}, "parameters: a value has an unknown tag"),
    ({"steps": None}, "its steps are no list"),
    ({"steps": [1]}, "step 0 makes no sense"),
    ({"steps": [{"kind": "scale", "meta": {}}]}, "step 0 makes no sense"),
    ({"steps": [{"kind": 1, "meta": {}, "arrays": {}}]}, "step 0 has no kind"),
    ({"steps": [{"kind": "scale", "meta": [], "arrays": {}}]}, "meta is no mapping"),
    ({"steps": [{"kind": "?", "meta": {}, "arrays": {}}]}, r"step 0 \(\?\) cannot be restored: .+"),
    ({"coef": None}, "its coefficients are stored in an unknown way"),
    ({"coef": {"given": "csr", "stored": "?"}}, "its coefficients are stored in an unknown way"),
    ({"coef": {"given": "?", "stored": "rows"}}, "its coefficients are stored in an unknown way"),
    ({"feature_names": False}, UNKNOWN + "feature_names.ends, feature_names.utf8"),
    ({"calibrators": False}, UNKNOWN + "calibrators.ends, calibrators.sigmoid, calibrators.x, "
     "calibrators.y"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "what"), META, ids=range(len(META)))
def test_meta_that_makes_no_sense_is_named(part, what):
    meta, arrays = encode(random_model(named=True, calibrated=True))
    with pytest.raises(WrongContent, match=f"^{what}$"):
        decode(meta | part, arrays, 0)


ARRAYS = [
    ("certificate.primal", None, "the array 'certificate.primal' is missing"),
    ("certificate.primal", np.ones((3, 1)), r"certificate.primal has the shape \(3, 1\)"),
    (
        "certificate.primal",
        np.ones(3, np.float32),
        ".* should be of float64 and have . dimensions",
    ),
    ("intercept", np.zeros((3, 1)), "'intercept' is an array .*"),
    ("intercept", np.zeros(3, np.int64), ".* should be of float64 and have . dimensions"),
    ("calibrators.x", np.zeros(7), "its calibrators differ in number"),
    ("calibrators.sigmoid", np.ones(2, np.uint8), "its calibrators differ in number"),
    (
        "calibrators.ends",
        np.array([1, 7, 9]),
        "'calibrators' has parts that do not fit its size of 8",
    ),
    ("calibrators.ends", np.array([0, 7, 8]), "a sigmoid has one A and one B"),
    ("calibrators.sigmoid", np.ones(3, np.int64), ".* should be of uint8 and have 1 dimensions"),
    ("classes", np.array([1, 1, 2]), "some of its classes are the same"),
]


@pytest.mark.parametrize(("name", "value", "what"), ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_that_make_no_sense_are_named(name, value, what):
    meta, arrays = encode(random_model(calibrated=True))
    arrays.pop(name)
    if value is not None:
        arrays[name] = value
    with pytest.raises(WrongContent, match=f"^{what}$"):
        decode(meta, arrays, 0)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int8(3), 3), (np.float32(0.5), 0.5), (np.True_, True), ((1, [2]), [1, [2]]),
        (np.inf, {"$": "float", "value": "inf"}), (-np.inf, {"$": "float", "value": "-inf"}),
        ({1: 2}, {"$": "dict", "items": [[1, 2]]}), ({"a": {"b": None}}, {"a": {"b": None}}),
        ({"$": 1}, {"$": "dict", "items": [["$", 1]]}),
    ],
)  # fmt: skip
def test_values_have_one_way_to_be_said(value, plain):
    assert to_plain(value) == plain
    assert type(to_plain(value)) is type(plain)
    assert to_plain(from_plain(plain)) == plain


@pytest.mark.parametrize(
    "plain",
    [{"$": "float", "value": "1.0"}, {"$": "float"}, {"$": "dict", "items": {}}, {"$": "dict"},
     {"$": "dict", "items": [[[1], 2]]}, {"$": "list", "items": []}, {"$": None}],
)  # fmt: skip
def test_unknown_tags_are_refused(plain):
    with pytest.raises(ValueError, match="unknown tag"):
        from_plain({"x": [plain]})


def test_json_is_strict_and_on_one_line():
    assert dumps({"a": [1, "é\n"]}) == '{"a":[1,"\\u00e9\\n"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(np.nan)
    with pytest.raises(ValueError, match="a name occurs twice"):
        loads('{"a":1,"a":2}')
    with pytest.raises(ValueError, match="Infinity is no JSON"):
        loads("[-Infinity]")
    with pytest.raises(ValueError, match="nested too deeply"):
        loads("[" * 100_000)
    with pytest.raises(TypeError, match=r"a set cannot be saved: set\(\)"):
        to_plain(set())
