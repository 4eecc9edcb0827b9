"""The rules of a model that is saved or read: each one at its edge, and by its whole message."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.common.models import random_model, same

from pegasos.certificate import Certificate
from pegasos.model.file.check import check_model
from pegasos.model.file.contents import decode, encode
from pegasos.model.file.errors import WrongContent
from pegasos.model.file.plain import dumps, loads
from pegasos.tasks.probability import Isotonic, Sigmoid


@pytest.mark.parametrize("csr", [False, True])
def test_every_number_is_looked_at(csr):
    size = (1 << 20) + 2  # more than are looked at together
    dense = np.ones((1, size))
    coef = sparse.csr_array(dense) if csr else dense
    model = replace(random_model(classes=2), coef=coef, feature_names=None)
    check_model(model)
    values = coef.data if csr else coef[0]
    for place in (0, size - 3, size - 2, size - 1):
        values[place] = np.nan
        with pytest.raises(WrongContent, match="coefficients are not all finite"):
            check_model(model)
        values[place] = 1.0


def lanes(count, scheme, classes):
    return {"coef": np.zeros((count, 5)), "intercept": np.zeros(count), "scheme": scheme,
            "classes": np.arange(classes), "certificate": None}  # fmt: skip


def history(**columns):
    return {"history": dict(random_model().history) | columns}


def path(**columns):
    return {"path": dict(random_model().path) | columns}


RIGHT = [
    lanes(1, "ovr", 2), lanes(4, "ovr", 4), lanes(1, "ovo", 2), lanes(6, "ovo", 4),
    lanes(1, "crammer_singer", 2), lanes(2, "crammer_singer", 2), lanes(4, "crammer_singer", 4),
    lanes(1, "labels", 1), lanes(4, "labels", 4), {"history": {}}, {"path": {}}, path(chosen=1),
    {"certificate": Certificate(1.0, 1.0, 0.0)},
    {"calibrators": (Sigmoid(1.0, 0.0), Isotonic(np.zeros(1), np.zeros(1)),
                     Isotonic(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])))},
]  # fmt: skip


@pytest.mark.parametrize("parts", RIGHT, ids=range(len(RIGHT)))
def test_models_at_the_edge_of_the_rules_are_saved(parts):
    model = replace(random_model(), **parts)
    meta, arrays = encode(model)
    assert same(decode(loads(dumps(meta)), dict(arrays), 0), model)


def curve(x, y):
    return {"calibrators": (Isotonic(np.array(x), np.array(y)),) * 3}


def takes(count, scheme, classes):
    return f"it has {count} weight vectors, which is not what {classes} classes take ({scheme})"


def bound(name, what):
    return f"the {name} of its certificate is {what}"


ONE, THREE = np.ones(1), np.ones(3)
PLATT = (Sigmoid(1.0, 0.0),)
NEGATIVE = "its certificate has a negative rounding bound"
SIGMOID = "a sigmoid of it is not finite"
WRONG = [
    ({"coef": np.zeros(5)}, "its coefficients are no matrix (lanes, features)"),
    ({"coef": np.zeros((3, 0))}, "it has no coefficients"),
    (lanes(0, "ovr", 3), "it has no coefficients"),
    ({"intercept": np.array([0.0, np.inf, 0.0])}, "its intercepts are not all finite"),
    ({"intercept": np.zeros((3, 1))}, "its intercepts have the shape (3, 1), and should be (3,)"),
    ({"classes": np.zeros((3, 1))}, "its classes are no list"),
    ({"classes": np.array([1.0, np.nan, 2.0])}, "its classes are not all finite"),
    ({"classes": np.array(["a", "b", "a"])}, "some of its classes are the same"),
    (lanes(1, "ovr", 1), "it has 1 classes"),
    (lanes(0, "labels", 0), "it has no coefficients"),
    (lanes(2, "ovr", 2), takes(2, "ovr", 2)),
    (lanes(1, "ovr", 3), takes(1, "ovr", 3)),
    (lanes(3, "ovr", 4), takes(3, "ovr", 4)),
    (lanes(4, "ovo", 4), takes(4, "ovo", 4)),
    (lanes(2, "ovo", 2), takes(2, "ovo", 2)),
    (lanes(3, "crammer_singer", 2), takes(3, "crammer_singer", 2)),
    (lanes(1, "crammer_singer", 3), takes(1, "crammer_singer", 3)),
    (lanes(1, "labels", 2), takes(1, "labels", 2)),
    ({"certificate": Certificate(ONE, ONE, 0 * ONE)}, bound("primal", "no number")),
    ({"certificate": Certificate(THREE, ONE, 0 * THREE)}, bound("dual", "no number")),
    ({"certificate": Certificate(THREE, THREE, ONE)}, bound("rounding", "no number")),
    ({"certificate": Certificate(1.0, -np.inf, 0.0)}, bound("dual", "not finite")),
    ({"certificate": Certificate(1.0, 1.0, np.inf)}, bound("rounding", "not finite")),
    ({"certificate": Certificate(2.0, 1.0, -1e-9)}, NEGATIVE),
    (history(epoch=[1.0]), "its history is no table of numbers"),
    (history(epoch=[1, 2, 3, 4]), "its history is no table of numbers"),
    (history(epoch=(1.0, 2.0, 3.0, 4.0)), "its history is no table of numbers"),
    ({"history": {"epoch": [1.0]}}, "its history is no table of numbers"),
    (path(mean=[0.5]), "its path is no table of numbers"),
    (path(mean=[0, 1]), "its path is no table of numbers"),
    ({"path": {"chosen": 0, "scoring": "f1", "folds": 3}}, "its path is no table of numbers"),
    ({"history": {}} | path(mean=[0.5]), "its path is no table of numbers"),
    ({"certificate": Certificate(1.0, 2.0, 0.5)}, "its certificate contradicts itself"),
    (path(chosen=2), "the C that was chosen is not on its path"),
    (path(chosen=-1), "the C that was chosen is not on its path"),
    (path(chosen=1.0), "the C that was chosen is not on its path"),
    (path(scoring=None), "its path does not say how it was scored"),
    (path(folds=3.0), "its path does not say how it was scored"),
    ({"feature_names": tuple("abcdef")}, "it has 6 names for 5 features"),
    ({"calibrators": PLATT * 2}, "it has 2 calibrators for 3 lanes"),
    (lanes(3, "labels", 3) | {"calibrators": PLATT * 3}, "it has 3 calibrators for 3 lanes"),
    ({"calibrators": (Sigmoid(1.0, 0.0), Sigmoid(np.nan, 0.0), Sigmoid(1.0, 0.0))}, SIGMOID),
    ({"calibrators": (Sigmoid(1.0, np.inf),) * 3}, SIGMOID),
    ({"calibrators": (None,) * 3}, "a calibrator of type NoneType cannot be saved"),
    (curve([], []), "a calibration curve has no knots"),
    (curve([0.0, 1.0], [0.5]), "a calibration curve has no knots"),
    (curve([[0.0]], [[0.5]]), "a calibration curve has no knots"),
    (curve([np.nan], [0.5]), "a calibration curve is not finite"),
    (curve([0.0], [np.nan]), "a calibration curve is not finite"),
    (curve([1.0, 0.0], [0.1, 0.2]), "a calibration curve does not rise from 0 to 1"),
    (curve([0.0, 1.0], [0.2, 0.1]), "a calibration curve does not rise from 0 to 1"),
    (curve([0.0, 1.0], [-0.1, 0.1]), "a calibration curve does not rise from 0 to 1"),
    (curve([0.0, 1.0], [0.1, 1.1]), "a calibration curve does not rise from 0 to 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "what"), WRONG, ids=[f"{k} {w}" for k, (_, w) in enumerate(WRONG)]
)
def test_what_does_not_fit_is_named(parts, what):
    with pytest.raises(WrongContent) as error:
        encode(replace(random_model(), **parts))
    assert str(error.value) == what
