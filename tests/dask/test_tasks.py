"""What tasks make of classes on a cluster, and what the estimators of one machine know besides."""

import inspect

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import pegasos
import pegasos.dask
from pegasos.sites.cluster import placed
from pegasos.sites.cluster.cluster import on_cluster
from pegasos.sites.errors import ClusterError, InterruptedSiteError
from pegasos.testing.chunked import toy

QUICK = {"C": 0.1, "solver": "dual", "tol": 0.05, "random_state": 0}
CLASSES = np.array(["ant", "bee", "cow", "dog"])


@pytest.fixture(scope="module")
def data():
    X, y = toy(classes=4)
    weight = np.random.default_rng(1).integers(0, 3, size=y.size).astype(float)
    return X, CLASSES[y], weight


def chunked(X, y, weight=None):
    arrays = (X, y) if weight is None else (X, y, weight)
    return [da.from_array(a, chunks=(300, -1)[: a.ndim]) for a in arrays]


@pytest.mark.parametrize("class_weight", ["balanced", {"ant": 3.0}])
@pytest.mark.parametrize("solver", ["dual", "interior"])
def test_pairs_of_classes(client, data, solver, class_weight):
    options = {"multi_class": "ovo", "C": 0.1, "class_weight": class_weight, "random_state": 0}
    model = pegasos.dask.LinearSVC(solver=solver, **options).fit(*chunked(*data))
    local = pegasos.LinearSVC(**options).fit(*data)
    assert model.coef_.shape == local.coef_.shape == (6, data[0].shape[1])
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-3)
    assert np.all(model.certificate_.relative_gap <= 1e-3)
    lazy = model.predict(da.from_array(data[0], chunks=(300, -1)))
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), model.predict(data[0]))
    assert np.mean(model.predict(data[0]) == local.predict(data[0])) > 0.97
    votes = model.decision_function(da.from_array(data[0], chunks=(300, -1)))
    np.testing.assert_allclose(votes.compute(), model.decision_function(data[0]))


def test_pairs_along_c(client, data):
    model = pegasos.dask.LinearSVCCV(
        Cs=[0.01, 1.0],
        cv=3,
        multi_class="ovo",
        class_weight="balanced",
        solver="dual",
        random_state=0,
    ).fit(*chunked(*data))
    assert model.path_.certificate.primal.shape == (2, 3, 6)
    assert np.all(model.path_.certificate.relative_gap <= 1e-3)
    assert model.path_.coef.shape == (2, 3, 6, data[0].shape[1])
    local = pegasos.LinearSVCCV(Cs=[0.01, 1.0], cv=3, multi_class="ovo").fit(*data)
    assert np.abs(model.scores_.mean(axis=1) - local.scores_.mean(axis=1)).max() < 0.06


