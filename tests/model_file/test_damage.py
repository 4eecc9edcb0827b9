"""A file that was changed in any way is refused by name: no crash, no silence, no memory."""

import errno
import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tests.common.models import random_model, same
from tests.hardening.campaign import mutated

from pegasos import export
from pegasos.model import file as model_file
from pegasos.model.file import ModelFileError, NewerFormatError
from pegasos.model.file.container import MOST_HEADER, pack, sealed
from pegasos.model.file.contents import decode, encode
from pegasos.model.file.errors import WrongContent


def written(path, model=None):
    model_file.write(model or random_model(kind="text", named=True, calibrated=True), path)
    return path.read_bytes()


def test_truncation_at_every_byte_is_refused(tmp_path):
    path = tmp_path / "model"
    data = written(path)
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match=str(path)):
            model_file.read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelFileError):
        model_file.read(path)


def test_every_single_bit_is_under_the_checksum(tmp_path):
    path = tmp_path / "model"
    data = written(path, random_model(classes=2, features=2, certified=False))
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(ModelFileError):
                model_file.read(path)


def check_mutations(path, count, seed):
    rng = np.random.default_rng(seed)
    data = written(path)
    for _ in range(count):
        changed = mutated(rng, data)
        if changed == data:
            continue
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match=str(path)):
            model_file.read(path)


def check_forgeries(path, count, seed):
    """The same with the right checksum: then every part is looked at by itself."""
    rng = np.random.default_rng(seed)
    data = written(path)
    header = 8 + int.from_bytes(data[:8], "little")
    refused = 0
    for number in range(count):
        # Half of them in the header, which has more to get wrong.
        part = mutated(rng, data[8:header] if number % 2 else data)
        if number % 2:
            part = part[: header - 8].ljust(header - 8)
        changed = data[:8] + part + data[header:] if number % 2 else part
        try:
            path.write_bytes(sealed(changed))
        except WrongContent:
            continue
        try:
            found = model_file.read(path)
        except ModelFileError:
            refused += 1
            continue
        assert np.isfinite(found.coef).all()
        assert found.coef.shape == (found.lanes, found.features)
        found.predict(np.zeros((2, found.features)))
        found.predict(np.ones((2, found.features)))
    assert refused > count // 4


def test_mutations_are_refused(tmp_path):
    check_mutations(tmp_path / "model", 2_000, 0)


def test_forgeries_are_refused_or_make_sense(tmp_path):
    check_forgeries(tmp_path / "model", 1_000, 1)


def forged(data, old, new):
    """The file with another text in its header, of the same length, and the right checksum."""
    old, new = (text.replace('"', r"\"").encode() for text in (old, new))
    assert data.count(old) == 1
    return sealed(data.replace(old, new.ljust(len(old))))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"version":1', '"version":0', "no known format version: 0"),
        ('"format":"pegasos linear', '"format":"another linear', "no model of this package"),
        ('"scheme":"ovr"', '"scheme":"ovo"', "."),  # three classes have three pairs: fits
        ('"scheme":"ovr"', '"scheme":"rov"', "scheme 'rov' is unknown"),
        ('"lanes":3', '"lanes":4', "shape .3,"),
        ('"features":5', '"features":6', "coefficients are"),
        ('"features":5', '"features":0', "features is 0"),
        ('"stored":"rows"', '"stored":"cols"', "unknown way"),
        ('"classes":"text"', '"classes":"tent"', "unknown kind"),
        ('"certificate":true', '"certificate":null', "unknown purpose: certificate.dual"),
        ('"steps":[]', '"steps":{}', "steps are no list"),
        ('"worst_gap":[', '"worst_gup":[', "history is no table"),
        ('"chosen":0', '"chosen":7', "not on its path"),
        ('"scoring":"accuracy"', '"scoring":1', "how it was scored"),
        ('"C":0.1', '"C":NaN', "NaN is no JSON"),
        ('"C":0.1', '"C":1,,', "header that makes no sense"),
        ('"rows":10', '"rows":[]', "."),  # nothing depends on it
    ],
)
def test_forged_headers_are_named(tmp_path, old, new, what):
    path = tmp_path / "model"
    data = written(path)
    path.write_bytes(forged(data, old, new))
    if what == ".":
        model_file.read(path)
        return
    with pytest.raises(ModelFileError, match=what):
        model_file.read(path)


