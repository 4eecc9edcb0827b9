"""The estimators on a cluster give the models of one machine, and proofs that anyone can check."""

import itertools
from copy import deepcopy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.common.chunked import blocks, text, toy
from tests.common.toys import separable

import pegasos
import pegasos.dask
from pegasos.sites.cluster.placed import OfParts
from pegasos.sites.placed import Dealt


def agree(model, local, tol):
    """Both are proven within tol of the same optimum."""
    mine, theirs = model.certificate_, local.certificate_
    assert np.all(mine.primal <= theirs.primal * (1 + tol))
    assert np.all(theirs.primal <= mine.primal * (1 + tol))
    assert np.all(mine.dual <= theirs.primal * (1 + 1e-12))
    assert model.stop_reason_ == "converged"


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["dual", "newton", "interior"])
def test_same_optimum_as_on_one_machine(client, solver, loss, intercept):
    X, y = toy()
    options = {"loss": loss, "intercept": intercept, "tol": 1e-3, "C": 0.3}
    model = pegasos.dask.LinearSVC(solver=solver, **options, random_state=0)
    model.fit(da.from_array(X, chunks=(200, 5)), da.from_array(y, chunks=450))
    local = pegasos.LinearSVC(**options).fit(X, y)
    agree(model, local, 1e-3)
    assert model.solver_.name == solver


def test_separable_rows_start_again_with_larger_slacks(client):
    X, y = separable(2000, 20)
    options = {"C": 100, "tol": 1e-7, "solver": "interior"}
    model = pegasos.dask.LinearSVC(**options).fit(
        da.from_array(X, chunks=(700, 20)), da.from_array(y, chunks=450)
    )
    local = pegasos.LinearSVC(**options).fit(X, y)
    agree(model, local, 1e-7)
    assert model.n_iter_ == local.n_iter_ <= 25


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_rounds_on_sparse_rows(client, intercept):
    X, y = text()
    model = pegasos.dask.LinearSVC(intercept=intercept, random_state=0)
    model.fit(blocks(X, 400), da.from_array(y, chunks=400))
    local = pegasos.LinearSVC(intercept=intercept, n_jobs=1).fit(X, y)
    agree(model, local, 1e-3)
    assert model.solver_.name == "dual"
    assert model.n_iter_ <= 3 * local.n_iter_
    # The proof, by someone who has only the data and the model.
    by_anyone = pegasos.certify(X, y, model.coef_[0], model.intercept_, C=1.0, intercept=intercept)
    assert by_anyone.primal == pytest.approx(model.certificate_.primal, rel=1e-5)
    assert by_anyone.primal <= model.certificate_.primal * (1 + 1e-12)  # with the best b


def test_tight_tolerance(client):
    X, y = text(600, 1500)
    model = pegasos.dask.LinearSVC(tol=1e-7, random_state=0, solver="dual")
    model.fit(blocks(X, 200), da.from_array(y, chunks=200))
    assert model.certificate_.relative_gap <= 1e-7


def test_classes_and_weights(client):
    X, y = toy(classes=4)
    names = np.array(["ant", "bee", "cow", "dog"])[y]
    weight = np.random.default_rng(1).integers(0, 3, size=y.size).astype(float)
    options = {"class_weight": "balanced", "C": 0.1}
    for solver in ("dual", "newton"):
        model = pegasos.dask.LinearSVC(solver=solver, **options, random_state=0)
        chunked = [da.from_array(a, chunks=300) for a in (names, weight)]
        model.fit(da.from_array(X, chunks=(300, -1)), *chunked)
        local = pegasos.LinearSVC(**options).fit(X, names, weight)
        assert model.classes_.tolist() == ["ant", "bee", "cow", "dog"]
        agree(model, local, 1e-3)


def test_data_frames(client):
    X, y = toy()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    frame["y"] = y
    parts = dd.from_pandas(frame, npartitions=3)
    features = parts.drop(columns="y")
    model = pegasos.dask.LinearSVC(random_state=0).fit(features, parts["y"])
    agree(model, pegasos.LinearSVC().fit(X, y), 1e-3)
    assert model.feature_names_in_[0] == "f0"
    assert np.array_equal(
        model.predict(features).compute(), model.to_local().predict(frame.drop(columns="y"))
    )


@pytest.mark.parametrize("weights", [False, True])
def test_delayed_parts(client, weights):
    X, y = toy()
    w = np.ones(y.size)
    items = (X, y, w) if weights else (X, y)
    whole = [dask.delayed(tuple)([a[i : i + 300] for a in items]) for i in range(0, 900, 300)]
    apart = [[dask.delayed(a[i : i + 300]) for a in items] for i in range(0, 900, 300)]
    local = pegasos.LinearSVC().fit(X, y)
    for parts in (whole, apart):
        agree(pegasos.dask.LinearSVC(random_state=0).fit(parts), local, 1e-3)


