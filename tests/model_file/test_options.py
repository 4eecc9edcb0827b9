"""What a file may say of a fit. On 94d2949 all of these loaded, or raised something else."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.common.models import random_model

import pegasos
from pegasos.model import file as model_file

FORGED = [
    ("parameters", "checkpoint", "/tmp/elsewhere"),
    ("parameters", "checkpoint_every", 1.0),
    ("parameters", "resume", "/tmp/elsewhere"),
    ("parameters", "callbacks", [1]),
    ("parameters", "C", "x"),
    ("parameters", "C", -1),
    ("parameters", "C", True),
    ("parameters", "lam", math.inf),
    ("parameters", "tol", math.nan),
    ("parameters", "solver", []),
    ("parameters", "solver", "../dual"),
    ("parameters", "loss", "logistic_of_tomorrow"),
    ("parameters", "class_weight", {1: "heavy"}),
    ("parameters", "max_time", 0),
    ("parameters", "n_jobs", 1.5),
    ("parameters", "device", "cuda:0; rm"),
    ("parameters", "random_state", -1),
    ("training", "solver", []),
    ("training", "epochs", "x"),
    ("training", "epochs", None),
    ("training", "epochs", math.nan),
    ("training", "epochs", math.inf),
    ("training", "epochs", 10**400),
    ("training", "n_iter", 1e300),
    ("training", "stop_reason", 7),
    ("training", "rows", -1),
]


def forged(path, where, name, value):
    """A file with a right checksum that says so."""
    model = random_model(seed=1)
    told = dict(getattr(model, where)) | {name: value}
    model_file.write(replace(model, **{where: told}), path)
    return path


@pytest.mark.parametrize(("where", "name", "value"), FORGED)
def test_what_no_file_may_say_is_refused_by_name(where, name, value, tmp_path):
    path = forged(tmp_path / "m", where, name, value)
    with pytest.raises(pegasos.ModelFileError, match=f"{name}.* is .*, which no file may say"):
        pegasos.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C", 3), ("C", None), ("lam", 1e-3), ("max_time", math.inf), ("max_iter", 0.5),
        ("class_weight", "balanced"), ("class_weight", {"a": 2}), ("probability", "isotonic"),
        ("n_jobs", -1), ("device", "cuda:1"), ("verbose", True), ("random_state", 2**32 - 1),
        ("of_another_program", {"its": ["own"]}),
    ],
)  # fmt: skip
def test_what_a_fit_takes_is_taken(name, value, tmp_path):
    model = model_file.read(forged(tmp_path / "m", "parameters", name, value))
    assert model.parameters[name] == value


def test_a_file_chooses_no_path_that_a_fit_writes_to(tmp_path, monkeypatch):
    """Whatever values it has, under a right checksum: 0 raw exceptions, 0 paths."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    values = [
        "here", "", None, True, 0, -1, 2**70, 1e-320, math.nan, -math.inf, [], ["here"], {},
        {"a": [1]}, {1: None}, "a\0b", "x" * 20_000,
    ]  # fmt: skip
    names = {
        "parameters": list(pegasos.LinearSVC().get_params()),
        "training": [
            "stop_reason", "solver", "solver_reason", "solver_options", "intercept", "labels",
            "rows", "n_iter", "epochs", "seconds", "best_epoch", "best_validation_score",
        ],
    }  # fmt: skip
    loaded = 0
    for _ in range(600):
        where = ("parameters", "training")[rng.integers(2)]
        name = names[where][rng.integers(len(names[where]))]
        forged("m", where, name, values[rng.integers(len(values))])
        try:
            model = pegasos.load("m")
        except pegasos.ModelFileError:
            continue
        loaded += 1
        model = model if isinstance(model, pegasos.LinearSVC) else model[-1]
        assert model.checkpoint is model.resume is model.checkpoint_every is None
        repr(model), str(model.get_params()), model.predict(np.zeros((2, model.n_features_in_)))
    assert 30 < loaded < 400
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_what_no_file_may_say_is_not_saved(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = pegasos.LinearSVC(C=2.0).fit(X, y).set_params(tol=math.nan, device="/dev/null")
    pegasos.save(model, tmp_path / "m")
    again = pegasos.load(tmp_path / "m")
    assert (again.C, again.tol, again.device) == (2.0, 1e-3, None)
    assert set(model_file.read(tmp_path / "m").training["not_saved"]) == {"tol", "device"}
