"""What is read is what was written, in every part."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file
from scipy import sparse
from tests.common.models import CLASSES, random_model, same

from pegasos.certificate import Certificate
from pegasos.model import file as model_file
from pegasos.model.file import ModelFileError
from pegasos.model.file.contents import decode, encode
from pegasos.model.file.plain import dumps, from_plain, loads, to_plain
from pegasos.model.linear import LinearModel


@st.composite
def models(draw):
    scheme = draw(st.sampled_from(["ovr", "ovo", "crammer_singer", "labels"]))
    kind = draw(st.sampled_from(CLASSES))
    return random_model(
        scheme,
        2 if kind == "bool" else draw(st.integers(2, 5)),
        draw(st.integers(1, 40)),
        kind=kind,
        zeros=draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])),
        csr=draw(st.booleans()),
        calibrated=scheme != "labels" and draw(st.booleans()),
        named=draw(st.booleans()),
        certified=draw(st.booleans()),
        seed=draw(st.integers(0, 1000)),
    )


@given(models())
def test_every_part_comes_back(model):
    meta, arrays = encode(model)
    assert same(decode(loads(dumps(meta)), dict(arrays), 0), model)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer", "labels"])
@pytest.mark.parametrize("csr", [False, True])
def test_predictions_are_the_same_to_the_bit(tmp_path, scheme, csr):
    model = random_model(scheme, 4, 30, zeros=0.8, csr=csr, calibrated=scheme != "labels")
    if not csr:  # as it comes from a fit: a part of a larger array, lanes side by side
        wide = np.zeros((31, 8))
        wide[:30, : model.lanes] = np.random.default_rng(0).standard_normal((30, model.lanes))
        model = replace(model, coef=wide[:30, : model.lanes].T)
    model_file.write(model, tmp_path / "model")
    found = model_file.read(tmp_path / "model")
    assert same(found, model)
    X = np.random.default_rng(1).standard_normal((50, 30))
    np.testing.assert_array_equal(found.scores(X), model.scores(X))
    if scheme != "labels":
        np.testing.assert_array_equal(found.predict(X), model.predict(X))
        np.testing.assert_array_equal(found.probabilities(X), model.probabilities(X))


def test_the_same_model_gives_the_same_bytes_and_others_can_read_them(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    model = random_model(named=True, calibrated=True)
    model_file.write(model, one)
    model_file.write(model, two)
    assert one.read_bytes() == two.read_bytes()
    arrays = load_file(one)
    np.testing.assert_array_equal(arrays["coef"], model.coef)
    with safe_open(one, "numpy") as file:
        meta = json.loads(file.metadata()["pegasos_model"])
    assert meta["format"] == "pegasos linear model"
    assert meta["version"] == model_file.VERSION
    assert meta["parameters"]["C"] == 0.1


def test_mostly_zero_coefficients_take_little_room(tmp_path):
    model = random_model(features=100_000, zeros=0.999)
    model_file.write(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 0.01 * model.coef.nbytes
    assert same(model_file.read(tmp_path / "model"), model)


def test_coefficients_beyond_what_the_file_warrants_stay_sparse(tmp_path):
    # Two numbers that stand for 32 MB; the model predicts all the same.
    huge = sparse.csr_matrix(([2.0, -1.0], [5, 4_000_000 - 1], [0, 2]), shape=(1, 4_000_000))
    model = replace(random_model(classes=2, certified=False), coef=huge, feature_names=None)
    meta, arrays = encode(model)
    meta["coef"]["given"] = "dense"
    found = decode(meta, arrays, 1000)
    assert sparse.issparse(found.coef)
    X = sparse.csr_matrix(([1.0, 1.0], [5, 4_000_000 - 1], [0, 2]), shape=(1, 4_000_000))
    assert found.scores(X) == pytest.approx(1.0 + model.intercept)


def test_certificates_of_one_problem_are_floats(tmp_path):
    proof = Certificate(0.1 + 0.2, 0.3, 1e-17 * 3)
    for model in (random_model(classes=2), random_model("crammer_singer", 4)):
        model_file.write(replace(model, certificate=proof), tmp_path / "model")
        found = model_file.read(tmp_path / "model").certificate
        assert found == proof
        assert isinstance(found.primal, float)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text() | st.integers() | st.booleans(), inner)
            | st.dictionaries(st.just("$"), inner)
        ),
        max_leaves=20,
    )
)
def test_plain_values_come_back_equal(value):
    assert from_plain(loads(dumps(to_plain(value)))) == value


@given(st.lists(st.text(st.characters())), st.booleans())
def test_any_strings_are_names(texts, objects):
    texts = [*sorted(set(texts)), "\ud800 lone", "zero \0 inside"]
    names = np.array(texts, dtype=object if objects else None)
    if np.unique(names).size < names.size:
        return  # text arrays drop zeros at the end
    model = random_model("labels", names.size, certified=False)
    meta, arrays = encode(replace(model, classes=names))
    found = decode(meta, arrays, 0)
    assert found.classes.tolist() == names.tolist()
    assert found.classes.dtype == names.dtype


class Doubling:
    kind = "doubling"

    def __init__(self, factor, names):
        self.factor, self.names = factor, names

    def apply(self, data):
        return replace(data, X=data.X * self.factor)

    def meta(self):
        return {"note": "twice", "limits": (1, 2)}

    def arrays(self):
        return {"factor": self.factor, "names": self.names, "on": np.array([True, False])}


def restore(kind, meta, arrays):
    if kind != "doubling":
        raise ValueError(f"unknown step {kind!r}")
    assert meta == {"note": "twice", "limits": [1, 2]}
    assert arrays["on"].tolist() == [True, False]
    return Doubling(arrays["factor"], arrays["names"])


def test_steps_come_back_by_their_kind(tmp_path, monkeypatch):
    monkeypatch.setattr("pegasos.model.file.contents.restore", restore)
    step = Doubling(np.float32([2.0]), np.array(["a", "bé"]))
    model = replace(random_model(), steps=(step, step))
    model_file.write(model, tmp_path / "model")
    found = model_file.read(tmp_path / "model")
    assert [one.names.tolist() for one in found.steps] == [["a", "bé"]] * 2
    assert found.steps[0].factor.dtype == np.float32
    step.kind = "unheard of"
    model_file.write(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"step 0 .*unheard of"):
        model_file.read(tmp_path / "model")


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ({"coef": np.full((3, 5), np.nan)}, "not all finite"),
        ({"coef": np.zeros((4, 5)), "intercept": np.zeros(4)}, "4 weight vectors"),
        ({"intercept": np.zeros(2)}, "intercepts have the shape"),
        ({"classes": np.array([1, 1, 2])}, "the same"),
        ({"classes": np.array([1j, 2, 3])}, "complex"),
        ({"classes": np.array([1, "a", None], dtype=object)}, "array of object"),
        ({"feature_names": ("a",)}, "1 names for 5"),
        ({"calibrators": ()}, "0 calibrators"),
        ({"parameters": {"C": object()}}, "parameters: a object cannot be saved"),
        ({"scheme": "all"}, "scheme 'all' is unknown"),
        ({"certificate": Certificate(1.0, 2.0, 0.0)}, "contradicts itself"),
        ({"certificate": Certificate(np.inf, 2.0, 0.0)}, "not finite"),
        ({"parameters": {"x": "y" * 2_000_000}}, "more than the"),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path, part, what):
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match=what):
        model_file.write(replace(random_model(), **part), path)
    assert not path.exists()


def test_no_scikit_learn_is_imported(tmp_path):
    model_file.write(random_model(calibrated=True), tmp_path / "model")
    code = (
        "import sys, pegasos; assert 'safetensors' not in sys.modules\n"
        "from pegasos.model import file as model_file; model = model_file.read(sys.argv[1])\n"
        "model.predict(model.coef); model.probabilities(model.coef)\n"
        "import pegasos.export; pegasos.export.write(model, sys.argv[1] + '.txt', 'liblinear')\n"
        "assert not {'sklearn', 'onnx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "model"], check=True)


def test_models_have_names_in_the_package():
    import pegasos

    assert pegasos.LinearModel is LinearModel
    assert pegasos.ModelFileError is ModelFileError