def test_awkward_partitions(client):
    """Empty ones, some of a single class, some of one row."""
    X, y = text()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    cuts = [0, 0, 1, 2, 700, 700, 1490, 1500]
    parts = [(dask.delayed(X[a:b]), dask.delayed(y[a:b])) for a, b in itertools.pairwise(cuts)]
    local = pegasos.LinearSVC().fit(X, y)
    for solver in ("dual", "interior"):
        if solver == "interior":
            parts = [
                (dask.delayed(X[a:b, :50]), dask.delayed(y[a:b]))
                for a, b in itertools.pairwise(cuts)
            ]
            local = pegasos.LinearSVC().fit(X[:, :50], y)
        agree(pegasos.dask.LinearSVC(solver=solver, random_state=0).fit(parts), local, 1e-3)


def test_predictions_are_lazy_and_those_of_the_local_model(client):
    for classes in (2, 3):
        X, y = toy(classes=classes)
        chunked = da.from_array(X, chunks=(250, 6))
        model = pegasos.dask.LinearSVC(random_state=0).fit(chunked, da.from_array(y, chunks=250))
        local = model.to_local()
        assert type(local) is pegasos.LinearSVC
        scores, labels = model.decision_function(chunked), model.predict(chunked)
        assert isinstance(scores, da.Array)
        assert scores.shape == local.decision_function(X).shape
        assert np.allclose(scores.compute(), local.decision_function(X), rtol=1e-12)
        assert np.array_equal(labels.compute(), local.predict(X))
        assert np.array_equal(model.predict(X), local.predict(X))


def test_cross_validation(client):
    X, y = text(900, 1200)
    Cs = [0.01, 0.1, 1.0, 10.0]
    model = pegasos.dask.LinearSVCCV(Cs=Cs, cv=4, random_state=0)
    model.fit(blocks(X, 300), da.from_array(y, chunks=300))
    assert model.scores_.shape == (4, 4)
    assert np.all(model.path_.certificate.relative_gap <= 1e-3)
    assert model.certificate_.relative_gap <= 1e-3
    local = pegasos.LinearSVCCV(Cs=Cs, cv=4).fit(X, y)
    # Other folds: the means agree within their errors.
    error = local.scores_.std(axis=1).max() / 2 + model.scores_.std(axis=1).max() / 2
    assert np.abs(model.scores_.mean(axis=1) - local.scores_.mean(axis=1)).max() < 4 * error
    at_best = pegasos.LinearSVC(C=model.C_).fit(X, y)
    assert model.certificate_.primal == pytest.approx(at_best.certificate_.primal, rel=2e-3)
    assert model.to_local().C_ == model.C_


def test_cross_validation_of_classes_by_a_second_order_solver(client):
    X, y = toy(classes=3)
    model = pegasos.dask.LinearSVCCV(Cs=[0.01, 1.0], cv=3, random_state=0)
    model.fit(da.from_array(X, chunks=(300, -1)), da.from_array(y, chunks=300))
    assert model.path_.certificate.primal.shape == (2, 3, 3)
    assert model.cv_results_["mean_test_score"].tolist() == model.scores_.mean(axis=1).tolist()
    assert np.all(model.path_.certificate.relative_gap <= 1e-3)
    assert model.scores_.min() > 0.4


def test_limits_callbacks_and_history(client):
    X, y = text()
    chunked = blocks(X, 400), da.from_array(y, chunks=400)
    seen = []
    model = pegasos.dask.LinearSVC(C=10, callbacks=[seen.append], random_state=0).fit(*chunked)
    assert len(seen) == len(model.history_["gap"]) > 1
    assert seen[-1].certificate == model.certificate_
    with pytest.warns(UserWarning, match="max_epochs"):
        short = pegasos.dask.LinearSVC(C=10, tol=1e-8, max_iter=3, random_state=0).fit(*chunked)
    assert short.n_iter_ == 3
    assert short.certificate_.gap > 0
    with pytest.warns(UserWarning, match="callback"):
        pegasos.dask.LinearSVC(C=10, callbacks=[lambda _: True]).fit(*chunked)


def test_estimators_can_be_copied_and_saved_without_their_client(client, tmp_path):
    X, y = toy()
    chunked = da.from_array(X, chunks=(300, -1)), da.from_array(y, chunks=300)
    model = pegasos.dask.LinearSVC(C=2.0, client=client, random_state=0)
    assert clone(model).C == 2.0
    model.fit(*chunked)
    again = deepcopy(model)  # as it is pickled
    assert again.client is None
    assert np.array_equal(again.coef_, model.coef_)
    pegasos.save(model.to_local(), tmp_path / "m.pegasos")
    assert np.array_equal(pegasos.load(tmp_path / "m.pegasos").coef_, model.coef_)


