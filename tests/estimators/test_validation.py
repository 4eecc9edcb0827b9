"""fit(X, y, eval_set=(X, y)): scores in the history, and the best model kept."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification

from pegasos import LinearSVC


def binary(n=600):
    X, y = make_classification(n, 30, n_informative=4, flip_y=0.3, random_state=0)
    return X[::2], y[::2], (X[1::2], y[1::2])


def several(n=600):
    X, y = make_blobs(n, 5, centers=4, cluster_std=6.0, random_state=1)
    return X[::2] / 10, y[::2], (X[1::2] / 10, y[1::2])


@pytest.mark.parametrize("data", [binary, several])
@pytest.mark.parametrize("solver", ["auto", "dual", "sgds", "pegasos"])
def test_the_model_of_the_best_score_is_kept(solver, data):
    X, y, held_out = data()
    model = LinearSVC(
        C=1.0, solver=solver, tol=1e-9, max_iter=30, n_iter_no_change=None, random_state=0
    ).fit(X, y, eval_set=held_out)
    scores = model.history_["score"]
    assert model.best_validation_score_ == scores.max()
    assert model.score(*held_out) == scores.max()
    best = int(np.argmax(scores))
    record = model.history_.records[best]
    assert model.best_epoch_ == record.epoch
    np.testing.assert_array_equal(model.certificate_.primal, record.primal)
    np.testing.assert_array_equal(model.objective_, record.primal)


def test_it_stops_when_no_better_score_comes():
    X, y, held_out = binary()
    options = {"C": 10.0, "solver": "dual", "tol": 1e-9, "random_state": 0}
    model = LinearSVC(n_iter_no_change=3, **options).fit(X, y, eval_set=[held_out])
    scores = model.history_["score"]
    assert model.stop_reason_ == "early_stopping"
    best = int(np.argmax(scores))
    assert len(scores) == best + 4
    assert model.n_iter_ < 100
    again = LinearSVC(n_iter_no_change=3, **options).fit(X, y, eval_set=held_out)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_callbacks_see_the_score_and_a_plain_fit_has_none():
    X, y, held_out = binary()
    seen = []
    model = LinearSVC(solver="dual", callbacks=[seen.append], random_state=0)
    model.fit(X, y, eval_set=held_out)
    assert [record.score for record in seen] == list(model.history_["score"])
    assert hasattr(model, "best_epoch_")
    model.fit(X, y)
    assert not hasattr(model, "best_epoch_")
    assert "score" not in model.history_
    with pytest.raises(KeyError, match="score"):
        model.history_["score"]


@pytest.mark.parametrize(
    ("options", "eval_set", "message"),
    [
        ({}, "nonsense", "eval_set must be a pair"),
        ({"multi_class": "ovo"}, None, "not multi_class='ovo'"),
        ({"n_iter_no_change": 0}, None, "n_iter_no_change must be"),
        ({}, (np.zeros((3, 2)), [0, 1, 0]), "2 features"),
    ],
)
def test_bad_sets_are_named(options, eval_set, message):
    X, y, held_out = several()
    with pytest.raises(ValueError, match=message):
        LinearSVC(**options).fit(X, y, eval_set=held_out if eval_set is None else eval_set)
