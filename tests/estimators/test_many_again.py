"""Fits after fits, stops in the middle, options changed between: model and proof agree."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold

from pegasos import LinearSVC, LinearSVCCV


def three(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.array(list("abc"))[np.argmax(X[:, :3] + 0.7 * rng.normal(size=(n, 3)), axis=1)]
    return X, y


def primals(model, X, y, C):
    values = []
    for name, w, b in zip(model.classes_, model.coef_, model.intercept_, strict=True):
        losses = np.maximum(0, 1 - np.where(y == name, 1, -1) * (X @ w + b))
        values.append((w @ w / 2 + C * losses.sum()) / (C * len(y)))
    return values


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_callback_that_stops_leaves_each_class_its_own_proof(jobs):
    X, y = make_classification(3000, 30, n_informative=8, n_classes=3, random_state=0)
    calls = []

    def stop(record):
        calls.append(record)
        return len(calls) == 8

    model = LinearSVC(
        n_jobs=jobs, solver="dual", tol=1e-7, intercept="none", callbacks=[stop], random_state=0
    ).fit(X, y)
    assert model.stop_reason_ == "callback"
    np.testing.assert_allclose(model.objective_, primals(model, X, y, 1.0), rtol=1e-9)


def test_a_warm_start_that_is_proven_at_once_reaches_the_callbacks():
    X, y = three()
    seen = []
    model = LinearSVC(solver="dual", C=0.1, warm_start=True, callbacks=[seen.append], n_jobs=1)
    model.fit(X, y)
    seen.clear()
    model.fit(X, y)
    assert len(seen) == 3
    assert model.certificate_.relative_gap.max() <= 1e-3


def test_a_warm_model_that_scores_best_keeps_its_own_certificate():
    X, y = three()
    y = np.where(y == "a", "a", "b")
    model = LinearSVC(
        solver="dual", C=100, warm_start=True, tol=1e-6, intercept="none", n_jobs=1, random_state=0
    ).fit(X[:100], y[:100])
    model.set_params(C=0.01).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    w = model.coef_[0]
    losses = np.maximum(0, 1 - np.where(y[:100] == "b", 1, -1) * (X[:100] @ w))
    primal = (w @ w / 2 + 0.01 * losses.sum()) / (0.01 * 100)
    assert model.objective_ == pytest.approx(primal, rel=1e-9)


def test_many_classes_end_their_history_with_the_certificate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 20)), np.arange(600) % 129
    model = LinearSVC(solver="dual", C=0.01, n_jobs=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.history_["dual"][-1], model.certificate_.dual)


def test_parameters_set_after_a_fit_wait_for_the_next_one():
    X, y = three()
    model = LinearSVC().fit(X, y)
    before = model.predict(X)
    model.set_params(multi_class="ovo")
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = three()
    model = LinearSVC().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="eval_set"):
        model.fit(X, np.where(y == "a", "n", "p"), eval_set=5)
    np.testing.assert_array_equal(model.predict(X), before)


def test_no_refit_forgets_the_model_of_an_earlier_fit():
    X, y = three()
    model = LinearSVCCV(Cs=[0.1, 1], cv=3).fit(X, y)
    model.set_params(refit=False).fit(-X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_early_stopping_still_gives_probabilities():
    X, y = three()
    model = LinearSVC(solver="dual", probability=True, tol=1e-9, n_iter_no_change=1, C=0.1)
    model.fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    assert model.stop_reason_ == "early_stopping"
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_lam_of_a_pair_is_that_of_its_folds():
    X, _ = three()
    y = np.arange(150) % 3
    by_lam = LinearSVC(multi_class="ovo", lam=0.01, probability="sigmoid", random_state=0)
    by_C = LinearSVC(multi_class="ovo", C=1.0, probability="sigmoid", random_state=0)
    # A pair has 100 rows, 80 of them in the models of its folds.
    a, b = by_lam.fit(X, y), by_C.fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert np.abs(a.predict_proba(X) - b.predict_proba(X)).max() < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": 1e-9}, "max_time"),
        ({"scoring": lambda *_: float("nan")}, "scoring gave nan for fold 0"),
        ({"callbacks": [lambda _: True], "solver": "dual"}, "callback"),
        ({"cv": iter([])}, "no folds"),
    ],
)
def test_without_any_score_the_reason_is_given(options, message):
    X, y = three()
    with pytest.raises(ValueError, match=message):
        LinearSVCCV(**{"Cs": [0.1, 1], "cv": 3} | options).fit(X, y)


def test_patience_that_is_lost_stays_lost():
    X, y = three()
    given = iter([0.9] * 3 + [0.1] * 3 + [0.95] * 3 + [0.9] * 12)
    model = LinearSVCCV(
        Cs=np.logspace(-3, 3, 7), cv=3, scoring=lambda *_: next(given), patience=1, n_jobs=1
    ).fit(X, y)
    done = np.isfinite(model.scores_).all(axis=1)
    assert not done.all()
    assert not np.diff(done.astype(int)).max(initial=0) > 0  # once left out, no more


def test_scorers_need_not_know_sample_weights():
    X, y = three()
    model = LinearSVCCV(Cs=[0.1, 1], cv=3, scoring=lambda e, X, y: e.score(X, y))
    model.fit(X, y, sample_weight=np.ones(150))
    assert model.C_ in (0.1, 1)


def test_pairs_that_a_fold_holds_out_whole_raise_no_warning():
    X, _ = three(120)
    y = np.repeat([0, 1, 2, 3], 30)
    assert LinearSVCCV(Cs=[0.1], cv=KFold(2), multi_class="ovo").fit(X, y).scores_.shape == (1, 2)


def test_an_eval_set_may_have_names_and_callbacks_anything():
    pandas = pytest.importorskip("pandas")
    X, y = three()
    frame = pandas.DataFrame(X, columns=list("pqrs"))

    class Listener(list):
        def __init__(self):
            self.lock = threading.Lock()  # nothing that could be copied

        __call__ = list.append

    model = LinearSVC(callbacks=[Listener()]).fit(frame, y, eval_set=(frame, y))
    assert model.best_validation_score_ == model.score(frame, y)


def test_labels_are_zeros_and_ones():
    X, y = three()
    Y = np.column_stack([np.where(y == "a", 2, 0), np.where(y == "b", 2, 0)])
    with pytest.raises(ValueError, match="holds 0 and 1"):
        LinearSVC().fit(X, Y)


def test_unproven_folds_are_told_of_without_a_refit_too():
    X, y = make_classification(2000, 8, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="fits of the cross-validation"):
        LinearSVCCV(Cs=[1.0], cv=2, refit=False, solver="dual", max_iter=1, tol=1e-9).fit(X, y)
