"""LinearSVCCV on a device: the scores of the CPU."""

import time

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold
from tests.common.toys import toy

import pegasos
from pegasos.tasks.training import Training

TOL = 1e-6


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
    monkeypatch.setattr("pegasos.sites.device.placed.OnDevice.together", 4)
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
        ({"patience": 2}, "patience=2 is not offered on a device"),
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
    monkeypatch.setattr("pegasos.sites.device.placed.OnDevice.together", 3)

    def late(training, problem):
        found = real(training, problem)
        clock[0] += 100.0
        return found

    real, clock = Training.run, [time.perf_counter()]
    monkeypatch.setattr(Training, "run", late)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    model = pegasos.LinearSVCCV(device="cpu", Cs=[0.01, 0.1], cv=3, max_time=50.0, refit=False)
    model.fit(X, y)
    assert model.path_.ended == "max_time"
    assert model.C_ == 0.01
    assert np.isfinite(model.scores_[0]).all()
    assert np.isnan(model.scores_[1]).all()
    assert np.isnan(model.path_.certificate.primal[1]).all()
