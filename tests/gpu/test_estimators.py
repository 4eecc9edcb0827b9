"""LinearSVC and LinearSVCCV on a device: the models of the CPU, as arrays like X."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

import pegasos
from pegasos.gpu import path
from pegasos.testing.toys import toy

TOL = 1e-6


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def odd(digits):
    X, y = digits
    return X, np.where(y % 2, "odd", "even")


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
        {"lam": 1e-3},
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
    for copied in (deepcopy(model), pickle.loads(pickle.dumps(model))):
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
        ({"multi_class": "ovo"}, "multi_class='ovo' is not offered on a device"),
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer' is not offered"),
        ({"probability": True}, "probability=True is not offered"),
        ({"probability": "isotonic"}, "probability='isotonic' is not offered"),
        ({"warm_start": True}, "warm_start=True is not offered"),
        ({"prune": 0.1}, "prune=0.1 is not offered"),
        ({"checkpoint": "folder"}, "checkpoint='folder' is not offered"),
        ({"resume": "folder"}, "resume='folder' is not offered"),
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
    with pytest.raises(ValueError, match="eval_set is not offered on a device"):
        model.fit(X, y, eval_set=(X, y))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(60))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match=r"y must be \(n,\), got shape \(60, 2\)"):
        model.fit(X, np.stack([y > 0, y < 0], axis=1).astype(int))
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


# LinearSVCCV.
def paths(X, y, weight=None, **options):
    options = {"Cs": [0.001, 0.01, 0.1, 1.0], "cv": 3, "tol": TOL, "random_state": 0} | options
    ours = pegasos.LinearSVCCV(device="cpu", **options).fit(X, y, weight)
    return ours, pegasos.LinearSVCCV(**options).fit(X, y, weight)


def alike(ours, theirs, n):
    """Models within tol may tell a row or two apart."""
    assert ours.scores_.shape == theirs.scores_.shape
    assert np.abs(ours.scores_ - theirs.scores_).max() <= 2.01 / n
    np.testing.assert_allclose(
        ours.path_.certificate.primal, theirs.path_.certificate.primal, rtol=TOL
    )
    assert np.all(ours.path_.certificate.relative_gap <= TOL)
    np.testing.assert_array_equal(ours.Cs_, theirs.Cs_)


@pytest.mark.parametrize("names", [False, True])
def test_cross_validation_of_two_classes(odd, names):
    X, y = odd
    X = X if names else torch.from_numpy(X)
    y = y if names else torch.from_numpy((y == "odd").astype(np.int64))
    ours, theirs = paths(X, y)
    alike(ours, theirs, 599)
    assert ours.Cs_[ours.best_index_] == ours.C_
    assert ours.best_score_ == ours.scores_.mean(axis=1).max()
    assert ours.scores_.mean(axis=1)[theirs.best_index_] >= ours.best_score_ - 2 / 599
    assert ours.path_.certificate.primal.shape == (4, 3, 1)
    at_best = pegasos.LinearSVC(device="cpu", C=ours.C_, tol=TOL).fit(X, y)
    assert ours.objective_ == pytest.approx(at_best.objective_, rel=TOL)
    assert ours.stop_reason_ == "converged"
    assert isinstance(ours.coef_, np.ndarray if names else torch.Tensor)
    assert ours.score(X, y) == pytest.approx(at_best.score(X, y), abs=2e-3)


def test_cross_validation_of_several_classes(digits):
    X, y = digits
    some = y < 3
    rng = np.random.default_rng(0)
    X, y = X[some] + 0.4 * rng.normal(size=(some.sum(), 64)), y[some]
    weight = rng.integers(0, 4, y.size).astype(float)
    for given, class_weight in ((None, "balanced"), (weight, None), (weight, {1: 4.0})):
        ours, theirs = paths(X, y, given, class_weight=class_weight, Cs=[0.001, 0.1])
        alike(ours, theirs, 178 / 1.7)  # rows weigh up to 1.7 times the mean
        assert ours.path_.certificate.primal.shape == (2, 3, 3)
        np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=TOL)
    results = ours.cv_results_
    np.testing.assert_array_equal(results["mean_test_score"], ours.scores_.mean(axis=1))
    np.testing.assert_array_equal(results["split1_test_score"], ours.scores_[:, 1])
    assert list(results["param_C"]) == [0.001, 0.1]
    assert (results["max_relative_gap"] <= TOL).all()
    assert results["mean_fit_time"].shape == (2,)
    assert results.keys() == theirs.cv_results_.keys()


def test_weights_count_in_the_scores():
    data = toy(90, 4, seed=5)
    X, y = data.X, data.Y[:, 0]
    folds = list(StratifiedKFold(3).split(X, y))
    weight = np.where(np.arange(90) < 45, 1.0, 20.0)
    model = pegasos.LinearSVCCV(device="cpu", Cs=[0.1], cv=folds, tol=1e-8).fit(X, y, weight)
    plain = pegasos.LinearSVCCV(device="cpu", Cs=[0.1], cv=folds, tol=1e-8).fit(X, y)
    assert np.abs(plain.scores_ - model.scores_).max() > 0.01
    for fold, (train, test) in enumerate(folds):
        one = pegasos.LinearSVC(C=0.1, tol=1e-8).fit(X[train], y[train], weight[train])
        expected = one.score(X[test], y[test], weight[test])
        assert model.scores_[0, fold] == pytest.approx(expected, abs=1e-9)
        # Only its own rows are in a fold.
        assert model.path_.certificate.primal[0, fold, 0] == pytest.approx(
            one.certificate_.primal, rel=1e-7
        )


def test_without_a_refit_and_by_the_rule_of_one_error(odd):
    X, y = odd
    model = pegasos.LinearSVCCV(device="cpu", Cs=[0.001, 0.1], cv=3, refit=False).fit(X, y)
    assert model.scores_.shape == (2, 3)
    assert not hasattr(model, "coef_")
    assert list(model.classes_) == ["even", "odd"]
    careful = pegasos.LinearSVCCV(device="cpu", Cs=[0.05, 0.1, 0.2], cv=3, rule="one_se")
    careful.fit(X, y)
    mean, error = careful.path_.mean, careful.path_.error
    within = mean >= mean.max() - error[mean.argmax()]
    assert careful.Cs_[np.flatnonzero(within)[0]] == careful.C_
    model.set_params(refit=True).fit(X, y)
    assert model.coef_.shape == (1, 64)


def test_a_path_in_batches_is_the_same(odd, monkeypatch):
    X, y = odd
    options = {"device": "cpu", "Cs": [0.001, 0.01, 0.1], "cv": 2, "random_state": 0, "tol": TOL}
    whole = pegasos.LinearSVCCV(**options).fit(X, y)
    monkeypatch.setattr("pegasos.gpu.path._TOGETHER", 4)
    apart = pegasos.LinearSVCCV(**options).fit(X, y)
    np.testing.assert_allclose(apart.scores_, whole.scores_, atol=2.01 / 898)
    np.testing.assert_allclose(
        apart.path_.certificate.primal, whole.path_.certificate.primal, rtol=TOL
    )
    assert np.isfinite(apart.path_.seconds).all()
    assert (apart.path_.epochs > 0).all()


def test_what_cross_validation_refuses(odd):
    X, y = odd
    for options, words in (
        ({"scoring": "f1"}, "scoring='f1': on a device it is the accuracy"),
        ({"patience": 2}, "patience is not offered on a device"),
        ({"Cs": [0.0]}, "Cs must be positive"),
        ({"rule": "worst"}, "rule must be"),
        ({"cv": iter(())}, "cv yields no folds"),
        ({"cv": [(np.flatnonzero(y == "odd"), np.arange(9))]}, "fold 0 trains on one side"),
    ):
        with pytest.raises(ValueError, match=words):
            pegasos.LinearSVCCV(device="cpu", **options).fit(X, y)
    assert pegasos.LinearSVCCV(device="cpu", Cs=[0.1], cv=2, scoring="accuracy").fit(X, y).C_ == 0.1


def test_the_time_of_a_path(odd, monkeypatch):
    X, y = odd
    with pytest.raises(ValueError, match=r"stopped \(max_time\) before all folds"):
        pegasos.LinearSVCCV(device="cpu", max_time=1e-6, cv=3).fit(X, y)
    # The time ends between two batches: what is there is used.
    monkeypatch.setattr("pegasos.gpu.path._TOGETHER", 3)

    def late(training, problem, **options):
        found = real(training, problem, **options)
        clock[0] += 100.0
        return found

    real, clock = path.run_on_device, [path.time.perf_counter()]
    monkeypatch.setattr(path, "run_on_device", late)
    monkeypatch.setattr(path.time, "perf_counter", lambda: clock[0])
    model = pegasos.LinearSVCCV(device="cpu", Cs=[0.01, 0.1], cv=3, max_time=50.0, refit=False)
    model.fit(X, y)
    assert model.path_.ended == "max_time"
    assert model.C_ == 0.01
    assert np.isfinite(model.scores_[0]).all()
    assert np.isnan(model.scores_[1]).all()
    assert np.isnan(model.path_.certificate.primal[1]).all()
