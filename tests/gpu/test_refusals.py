"""What is refused, and how that is said."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import pegasos
from pegasos.testing.toys import toy
from pegasos.util.devices import gpu_part

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data():
    return toy(300, 6, seed=3)


def where(array):
    return array.__array_interface__["data"][0]


def changed(values, at, value):
    out = np.array(values, dtype=np.float64)
    out[at] = value
    return out


def refusals():
    data = toy(30, 4, seed=1)
    X, y, w = data.X, data.Y[:, 0], data.weight
    sparse_tensor = torch.from_numpy(X).to_sparse()
    return {
        "no device": ({"device": "gpu"}, ValueError, "name of a torch device, .* got 'gpu'"),
        "no name": ({"device": 1.5}, ValueError, "name of a torch device, .* got 1.5"),
        "strange device": ({"device": "meta"}, ValueError, "CPU, got 'meta'"),
        "sparse tensor": ({"X": sparse_tensor}, TypeError, "X is a sparse tensor"),
        "one dimension": ({"X": X[:, 0]}, ValueError, r"two-dimensional .* shape \(30,\)"),
        "three dimensions": ({"X": X[None]}, ValueError, r"two-dimensional .*\(1, 30, 4\)"),
        "no rows": ({"X": X[:0], "y": y[:0]}, ValueError, r"no rows .*\(0, 4\)"),
        "no columns": ({"X": X[:, :0]}, ValueError, r"no columns.*\(30, 0\)"),
        "text": ({"X": X.astype(str)}, TypeError, "X must hold real numbers"),
        "complex": ({"X": X.astype(complex)}, TypeError, "X must hold real numbers"),
        "complex tensor": ({"X": torch.ones(30, 4).cfloat()}, TypeError, "X must hold real"),
        "NaN": ({"X": changed(X, (7, 2), np.nan)}, ValueError, "row 7, column 2"),
        "infinity": ({"X": changed(X, (9, 3), -np.inf)}, ValueError, "row 9, column 3"),
        "too large": ({"X": changed(X, 5, 1e200)}, ValueError, "norm of row 5 overflows"),
        "NaN in float16": (
            {"X": torch.from_numpy(changed(X, (3, 1), np.nan)).half()}, ValueError, "row 3, col"
        ),
        "no labels": ({"y": None}, ValueError, "y is missing"),
        "few labels": ({"y": y[:20]}, ValueError, "X has 30 rows, y has 20"),
        "few columns": ({"y": data.Y[:20]}, ValueError, "X has 30 rows, y has 20"),
        "few names": ({"y": np.array(["a", "b"])}, ValueError, "X has 30 rows, y has 2"),
        "one class": ({"y": np.ones(30)}, ValueError, "two classes, got 1"),
        "one name": ({"y": ["a"] * 30}, ValueError, "two classes, got 1"),
        "three classes": ({"y": np.arange(30) % 3}, ValueError, "two classes, got 3; .*LinearSVC"),
        "NaN in y": ({"y": changed(y, 4, np.nan)}, ValueError, "y contains NaN .* row 4"),
        "mixed y": ({"y": np.array([1, "a"] * 15, dtype=object)}, TypeError, "several types"),
        "cubes": ({"y": np.ones((30, 1, 1))}, ValueError, r"y must be \(n,\)"),
        "wrong sign": (
            {"y": changed(data.Y, (6, 0), 2)}, ValueError, r"-1, 0 and \+1, got 2.0 at row 6, col"
        ),
        "NaN sign": ({"y": changed(data.Y, (6, 0), np.nan)}, ValueError, "got nan at row 6"),
        "no sign": (
            {"y": np.stack([y, np.abs(y)], axis=1)}, ValueError, "none of class -1 in column 1"
        ),
        "few weights": ({"sample_weight": w[:7]}, ValueError, r"one entry per row \(30\)"),
        "a negative weight": (
            {"sample_weight": changed(w, 3, -1)}, ValueError, "not negative, got -1.0 at row 3"
        ),
        "a NaN weight": ({"sample_weight": changed(w, 2, np.nan)}, ValueError, "got nan at row 2"),
        "no weight": ({"sample_weight": 0 * w}, ValueError, "zero for every row"),
        "one class weighs": (
            {"sample_weight": w * (y > 0)}, ValueError, "none of class -1 is there with a positive"
        ),
        "weights of tensors": (
            {"sample_weight": torch.ones(7)}, ValueError, r"one entry per row \(30\)"
        ),
        "a negative tensor": (
            {"sample_weight": torch.from_numpy(changed(w, 3, -1))}, ValueError, "at row 3"
        ),
        "no weight in a tensor": ({"sample_weight": torch.zeros(30)}, ValueError, "for every row"),
        "dual": ({"solver": "dual"}, ValueError, "'dual' does not run on a device"),
        "both": ({"lam": 1.0}, ValueError, "exactly one of lam and C"),
        "a negative C": ({"C": -1.0}, ValueError, "C must be finite and positive"),
        "many C": ({"C": [1.0, 2.0]}, ValueError, "C must be one number or 1"),
        "a strange scaling": (
            {"intercept": "regularized", "intercept_scaling": 0.0}, ValueError, "intercept_scaling"
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(refusals()))
def test_it_says_what_is_wrong(name):
    data = toy(30, 4, seed=1)
    changes, error, words = refusals()[name]
    given = {"X": data.X, "y": data.Y[:, 0], "C": 1.0, "device": "cpu"} | changes
    with pytest.raises(error, match=words):
        pegasos.solve(given.pop("X"), given.pop("y"), **given)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there(data):
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(ValueError, match=r"torch finds no GPU here.*leave device out"):
            pegasos.solve(data.X, data.Y[:, 0], C=1.0, device=device)
        with pytest.raises(ValueError, match="torch finds no GPU here"):
            pegasos.LinearSVC(device=device).fit(data.X, data.Y[:, 0])


def test_it_says_what_to_install_where_torch_is_missing(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    words = r"pip install 'pegasos\[gpu\]', or leave device out"
    with pytest.raises(ImportError, match=words):
        gpu_part("solving")
    with pytest.raises(ImportError, match=words):
        pegasos.solve(data.X, data.Y[:, 0], C=1.0, device="cuda")
    for model in (pegasos.LinearSVC(device="cuda"), pegasos.LinearSVCCV(device="cuda", cv=2)):
        with pytest.raises(ImportError, match=words):
            model.fit(data.X, data.Y[:, 0])
    assert pegasos.solve(data.X, data.Y[:, 0], C=1.0).stop_reason == "converged"


def test_nothing_on_the_cpu_imports_torch():
    code = """
import sys
import numpy as np
import pegasos
assert "torch" not in sys.modules and "sklearn" not in sys.modules
X = np.random.default_rng(0).normal(size=(50, 3))
y = np.where(X[:, 0] > 0, 1, -1)
pegasos.solve(X, y, C=1.0)
model = pegasos.LinearSVC().fit(X, y)
model.predict(X), model.decision_function(X)
pegasos.LinearSVCCV(Cs=2, cv=2).fit(X, y)
found = [name for name in sys.modules if name.split(".")[0] in ("torch", "triton")]
rooms = ("pegasos.gpu", "pegasos.sites.device")
assert not found and not any(name.startswith(rooms) for name in sys.modules), found
pegasos.solve(X, y, C=1.0, device="cpu")
assert "torch" in sys.modules
print("fine")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr
