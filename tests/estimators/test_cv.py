"""LinearSVCCV: every fold at every C certified, and the choice scikit-learn would make."""

import threading
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pegasos import LinearSVC, LinearSVCCV

CS = [0.01, 0.1, 1.0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Some checks train on so few rows that a class has fewer than there are folds.
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@parametrize_with_checks([LinearSVCCV(Cs=3, cv=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def binary(n=300):
    return make_classification(n, 8, n_informative=4, flip_y=0.1, random_state=0)


def blobs(n=240):
    X, y = make_blobs(n, 5, centers=4, cluster_std=4.0, random_state=1)
    return X / 10, np.array(["a", "b", "c", "d"])[y]


def fit(X, y, sample_weight=None, **options):
    options = {"Cs": CS, "cv": 4, "tol": 1e-6, "random_state": 0} | options
    return LinearSVCCV(**options).fit(X, y, sample_weight)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("data", [binary, blobs])
def test_each_fold_is_a_certified_fit_of_its_rows(data, multi_class, convert):
    X, y = data()
    X = convert(X)
    weight = np.linspace(0.5, 2, len(y))
    options = {"multi_class": multi_class, "class_weight": "balanced"}
    model = fit(X, y, weight, **options)
    assert model.path_.certificate.relative_gap.max() <= 1e-6
    for k, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        for c, C in enumerate(CS):
            alone = LinearSVC(C=C, tol=1e-7, **options).fit(X[train], y[train], weight[train])
            np.testing.assert_allclose(
                model.path_.certificate.primal[c, k], np.ravel(alone.objective_), rtol=2e-6
            )
            np.testing.assert_allclose(
                model.path_.coef[c, k],
                alone.coef_,
                rtol=0.05,
                atol=2e-3 * np.abs(alone.coef_).max(),
            )
            score = accuracy_score(y[test], alone.predict(X[test]), sample_weight=weight[test])
            assert model.scores_[c, k] == pytest.approx(score, abs=0.03)
    final = LinearSVC(C=model.C_, tol=1e-7, **options).fit(X, y, weight)
    np.testing.assert_allclose(model.objective_, final.objective_, rtol=2e-6)
    assert model.stop_reason_ == "converged"


def test_it_chooses_as_a_grid_search_does():
    X, y = binary()
    model = fit(X, y)
    search = GridSearchCV(LinearSVC(tol=1e-6, random_state=0), {"C": CS}, cv=4).fit(X, y)
    assert search.best_params_ == {"C": model.C_}
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split3_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], search.cv_results_[name])
    assert model.cv_results_["params"] == search.cv_results_["params"]
    assert model.best_score_ == pytest.approx(search.best_score_)
    np.testing.assert_array_equal(model.predict(X), search.predict(X))
    lengths = {np.shape(column)[0] for column in model.cv_results_.values()}
    assert lengths == {len(CS)}


def test_warm_starts_change_nothing_but_the_work():
    X, y = binary(2000)
    options = {"solver": "dual", "tol": 1e-4, "intercept": "none"}
    together = fit(X, y, **options)
    alone = [fit(X, y, Cs=[C], **options) for C in CS]
    for c, one in enumerate(alone):
        primal = one.path_.certificate.primal[0]
        np.testing.assert_allclose(together.path_.certificate.primal[c], primal, rtol=2e-4)
    assert together.path_.epochs[1:].sum() < sum(one.path_.epochs.sum() for one in alone[1:])


def test_the_same_bits_with_any_number_of_threads():
    X, y = blobs(800)
    options = {"solver": "dual", "tol": 1e-2}
    for multi_class in ("ovr", "ovo"):
        models = [fit(X, y, n_jobs=n, multi_class=multi_class, **options) for n in (1, 2, 3)]
        for other in models[1:]:
            np.testing.assert_array_equal(models[0].path_.coef, other.path_.coef)
            np.testing.assert_array_equal(models[0].scores_, other.scores_)


def test_scores_are_those_of_any_scorer():
    X, y = binary()
    assert (fit(X, y, scoring="roc_auc").scores_ <= 1).all()
    lengths = []

    def scorer(estimator, X, y):
        lengths.append(len(y))
        return -float(np.abs(estimator.coef_).sum())

    model = fit(X, y, scoring=scorer)
    assert CS[0] == model.C_  # the smallest weights
    assert sum(lengths) == 3 * len(y)


def test_one_standard_error_prefers_the_smaller_C():
    X, y = binary()
    best, sparing = fit(X, y), fit(X, y, rule="one_se")
    np.testing.assert_array_equal(best.scores_, sparing.scores_)
    path = best.path_
    k = path.best()
    assert sparing.C_ <= best.C_
    assert path.mean[sparing.best_index_] >= path.mean[k] - path.error[k]
    if sparing.best_index_:
        assert path.mean[sparing.best_index_ - 1] < path.mean[k] - path.error[k]


def test_patience_leaves_hopeless_values_out():
    X, y = binary()
    Cs = [*CS, 10.0, 100.0, 1000.0]

    def worse(estimator, X, y):
        return -float(np.linalg.norm(estimator.coef_)) + 1e-3 * len(y)

    model = fit(X, y, Cs=Cs, scoring=worse, patience=2, cv=KFold(4), n_jobs=2)
    done = np.isfinite(model.scores_).all(axis=1)
    assert done[:4].all()
    assert not done[5]
    assert CS[0] == model.C_
    assert np.isnan(model.cv_results_["mean_test_score"][-1])
    assert fit(X, y, Cs=Cs, scoring=worse).scores_.shape == (6, 4)


def test_a_fold_that_fails_leaves_no_other_waiting():
    """With patience, folds wait for each other's scores; here one never has any."""
    X, y = binary()
    failed = threading.Event()

    def scorer(model, rows, truth):
        if len(rows) == 20:  # the first fold's: it fails while the other is far ahead of it
            failed.wait(0.5)
            raise ZeroDivisionError
        return 1.0

    folds = [(np.arange(20, 300), np.arange(20)), (np.arange(150), np.arange(150, 300))]
    with pytest.raises(ZeroDivisionError):
        fit(X, y, Cs=np.logspace(-3, 1, 8), cv=folds, scoring=scorer, patience=1, n_jobs=2)


def test_without_a_refit_there_is_a_choice_but_no_model():
    X, y = binary()
    model = fit(X, y, refit=False)
    assert model.C_ in CS
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_class_that_a_fold_holds_out_whole_is_never_predicted():
    X, y = blobs(60)
    y = np.sort(y)
    model = fit(X, y, cv=KFold(4))  # each fold holds about one class out
    assert np.isfinite(model.scores_).all()
    assert model.path_.certificate.relative_gap.max() <= 1e-6
    assert (fit(X, y, cv=KFold(4), multi_class="ovo").scores_ < 0.2).any()


def test_Cs_are_sorted_and_a_number_means_that_many():
    X, y = binary(60)
    model = fit(X, y, Cs=[1.0, 0.01, 0.1, 1.0])
    np.testing.assert_array_equal(model.Cs_, CS)
    np.testing.assert_allclose(fit(X, y, Cs=4).Cs_, np.logspace(-4, 4, 4))


def test_metadata_goes_where_it_is_asked_for():
    X, y = binary()
    groups = np.arange(len(y)) % 7
    weight = np.linspace(0, 1, len(y))
    seen = []

    def score(y_true, y_pred, sample_weight=None):
        seen.append(sample_weight)
        return accuracy_score(y_true, y_pred, sample_weight=sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(score).set_score_request(sample_weight=False)
        model = LinearSVCCV(Cs=CS, cv=GroupKFold(7), scoring=scorer)
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=weight, groups=groups)
        assert all(given is None for given in seen)
        assert model.scores_.shape == (3, 7)
        scorer.set_score_request(sample_weight=True)
        model.fit(X, y, sample_weight=weight, groups=groups)
        assert seen[-1] is not None
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model)
        pipeline.fit(X, y, sample_weight=weight, groups=groups)
        assert pipeline[-1].C_ in CS
    with pytest.raises(ValueError, match="groups: enable metadata routing"):
        LinearSVCCV().fit(X, y, groups=groups)


def test_limits_leave_what_is_proven_and_say_so():
    X, y = binary(2000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(X, y, solver="dual", max_iter=1, tol=1e-9)
    assert [w.category for w in caught] == [ConvergenceWarning] * 2
    assert "12 of 12 fits of the cross-validation" in str(caught[0].message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": 0}, "Cs, where it is no list of values, must be"),
        ({"Cs": [1.0, -1.0]}, "Cs must be positive numbers"),
        ({"Cs": []}, "Cs must be positive numbers"),
        ({"rule": "worst"}, "rule must be"),
        ({"patience": 0}, "patience must be"),
        ({"cv": 1}, "k-fold cross-validation requires at least one"),
        ({"scoring": "nope"}, "nope"),
    ],
)
def test_bad_options_are_named(options, message):
    X, y = binary(60)
    with pytest.raises(ValueError, match=message):
        fit(X, y, **options)
