"""What is counted does not depend on the blocks rows come in."""

import numpy as np
import pytest
from scipy import sparse
from tests.common.models import random_model

from pegasos.report import Scored, about_model
from pegasos.report.weights import misled


def three(n=200, seed=0):
    rng = np.random.default_rng(seed)
    model = random_model("ovr", 3, 5)  # classes 1, 2, 3
    X = rng.normal(size=(n, 5))
    y = np.where(rng.random(n) < 0.7, model.predict(X), rng.integers(1, 4, n))
    return model, X, y, rng.uniform(size=n)


def test_blocks_add_up_to_the_whole():
    model, X, y, weight = three()
    whole, parts = Scored(about_model(model)), Scored(about_model(model))
    whole.add(model.scores(X), y, weight=weight, X=X)
    for lo in range(0, 200, 33):
        some = slice(lo, lo + 33)
        parts.add(model.scores(X[some]), y[some], weight=weight[some], X=X[some])
    np.testing.assert_allclose(parts.counts, whole.counts)
    assert parts.accuracy == pytest.approx(np.average(model.predict(X) == y, weights=weight))
    np.testing.assert_array_equal(parts.kept.scores, whole.kept.scores)
    rows = [one.row for one in parts.worst]
    assert rows == [one.row for one in whole.worst]
    margins = [one.margin for one in whole.worst]
    assert margins == sorted(margins)
    assert len(set(rows)) == 20


def test_of_many_rows_every_so_many_are_kept():
    model, X, y, _ = three(1000)
    scored = Scored(about_model(model), most=300)
    for lo in range(0, 1000, 70):
        scored.add(model.scores(X[lo : lo + 70]), y[lo : lo + 70])
    assert scored.stride > 1
    np.testing.assert_array_equal(scored.kept.scores, model.scores(X)[:: scored.stride])
    assert scored.kept.scores.size <= 300
    assert scored.counts.sum() == 1000
    assert scored.accuracy == pytest.approx(np.mean(model.predict(X) == y))


def test_unknown_classes_are_wrong_and_in_no_matrix():
    model, X, y, _ = three()
    y = y.astype(object)
    y[:10] = "never seen"
    scored = Scored(about_model(model))
    scored.add(model.scores(X), y, X=X)
    assert scored.unknown == 10
    assert scored.counts.sum() == 190
    right = (model.predict(X)[10:] == y[10:].astype(int)).sum()
    assert scored.accuracy == pytest.approx(right / 200)
    assert min(one.row for one in scored.worst) >= 10


def test_labels_are_counted_each_by_itself():
    model = random_model("labels", 3, 5)
    X = np.random.default_rng(0).normal(size=(50, 5))
    said = model.predict(X).toarray()
    truth = said.copy()
    truth[0] = 1 - truth[0]
    scored = Scored(about_model(model))
    scored.add(model.scores(X), sparse.csr_matrix(truth), label_names=model.classes, X=X)
    assert scored.accuracy == pytest.approx(49 / 50)
    assert scored.wrong_labels == 3
    np.testing.assert_array_equal(scored.per_class.rows, truth.sum(axis=0))
    np.testing.assert_array_equal(scored.per_class.said, said.sum(axis=0))
    assert scored.worst[0].row == 0
    # A label of the data that the model does not have makes its rows wrong.
    scored.add(model.scores(X), sparse.csr_matrix(np.ones((50, 1))), label_names=[77])
    assert scored.unknown == 50


@pytest.mark.parametrize(("scheme", "classes"), [("ovr", 2), ("ovr", 4), ("ovo", 4)])
@pytest.mark.parametrize("csr", [False, True])
def test_what_misled_adds_up_to_the_difference_of_scores(scheme, classes, csr):
    model = random_model(scheme, classes, 3, csr=csr)
    about = about_model(model)
    X = np.random.default_rng(1).normal(size=(40, 3))
    y = np.random.default_rng(2).choice(model.classes, 40)
    scored = Scored(about)
    scored.add(model.scores(X), y, X=sparse.csr_matrix(X) if csr else X)
    coef = model.coef.toarray() if csr else model.coef
    for one in scored.worst:
        x = X[one.row]
        if classes == 2:
            direction = coef[0] if one.rival == 1 else -coef[0]
        elif scheme == "ovr":
            direction = coef[one.rival] - coef[one.true]
        else:
            low, high = sorted((one.true, one.rival))
            lane = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].index((low, high))
            direction = coef[lane] if one.rival > one.true else -coef[lane]
        spoke = sorted((x * direction)[x * direction > 0], reverse=True)
        found = [amount for _, amount in misled(about, one)]
        np.testing.assert_allclose(found, spoke)
