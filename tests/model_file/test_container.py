"""The file around a model: what is in its header, what its digest covers, where its limits are."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.common.models import random_model

import pegasos
from pegasos.model import file as model_file
from pegasos.model.file import ModelFileError, NewerFormatError, container
from pegasos.model.file.container import pack, sealed, unpack
from pegasos.model.file.errors import WrongContent

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], np.int8)}


def header_of(data):
    return 8 + int.from_bytes(data[:8], "little")


def refused(path, data, what, kind=ModelFileError):
    path.write_bytes(data)
    with pytest.raises(kind) as error:
        unpack(path)
    assert type(error.value) is kind
    assert str(error.value) == f"{path}: {what}"


def test_a_file_is_a_header_and_arrays_under_one_digest(tmp_path):
    data = pack({"x": 1}, ARRAYS | {"c": np.asfortranarray(ARRAYS["a"])}, "9.9")
    header = json.loads(data[8 : header_of(data)])
    about = json.loads(header["__metadata__"]["pegasos_model"])
    digest = about.pop("sha256")
    assert about == {"format": "pegasos linear model", "version": 1, "package": "9.9", "x": 1}
    assert data.count(digest.encode()) == 1
    assert hashlib.sha256(data.replace(digest.encode(), b"0" * 64)).hexdigest() == digest
    (tmp_path / "file").write_bytes(data)
    meta, arrays, size = unpack(tmp_path / "file")
    assert meta == {"sha256": digest, **about}
    assert size == len(data)
    assert set(arrays) == {"a", "b", "c"}
    for name in ("a", "c"):
        np.testing.assert_array_equal(arrays[name], ARRAYS["a"])
    assert arrays["b"].dtype == np.int8


def test_sealing_again_changes_nothing_and_needs_a_place():
    data = pack({}, ARRAYS, "1")
    assert sealed(data) == data
    other = data.replace(b"pegasos_model", b"another_model")
    with pytest.raises(WrongContent, match=r"^its header has no digest$"):
        sealed(other)
    # What looks like a digest among the arrays is none.
    start = data.index(b'"pegasos_model"')
    with pytest.raises(WrongContent, match="no digest"):
        sealed(other + data[start : start + 120])


def test_headers_have_a_largest_size(tmp_path):
    path = tmp_path / "file"
    pad = container.MOST_HEADER - (header_of(pack({"x": ""}, ARRAYS, "1")) - 8)
    data = pack({"x": "a" * (pad & ~7)}, ARRAYS, "1")  # headers end at multiples of 8
    path.write_bytes(data)
    assert header_of(data) - 8 == container.MOST_HEADER
    unpack(path)
    length = container.MOST_HEADER + 8
    with pytest.raises(WrongContent, match=f"take {length} bytes as JSON, more than the"):
        pack({"x": "a" * (pad + 8)}, ARRAYS, "1")
    data = length.to_bytes(8, "little") + data[8:] + bytes(16)
    refused(path, data, f"says that its header takes {length} bytes of its {len(data)}: it is cut "
            "off, damaged, or no model file")  # fmt: skip


def test_files_that_are_cut_off_say_so(tmp_path):
    path = tmp_path / "file"
    data = pack({}, ARRAYS, "1")
    end = header_of(data)
    refused(path, b"", "is empty: it was perhaps never written; save it again")
    refused(path, data[:7], "is no model file, or is cut off or damaged at its start")
    refused(path, data[:8], "is no model file, or is cut off or damaged at its start")
    for size in (9, end - 1):
        refused(path, data[:size], f"says that its header takes {end - 8} bytes of its {size}: it "
                "is cut off, damaged, or no model file")  # fmt: skip
    damaged = ("is damaged: its checksum does not match its contents. Copy it again, or save the "
               "model again")  # fmt: skip
    for wrong in (data[:end], data[:-1], data + b"\0", data[:-1] + b"\1"):
        refused(path, wrong, damaged)
    path.write_bytes(data)
    unpack(path)


NO_MODEL = "is a safetensors file, but no model of this package"


@pytest.mark.parametrize(
    ("meta", "what"),
    [
        ({"format": "another"}, NO_MODEL),
        ({"format": None}, NO_MODEL),
        ({"version": None}, "has no known format version: None"),
        ({"version": "1"}, "has no known format version: '1'"),
        ({"version": True}, "has no known format version: True"),
        ({"version": 1.0}, "has no known format version: 1.0"),
        ({"version": 0}, "has no known format version: 0"),
    ],
)
def test_other_formats_are_named(tmp_path, meta, what):
    refused(tmp_path / "file", pack(meta, ARRAYS, "1"), what)


def test_newer_formats_say_who_wrote_them(tmp_path):
    what = ("has format version 2, written by pegasos 9.9; this one reads up to version 1: upgrade "
            "pegasos")  # fmt: skip
    refused(tmp_path / "file", pack({"version": 2}, ARRAYS, "9.9"), what, NewerFormatError)


def test_types_that_are_never_written_are_not_read(tmp_path):
    data = pack({}, {"x": np.array([True])}, "1")
    refused(tmp_path / "file", data, "has arrays of unknown types: ['BOOL']")


def test_arrays_of_all_types_at_once_are_read(tmp_path):
    kinds = ["f8", "f4", "f2", *(f"{sign}{size}" for sign in "iu" for size in (8, 4, 2, 1))]
    given = {kind: np.arange(3).astype(kind) for kind in kinds}
    (tmp_path / "file").write_bytes(pack({}, given, "1"))
    _, found, _ = unpack(tmp_path / "file")
    assert found.keys() == given.keys()
    for kind, array in given.items():
        assert found[kind].dtype == kind
        np.testing.assert_array_equal(found[kind], array)


def test_what_looks_like_a_digest_among_arrays_makes_no_model(tmp_path):
    data = pack({}, ARRAYS, "1")
    start = data.index(b'"pegasos_model"')
    other = data.replace(b"pegasos_model", b"another_model") + data[start : start + 120]
    what = "is a safetensors file, but no model of this package; or its header is damaged"
    refused(tmp_path / "file", other, what)


def edited(change):
    """A file whose header was changed, padded as it was, with the right digest."""
    data = pack({}, ARRAYS, "1")
    end = header_of(data)
    header = json.loads(data[8:end])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode().ljust(end - 8)
    return sealed(len(text).to_bytes(8, "little") + text + data[end:])


def test_headers_that_make_no_sense_are_named(tmp_path):
    for change, what in (
        (lambda header: header["a"].pop("dtype"), "'dtype'"),
        (lambda header: header.update(a=1), "'int' object is not subscriptable"),
        (lambda header: header.update(a=[]), "list indices must be integers or slices, not str"),
    ):
        refused(tmp_path / "file", edited(change), f"has a header that makes no sense: {what}")
    (tmp_path / "file").write_bytes(edited(lambda header: header["a"].update(shape=[9, 9])))
    with pytest.raises(ModelFileError, match=r"file: has arrays that do not fit the file: \w"):
        unpack(tmp_path / "file")


def test_reading_and_writing_say_which_file_and_what_to_do(tmp_path):
    path = tmp_path / "model"
    model = random_model()
    with pytest.raises(ModelFileError) as error:
        model_file.write(replace(model, intercept=np.full(3, np.nan)), path)
    said = "the model cannot be saved: its intercepts are not all finite"
    assert str(error.value) == f"{path}: {said}"
    path.write_bytes(pack({}, {}, "1"))
    with pytest.raises(ModelFileError) as error:
        model_file.read(path)
    said = ("has contents that do not fit each other: lanes is None, and should be a positive "
            "whole number. Save the model again")  # fmt: skip
    assert str(error.value) == f"{path}: {said}"
    with pytest.raises(FileExistsError):
        model_file.write(model, path, overwrite=False)
    model_file.write(model, path)
    meta, _, _ = unpack(path)
    assert meta["package"] == pegasos.__version__
