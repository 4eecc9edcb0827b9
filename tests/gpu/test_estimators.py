"""LinearSVC on a device: the models of the CPU, as arrays like X."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from tests.common.toys import toy

import pegasos

TOL = 1e-6


def pair(X, y, weight=None, **options):
    """A model of the device and one of the CPU."""
    options = {"tol": TOL, "C": 0.1, "random_state": 0} | options
    ours = pegasos.LinearSVC(device="cpu", **options).fit(X, y, weight)
    return ours, pegasos.LinearSVC(**options).fit(X, y, weight)


def agree(ours, theirs, X):
    """Both are proven within tol of one optimum, and give scores and classes that are the same."""
    assert ours.stop_reason_ == theirs.stop_reason_ == "converged"
    mine, other = ours.certificate_, theirs.certificate_
    assert np.all(mine.relative_gap <= TOL)
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=TOL)
    assert np.all(mine.dual <= other.primal * (1 + 1e-12))
    assert np.all(other.dual <= mine.primal * (1 + 1e-12))
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert np.shape(ours.coef_) == theirs.coef_.shape
    assert np.shape(ours.intercept_) == theirs.intercept_.shape
    scores = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=0.02)
    best = np.sort(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
    clear = best[:, -1] > best[:, -2] + 0.05  # rows on the margins of two classes are not
    assert clear.mean() > 0.9
    assert np.array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_ten_classes(digits, loss):
    X, y = digits
    ours, theirs = pair(X, y, loss=loss)
    agree(ours, theirs, X)
    assert ours.coef_.shape == (10, 64)
    assert ours.n_features_in_ == 64
    assert ours.solver_.name == "interior"
    assert "10 problems on cpu" in ours.solver_reason_
    assert ours.n_iter_ == int(ours.history_["epoch"][-1])
    assert ours.score(X, y) > 0.95
    np.testing.assert_allclose(ours.dual_gap_, ours.certificate_.gap)


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("solver", ["interior", "newton", "auto"])
def test_two_classes_of_names(odd, solver, intercept):
    X, y = odd
    ours, theirs = pair(X, y, solver=solver, intercept=intercept)
    agree(ours, theirs, X)
    assert list(ours.classes_) == ["even", "odd"]
    assert isinstance(ours.objective_, float)
    scores = ours.decision_function(X)
    assert scores.shape == (1797,)
    assert np.array_equal(ours.predict(X), np.where(scores > 0, "odd", "even"))


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 2: 0.2}},
        {"C": 1.0, "lam": 1e-3},
        {"fit_intercept": False},
        {"intercept_scaling": 5.0},
        {"C": 3.0, "class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("count", [2, 4])
def test_options_mean_the_same(digits, options, count):
    X, y = digits
    some = (y < count) & ((y != 1) | (np.arange(y.size) % 3 == 0))  # fewer ones
    rng = np.random.default_rng(0)
    X, y = X[some] + 0.4 * rng.normal(size=(some.sum(), 64)), y[some]  # harder to tell apart
    weight = rng.integers(0, 3, y.size).astype(float)
    for given in (None, weight):
        if count == 2 and isinstance(options.get("class_weight"), dict):
            options = options | {"class_weight": {0: 3.0, 1: 0.2}}
        agree(*pair(X, y, given, **options), X)


def test_tensors_stay_tensors(digits):
    X, y = digits
    rows, labels = torch.from_numpy(X).float(), torch.from_numpy(y)
    model = pegasos.LinearSVC(device="cpu", C=0.1, random_state=0).fit(rows, labels)
    plain = pegasos.LinearSVC(device="cpu", C=0.1, random_state=0).fit(rows.numpy(), y)
    assert isinstance(model.coef_, torch.Tensor)
    assert model.coef_.dtype == model.intercept_.dtype == torch.float64
    assert tuple(model.coef_.shape) == (10, 64)
    assert tuple(model.intercept_.shape) == (10,)
    assert isinstance(model.classes_, np.ndarray)
    assert isinstance(plain.coef_, np.ndarray)
    np.testing.assert_array_equal(model.coef_.numpy(), plain.coef_)
    scores, found = model.decision_function(rows), model.predict(rows)
    assert isinstance(scores, torch.Tensor)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == labels.dtype
    np.testing.assert_allclose(scores, rows.double() @ model.coef_.T + model.intercept_, rtol=1e-9)
    assert torch.equal(found, scores.argmax(1))
    # NumPy's rows are scored by NumPy.
    there = model.predict(X.astype(np.float32))
    assert isinstance(there, np.ndarray)
    np.testing.assert_array_equal(there, found.numpy())
    np.testing.assert_allclose(model.decision_function(rows.numpy()), scores, rtol=1e-6, atol=1e-9)
    assert model.score(rows, labels) == accuracy_score(y, found.numpy())
    assert plain.score(rows.numpy(), y) == model.score(X, y)
    weight = np.where(found.numpy() == y, 1.0, 50.0)
    expected = accuracy_score(y, found.numpy(), sample_weight=weight)
    for given in (weight, torch.from_numpy(weight)):
        assert model.score(rows, labels, given) == pytest.approx(expected, rel=1e-12)
    assert expected < 0.8


def test_two_classes_of_tensors(odd):
    X, y = odd
    rows, labels = torch.from_numpy(X).bfloat16(), torch.from_numpy((y == "odd").astype(np.int32))
    model = pegasos.LinearSVC(device="cpu", C=0.1).fit(rows, labels)
    assert model.classes_.tolist() == [0, 1]
    scores, found = model.decision_function(rows), model.predict(rows)
    assert tuple(scores.shape) == (1797,)
    assert found.dtype == torch.int32
    assert torch.equal(found == 1, scores > 0)
    named = pegasos.LinearSVC(device="cpu", C=0.1, random_state=0).fit(rows, y)
    assert isinstance(named.predict(rows), np.ndarray)  # torch has no names
    assert np.mean(named.predict(rows) == y) > 0.85


def test_classes_are_of_the_type_of_y():
    data = toy(60, 4, seed=1)
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.Y[:, 0].copy())
    for labels in (y, y.float(), y.long(), (y > 0).to(torch.uint8), y > 0):
        model = pegasos.LinearSVC(device="cpu").fit(X, labels)
        assert model.predict(X).dtype == labels.dtype
        assert model.score(X, labels) > 0.65
        assert model.classes_.dtype == labels.numpy().dtype


def test_scores_of_rows_that_do_not_fit_the_model(digits):
    X, y = digits
    rows = torch.from_numpy(X)
    model = pegasos.LinearSVC(device="cpu", C=0.1).fit(rows, y)
    with pytest.raises(ValueError, match="X has 63 features, but the model expects 64"):
        model.predict(rows[:, 1:])
    wrong = rows.clone()
    wrong[5, 3] = torch.nan
    with pytest.raises(ValueError, match="NaN or infinity at row 5"):
        model.decision_function(wrong)
    with pytest.raises(ValueError, match="63 features"):
        model.predict(X[:, 1:])


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_fit_of_tensors_can_be_saved_copied_and_exported(digits, tmp_path, kind):
    X, y = digits
    rows = torch.from_numpy(X).to(getattr(torch, kind))
    model = pegasos.LinearSVC(device="cpu", C=0.1, random_state=0).fit(rows, torch.from_numpy(y))
    pegasos.save(model, tmp_path / "m.pegasos")
    again = pegasos.load(tmp_path / "m.pegasos")
    assert isinstance(again.coef_, np.ndarray)
    np.testing.assert_array_equal(again.coef_, model.coef_.numpy())
    np.testing.assert_array_equal(again.intercept_, model.intercept_.numpy())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.certificate_.primal, model.certificate_.primal)
    assert again.device == "cpu"
    copied = deepcopy(model)
    assert torch.equal(copied.coef_, model.coef_)
    assert torch.equal(copied.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(model.as_sklearn().predict(X), model.predict(X))
    model.export(tmp_path / "m.model")
    assert (tmp_path / "m.model").read_text().startswith("solver_type")
    device = pegasos.LinearSVC(device=torch.device("cpu"), C=0.1).fit(rows, y)
    pegasos.save(device, tmp_path / "d.pegasos")
    assert pegasos.load(tmp_path / "d.pegasos").device is None  # no text, not saved


def test_parameters_are_kept():
    model = pegasos.LinearSVC(device="cuda:1")
    assert model.get_params()["device"] == "cuda:1"
    assert clone(model).device == "cuda:1"
    assert clone(pegasos.LinearSVCCV(device="cpu")).device == "cpu"
    assert pegasos.LinearSVC().device is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer' is not offered"),
        ({"warm_start": True, "solver": "newton"}, "'newton' would ignore warm_start=True"),
        ({"prune": 0.1}, "prune=0.1 is not offered"),
        ({"solver": "dual"}, "'dual' does not run on a device"),
        ({"C": -1.0}, "C must be finite and positive"),
        ({"class_weight": "heavy"}, "class_weight must be a dict"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_said(options, words):
    data = toy(60, 4, seed=1)
    with pytest.raises(ValueError, match=words):
        pegasos.LinearSVC(device="cpu", **options).fit(data.X, data.Y[:, 0])
    if options.keys() & {"C", "warm_start", "prune"}:
        return
    with pytest.raises(ValueError, match=words):
        pegasos.LinearSVCCV(device="cpu", Cs=[1.0], cv=2, **options).fit(data.X, data.Y[:, 0])


def test_other_things_that_are_refused():
    data = toy(60, 4, seed=1)
    X, y = data.X, data.Y[:, 0]
    model = pegasos.LinearSVC(device="cpu")
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(60))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match=r"y must be \(n,\), got shape \(60, 2\)"):
        model.fit(X, np.stack([y, 2 * y], axis=1).astype(int))
    with pytest.raises(ValueError, match="fit one for each column"):
        pegasos.LinearSVCCV(device="cpu").fit(X, np.stack([y > 0, y < 0], axis=1).astype(int))
    with pytest.raises(ValueError, match=r"class .*1.* has a sample_weight of zero"):
        model.fit(X, y, (y < 0).astype(float))
    wrong = X.copy()
    wrong[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(wrong, y)


def test_numbers_are_no_classes():
    data = toy(60, 4, seed=1)
    for y in (data.X[:, 0], torch.from_numpy(data.X[:, 0].copy())):
        with pytest.raises(ValueError, match="continuous"):
            pegasos.LinearSVC(device="cpu").fit(data.X, y)


def test_there_is_no_partial_fit_that_would_ignore_the_device():
    data = toy(60, 4, seed=1)
    with pytest.raises(AttributeError, match="device"):
        pegasos.LinearSVC(device="cpu").partial_fit(data.X, data.Y[:, 0])


def test_a_fit_that_ends_too_soon_warns():
    data = toy(200, 5, seed=2)
    with pytest.warns(ConvergenceWarning, match="max_epochs"):
        model = pegasos.LinearSVC(device="cpu", tol=1e-9, max_iter=2).fit(data.X, data.Y[:, 0])
    assert model.stop_reason_ == "max_epochs"
    assert model.n_iter_ == 2
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        pegasos.LinearSVC(
            device="cpu", tol=1e-9, callbacks=[lambda record: seen.append(record) or True]
        ).fit(data.X, data.Y[:, 0])
    assert len(seen) == 1


def test_nothing_is_left_of_an_earlier_fit():
    data = toy(200, 5, seed=2)
    X, y = data.X, data.Y[:, 0]
    model = pegasos.LinearSVC(probability=True, random_state=0).fit(X, y, eval_set=(X, y))
    assert hasattr(model, "best_epoch_")
    model.set_params(probability=False, device="cpu").fit(X, y)
    for name in ("calibrators_", "_duals", "best_epoch_", "best_validation_score_"):
        assert not hasattr(model, name), name
    labels = np.stack([y > 0, X[:, 0] > 0], axis=1).astype(int)
    model = pegasos.LinearSVC().fit(X, labels).set_params(device="cpu").fit(X, y)
    assert model.predict(X).shape == (200,)
    model.set_params(device=None, solver="auto").fit(torch.from_numpy(X).numpy(), y)
    assert isinstance(model.coef_, np.ndarray)


def test_columns_of_frames_keep_their_names():
    data = toy(200, 5, seed=2)
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    ours = pegasos.LinearSVC(device="cpu").fit(frame, data.Y[:, 0])
    assert ours.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        ours.predict(frame[list("edcba")])
