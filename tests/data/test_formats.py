"""Formats go by the names of files; options that a format would ignore raise."""

import subprocess
import sys

import numpy as np
import pytest

from pegasos.data import FORMATS, DataError, format_of, read

NAMES = {
    "a9a": "svmlight", "a9a.t": "svmlight", "a.svm": "svmlight", "a.svmlight.gz": "svmlight",
    "a.libsvm": "svmlight", "a.txt.bz2": "svmlight", "a.csv": "csv", "a.CSV.GZ": "csv",
    "a.tsv.zst": "csv", "a.parquet": "parquet", "a.feather": "arrow", "a.arrow": "arrow",
    "a.npz": "npz", "a.npy": "npy", "a.cache": "cache",
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_by_name(name, expected):
    assert format_of(name) == expected
    assert expected in FORMATS


def test_a_folder_is_a_cache_and_binary_formats_are_not_compressed(tmp_path):
    assert format_of(tmp_path) == "cache"
    with pytest.raises(DataError, match="not a cache"):
        read(tmp_path)
    with pytest.raises(ValueError, match="npz files are not read compressed"):
        format_of("a.npz.gz")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.csv", {"zero_based": True}, "zero_based=True is of no use for .*a.csv, a csv file"),
        ("a.csv", {"multilabel": True}, "multilabel=True is of no use"),
        ("a.npz", {"header": True}, "header=True"),
        ("a.npz", {"label": 0}, "label=0"),
        ("a.npy", {"text": 1}, "text=1"),
        ("a.parquet", {"skip_bad_lines": True}, "skip_bad_lines=True"),
        ("a.parquet", {"delimiter": ";"}, "delimiter=';'"),
        ("a.cache", {"weight": "w"}, "weight='w'"),
        ("a.svm", {"label": "y"}, "label='y' is of no use for .*a.svm, a svmlight file"),
        ("a.svm", {"format": "excel"}, "format must be one of svmlight, csv"),
    ],
)
def test_options_that_would_be_ignored_raise(name, options, message):
    with pytest.raises(ValueError, match=message):
        read(name, **options)


def test_unknown_options_raise():
    with pytest.raises(TypeError, match="colour"):
        read("a.csv", colour="red")


def test_a_file_that_is_not_there():
    for name in ("none.csv", "none.npz", "none.npy"):
        with pytest.raises(FileNotFoundError):
            read(name)


@pytest.mark.parametrize(
    "module", ["pegasos", "pegasos.data", "pegasos.data.csv", "pegasos.model.linear"]
)
def test_what_is_not_needed_is_not_imported(module):
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"pandas", "pyarrow", "sklearn", "zstandard", "compression.zstd"}


def test_dtype_by_any_of_its_names(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:0.5\n")
    for name in ("float32", np.dtype("float32"), np.float32):
        assert read(path, dtype=name).X.dtype == np.float32
    with pytest.raises(ValueError, match="float32 or float64"):
        read(path, dtype=int)