def test_balanced_weights_are_those_of_a_folds_own_rows(client):
    """A chunk that holds most of a class: the totals of folds are counted where rows are."""
    X, y = toy(classes=3)
    rows = placed.OfParts(np.arange(3), placed.Dealt(4, 5))
    weight = np.random.default_rng(0).random(y.size)
    source = pegasos.dask.estimators.source_of(*chunked(X, y, weight))
    with on_cluster(client, source, None, 60.0) as cluster:
        found = placed.of_classes(cluster).in_folds(rows.dealt).fold_totals()
    fold = rows.folds(y, [(k, 300) for k in range(3)])
    for k in range(4):
        expected = np.bincount(y[fold != k], weight[fold != k])
        np.testing.assert_allclose(found[k], expected)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_probabilities(client, data, multi_class):
    X, y, _ = data
    options = {"probability": "sigmoid", "multi_class": multi_class, "C": 0.1, "solver": "dual"}
    options |= {"tol": 1e-2, "random_state": 0}
    model = pegasos.dask.LinearSVC(**options).fit(*chunked(*data))
    local = pegasos.LinearSVC(**options).fit(*data)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    # Other folds: the curves agree within what the choice of folds does to them.
    assert np.abs(found - local.predict_proba(X)).mean() < 0.03
    lazy = model.predict_proba(da.from_array(X, chunks=(300, -1)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (y.size, 4)
    np.testing.assert_allclose(lazy.compute(), found)
    del options["C"]
    chosen = pegasos.dask.LinearSVCCV(Cs=[0.1, 1.0], cv=3, **options)
    assert chosen.fit(*chunked(*data)).predict_proba(X).shape == (y.size, 4)


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_a_validation_set_chooses_the_model(client, data, solver):
    X, y, _ = data
    options = {"solver": solver, "C": 10.0, "tol": 1e-6, "random_state": 0}
    model = pegasos.dask.LinearSVC(**options).fit(*chunked(X[:600], y[:600]), eval_set=(X, y))
    scores = model.history_["score"]
    assert model.best_validation_score_ == max(scores) == model.score(X, y)
    assert len(scores) >= 2


def test_scores_that_are_too_many_to_come_here(client, data, monkeypatch):
    monkeypatch.setattr(placed, "_SCORED_BYTES", 1000)
    model = pegasos.dask.LinearSVC(probability=True, solver="dual", tol=0.1)
    with pytest.raises(ValueError, match="probability brings 4 scores of each of 900 rows"):
        model.fit(*chunked(*data))


def test_a_fit_is_saved_exported_and_reported(client, data, tmp_path):
    X, y, _ = data
    model = pegasos.dask.LinearSVC(**QUICK, probability="sigmoid")
    model.fit(*chunked(X, y))
    path = tmp_path / "m.pegasos"
    pegasos.save(model, path)
    again = pegasos.load(path)
    assert type(again) is pegasos.LinearSVC
    assert np.array_equal(again.coef_, model.coef_)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.C == 0.1
    assert np.array_equal(again.certificate_.primal, model.certificate_.primal)
    plain = pegasos.dask.LinearSVC(**QUICK)
    plain.fit(*chunked(X, np.searchsorted(CLASSES, y))).export(tmp_path / "m.model")
    assert (tmp_path / "m.model").read_text().startswith("solver_type")
    assert np.array_equal(model.as_sklearn().predict(X), model.predict(X))
    assert "ant" in model.report(X, y).html
    chosen = pegasos.dask.LinearSVCCV(Cs=[0.1, 1.0], cv=2, tol=0.05, solver="dual").fit(
        *chunked(X, y)
    )
    pegasos.save(chosen, path)
    assert pegasos.load(path).C == chosen.C_
    assert "ant" in chosen.report(X, y).html


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer' is not offered"),
        ({"prune": 0.1}, "prune=0.1 is not offered"),
        ({"device": "cpu"}, "device='cpu' is not offered"),
        ({"solver": "sgds"}, "'sgds' does not run on a cluster"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_said(client, data, options, words):
    if "solver" not in options:
        words += " on a cluster: .*pegasos.LinearSVC on one machine"
    kinds = [pegasos.dask.LinearSVC, pegasos.dask.LinearSVCCV]
    for kind in kinds[: 1 if "prune" in options else 2]:
        with pytest.raises(ValueError, match=words):
            kind(**options).fit(*chunked(*data))


def test_other_things_that_are_refused(client, data):
    X, y, _ = data
    rows = chunked(X, y)
    labels = da.from_array(np.stack([y == "ant", y == "bee"], axis=1), chunks=(300, 2))
    with pytest.raises(ValueError, match=r"indicator matrices .* pegasos\.LinearSVC"):
        pegasos.dask.LinearSVC().fit(rows[0], labels)
    for options, words in (
        ({"scoring": "f1"}, "scoring='f1': on a cluster it is the accuracy"),
        ({"patience": 2}, "patience=2 is not offered on a cluster"),
        ({"rule": "worst"}, "rule must be"),
        ({"cv": 1}, "at least 2 folds"),
    ):
        with pytest.raises(ValueError, match=words):
            pegasos.dask.LinearSVCCV(**options).fit(*rows)
    with pytest.raises(AttributeError, match="rows on a cluster do not come in batches"):
        pegasos.dask.LinearSVC().partial_fit(X, y)
    assert not hasattr(pegasos.dask.LinearSVC(), "partial_fit")


@pytest.mark.parametrize("how", ["failed", "interrupted"])
def test_a_path_that_ends_early_keeps_what_was_scored(client, data, monkeypatch, how):
    real, calls = placed.OnCluster.accuracies, []

    def second_fails(self, *arguments):
        calls.append(1)
        if len(calls) < 2:
            return real(self, *arguments)
        if how == "interrupted":
            raise InterruptedSiteError
        self.cluster.error = ClusterError("gone")
        raise self.cluster.error

    monkeypatch.setattr(placed.OnCluster, "accuracies", second_fails)
    options = {"Cs": [0.01, 0.1, 1.0], "cv": 2, "tol": 0.05, "solver": "dual"}
    model = pegasos.dask.LinearSVCCV(**options)
    if how == "failed":
        with pytest.raises(ClusterError, match="gone"):
            model.fit(*chunked(*data))
        assert model.path_.ended == "cluster_failed"
    else:
        with pytest.warns(ConvergenceWarning, match=r"stopped \(interrupted\)"):
            model.fit(*chunked(*data))
        assert model.path_.ended == "interrupted"
        assert model.C_ == 0.01
    assert np.isfinite(model.scores_[0]).all()
    assert np.isnan(model.scores_[1:]).all()
    assert not hasattr(model, "coef_")


def test_parameters_are_those_of_one_machine_and_two_more():
    for ours, theirs in (
        (pegasos.dask.LinearSVC, pegasos.LinearSVC),
        (pegasos.dask.LinearSVCCV, pegasos.LinearSVCCV),
    ):
        known = theirs().get_params()
        assert ours().get_params() == known | {"timeout": 60.0}
        assert set(inspect.signature(ours).parameters) == {*known, "timeout", "client"}
        assert clone(ours(tol=0.5, timeout=3.0)).get_params()["timeout"] == 3.0
        assert repr(ours(tol=0.5)) == f"{ours.__name__}(tol=0.5)"
        with pytest.raises(TypeError, match="strength"):
            ours(strength=1.0)
