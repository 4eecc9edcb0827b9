"""Files may hold any numbers: charts leave out what they cannot show."""

from dataclasses import replace

import numpy as np
import pytest
from tests.common.models import random_model
from tests.report.reading import parsed, section

from pegasos.certificate import Certificate
from pegasos.report import Rows, Scored, about_model, make, proof

STRANGE = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-320, 1e308]


def page(model):
    scored = Scored(about_model(model))
    X = np.random.default_rng(0).normal(size=(9, 5))
    scored.add(model.scores(X), model.classes[np.arange(9) % 3], X=X)
    return make(scored, Rows(), "strange").html


@pytest.mark.parametrize("value", STRANGE)
def test_strange_histories_and_paths(value):
    model = random_model()
    history = {name: [value, 0.5, value] for name in model.history}
    path = {**model.path, "C": [value, value], "mean": [value, 0.5], "error": [0.1, value]}
    tree = parsed(page(replace(model, history=history, path=path)))
    for element in tree.iter():
        for name in ("points", "x", "y", "cx", "cy", "width", "height"):
            assert "nan" not in element.attrib.get(name, "")
            assert "inf" not in element.attrib.get(name, "")


@pytest.mark.parametrize(
    ("gap", "kind", "said"),
    [(0.0005, "proven", "Proven within 0.05% of the best"), (0.5, "short", "ended before"),
     (3.0, "short", "at most 4 times the best possible"), (np.inf, "short", "Nothing is proven")],
)  # fmt: skip
def test_what_is_proven(gap, kind, said):
    dual = 0.0 if np.isinf(gap) else 1 / (1 + gap)
    model = replace(
        random_model(classes=2),
        certificate=Certificate(1.0, dual, 1e-16),
        parameters={"tol": 1e-3},
        training={"stop_reason": "max_time"},
    )
    found = proof.certificate(about_model(model))
    assert found["kind"] == kind
    assert said in found["headline"] or said in " ".join(found["words"])


def test_without_a_certificate_the_page_says_how_to_get_one():
    tree = parsed(page(random_model(certified=False)))
    assert "pegasos certify MODEL ROWS" in section(tree, "certificate")