def test_folds_depend_on_the_seed_and_the_chunk_alone():
    """Not on which worker has it, nor on its neighbours there; every class goes to all folds."""
    _, y = toy(classes=3)
    lanes = OfParts(np.arange(3), Dealt(4, 7))
    found = {}
    for key, numbers in (("a", [0, 1]), ("b", [2]), ("c", [0]), ("d", [1, 2])):
        codes = np.concatenate([y[300 * k : 300 * (k + 1)] for k in numbers])
        found[key] = lanes.folds(codes, [(k, 300) for k in numbers])
    one = np.concatenate([found["a"], found["b"]])
    assert np.array_equal(one, np.concatenate([found["c"], found["d"]]))
    assert np.bincount(one * 3 + y, minlength=12).min() > 40


def test_weights_in_some_parts_only(client):
    """Rows without weights weigh one each, those that the client moves too."""
    X, y = text()
    w = np.ones(y.size)
    w[700:] = 0.05
    parts = [
        (dask.delayed(X[:700]), dask.delayed(y[:700])),
        (dask.delayed(X[700:]), dask.delayed(y[700:]), dask.delayed(w[700:])),
    ]
    local = pegasos.LinearSVC(C=5.0).fit(X, y, w)
    for order in (parts, parts[::-1]):
        agree(pegasos.dask.LinearSVC(C=5.0, random_state=0).fit(order), local, 1e-3)


@pytest.mark.parametrize(("C", "tol"), [(1e3, 1e-5), (1.0, 1e-9)])
def test_free_intercepts_to_many_digits(client, C, tol):
    X, y = text(1500, 6000)
    model = pegasos.dask.LinearSVC(C=C, tol=tol, random_state=0, max_iter=60)
    model.fit(blocks(X, 400), da.from_array(y, chunks=400))
    assert model.certificate_.relative_gap <= tol


def test_what_users_have(client):
    """Rows of zeros, sparse chunks of several widths, columns of several types, all cores."""
    X, y = text(600, 300)
    X = X.tolil()
    X[::7] = 0
    X[:300, 250:] = 0
    X = X.tocsr()
    X.eliminate_zeros()
    local = pegasos.LinearSVC().fit(X, y)
    parts = [
        (dask.delayed(X[:300, :250]), dask.delayed(y[:300])),
        (dask.delayed(X[300:]), dask.delayed(y[300:])),
    ]
    for solver in ("dual", "interior"):
        model = pegasos.dask.LinearSVC(solver=solver, n_jobs=-1, random_state=0).fit(parts)
        agree(model, local, 1e-3)
    frame = pd.DataFrame({"a": X[:, 0].toarray().ravel(), "b": y > 0, "c": np.arange(600) % 5})
    chunked = dd.from_pandas(frame, npartitions=2)
    target = dd.from_pandas(pd.Series(np.arange(600) % 3 == 0), npartitions=2)
    model = pegasos.dask.LinearSVC(random_state=0).fit(chunked, target)
    agree(model, pegasos.LinearSVC().fit(frame, np.arange(600) % 3 == 0), 1e-3)
    assert model.score(chunked, target) == pytest.approx(
        model.to_local().score(frame, target.compute())
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(chunked[["b", "a", "c"]])


def test_solve(client):
    X, y = text()
    signs = np.stack([y, -y, np.where(np.arange(y.size) % 2, y, 0)], axis=1)
    result = pegasos.dask.solve(
        blocks(X, 400), da.from_array(signs, chunks=(400, 3)), C=1.0, seed=0
    )
    local = pegasos.solve(X, signs, C=1.0)
    assert result.w.shape == (3, X.shape[1])
    assert np.all(np.abs(result.certificate.primal / local.certificate.primal - 1) < 1e-3)
    column = pegasos.dask.solve(
        blocks(X, 400), da.from_array(y[:, None], chunks=(400, 1)), C=1.0, seed=0
    )
    assert column.w.shape == (1, X.shape[1])
    with pytest.raises(ValueError, match="it has 3"):
        pegasos.dask.solve(blocks(X, 400), da.from_array(np.arange(1500) % 3, chunks=400), C=1.0)
    one = pegasos.dask.solve(blocks(X, 400), da.from_array(y, chunks=400), lam=1e-3, seed=0)
    assert one.w.shape == (X.shape[1],)
    assert one.certificate.relative_gap <= 1e-3