def test_a_newer_format_says_who_wrote_it(tmp_path):
    path = tmp_path / "model"
    data = forged(written(path), '"version":1,"package":"', '"version":2,"package":"')
    path.write_bytes(data)
    with pytest.raises(NewerFormatError, match=r"version 2, written by pegasos 0.*upgrade"):
        model_file.read(path)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("coef", np.full((3, 5), np.inf), "not all finite"),
        ("coef", np.zeros((5, 3)), "coefficients are"),
        ("coef", np.zeros((3, 5), dtype=np.float32), "should be of float64"),
        ("classes.ends", np.array([5, 3, 8]), "do not fit"),
        ("classes.ends", np.array([-5, 3, 8]), "do not fit"),
        ("classes.utf8", np.full(4, 255, dtype=np.uint8), "do not fit|UTF-8"),
        ("calibrators.sigmoid", np.array([1, 2, 1], dtype=np.uint8), "other than 0 and 1"),
        ("calibrators.sigmoid", np.array([1, 1, 1], dtype=np.uint8), "one A and one B"),
        ("certificate.rounding", np.full(3, -1.0), "negative"),
        ("certificate.primal", np.zeros(3), "contradicts"),
        ("certificate.primal", np.zeros(2), "shape"),
        ("coef.values", np.zeros(3), "unknown purpose: coef.values"),
    ],
)
def test_forged_arrays_are_named(tmp_path, name, value, what):
    path = tmp_path / "model"
    written(path)
    with safe_open(path, "numpy") as file:
        meta = file.metadata()
    save_file({**load_file(path), name: value}, path, meta)
    path.write_bytes(sealed(path.read_bytes()))
    with pytest.raises(ModelFileError, match=what):
        model_file.read(path)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("coef.indices", [0, 1, 2, 99], "index 99 in row 2 is outside"),
        ("coef.indices", [0, 1, 2, -1], "index -1 in row 2 is outside"),
        ("coef.indices", [1, 0, 2, 3], "indices of row 0 do not increase"),
        ("coef.indices", [0, 1, 2], "from 0 to the 3 stored values"),
        ("coef.ends", [2, 1, 4], "indptr decreases after row 1"),
        ("coef.ends", [2, 3, 5], "from 0 to the 4 stored values"),
        ("coef.ends", [2, 4], "2 rows, not 3"),
    ],
)
def test_forged_sparse_coefficients_are_named(tmp_path, name, value, what):
    model = random_model(features=40, zeros=1.0)
    for lane, place in ((0, 0), (0, 1), (1, 2), (2, 3)):
        model.coef[lane, place] = 1.0
    meta, arrays = encode(model)
    assert same(decode(meta, dict(arrays), 0), model)
    arrays[name] = np.array(value, dtype=arrays[name].dtype)
    with pytest.raises(WrongContent, match=what):
        decode(meta, arrays, 0)


def lying(header, tail=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + tail


@pytest.mark.parametrize(
    "data",
    [
        (1 << 62).to_bytes(8, "little") + b"{}",
        (MOST_HEADER * 100).to_bytes(8, "little") + b"{" + b" " * 100,
        lying({"coef": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]}}),
        lying(b"{" + b"[" * 100_000),
    ],
)
def test_lies_about_sizes_take_no_memory(tmp_path, data):
    path = tmp_path / "model"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            model_file.read(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_forged_sizes_take_no_memory_either(tmp_path):
    # Dense coefficients of 8 PB, and a text array of 40 GB, in a process that has 300 MB to use.
    path = tmp_path / "model"
    names = np.array(["x" * 100_000, *map(str, range(100_000))], dtype=object)
    model = random_model("labels", names.size, 1, zeros=1.0, csr=True, certified=False)
    meta, arrays = encode(replace(model, classes=names))
    meta |= {"features": 10**15, "classes": "text", "coef": {"given": "dense", "stored": "csr"}}
    path.write_bytes(pack(meta, arrays, "0"))
    code = (
        "import resource, sys, safetensors.numpy\n"
        "from pegasos.model import file as model_file\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)\n"
        "model = model_file.read(sys.argv[1])\n"
        "print(model.features, type(model.coef).__name__, model.classes.dtype)"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert run.stdout.split() == [str(10**15), "csr_matrix", "object"], run.stderr


def test_reading_takes_about_twice_the_file(tmp_path):
    path = tmp_path / "model"
    model_file.write(replace(random_model(features=500_000)), path)
    size = path.stat().st_size
    code = (
        "import resource, sys, safetensors.numpy\n"
        "from pegasos.model import file as model_file\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "model_file.read(sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert int(run.stdout) * 1024 < 2.2 * size + 4_000_000, run.stderr


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0", "pickle, which is never loaded"),
        (b"solver_type L2R_LR\nnr_class 2\n", "LIBLINEAR model: pegasos.export.read_any"),
        (b"SVM-light Version V6.02\n", "SVM-light model"),
        (b'{"C": 1.0}', "looks like JSON"),
        (b"PK\x03\x04....", "zip archive"),
        (b"\x93NUMPY\x01\0", "NumPy array"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"+1 3:1 11:1\n-1 2:1\n", "no model file"),
    ],
)
def test_other_files_are_named(tmp_path, data, what):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=what):
        model_file.read(path)


@pytest.mark.parametrize("way", ["pegasos", "liblinear", "onnx"])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_model_before_it(tmp_path, monkeypatch, way, call):
    def save(model):
        if way == "pegasos":
            model_file.write(model, tmp_path / "model")
        else:
            export.write(model, tmp_path / "model", way)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if way == "onnx":
        pytest.importorskip("onnx", reason="the package onnx is not installed")
    save(random_model(seed=0))
    before = (tmp_path / "model").read_bytes()
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path / 'model'}'"):
        save(random_model(seed=1))
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_bytes() == before


def test_other_things_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder"):
        model_file.read(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        model_file.read(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        model_file.read(tmp_path / "pipe")
    save_file({"weights": np.zeros(3)}, tmp_path / "other", {"format": "pt"})
    with pytest.raises(ModelFileError, match="no model of this package"):
        model_file.read(tmp_path / "other")
