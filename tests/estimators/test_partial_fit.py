"""partial_fit: SGD's own steps, whatever the batches; classes that come late."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.common.reference import margin_perceptron

import pegasos


def data(n=400, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)) * (rng.uniform(size=(n, 7)) < 0.6)
    y = (X @ rng.normal(size=(7, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


def batches(model, X, y, size, weight=None, **options):
    for lo in range(0, len(y), size):
        part = slice(lo, lo + size)
        some = None if weight is None else weight[part]
        model.partial_fit(X[part], y[part], sample_weight=some, **options)
    return model


def expected(X, y, lam, c=None, bias=1.0):
    """The last w, and the mean over all steps."""
    Z = np.column_stack([X, np.full(len(y), bias)])
    c = np.ones(len(y)) if c is None else c
    signs = np.where(c > 0, np.where(y == 1, 1, -1), 0).astype(np.int8)
    ws = [u / (lam * t) for (u, t), y_i in zip(
        margin_perceptron(Z, signs, c, lam, range(len(y))), signs, strict=True) if y_i]  # fmt: skip
    return ws[-1], np.mean(ws, axis=0)


@pytest.mark.parametrize("size", [1, 10, 400])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_the_steps_are_those_of_sgd_whatever_the_batches(size, average, make):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float)
    model = pegasos.LinearSVC(lam=1e-2, average=average)
    batches(model, make(X), y, size, weight + (np.arange(y.size) % size == 0), classes=[0, 1])
    last, mean = expected(X, y, 1e-2, weight + (np.arange(y.size) % size == 0))
    np.testing.assert_allclose(
        np.append(model.coef_[0], model.intercept_), mean if average else last, atol=1e-9
    )


def test_the_order_of_sgds_gives_its_model():
    # A permutation, presented row by row, is an epoch of SGDS in that order.
    X, y = data()
    order = np.random.default_rng(0).permutation(y.size)
    model = batches(pegasos.LinearSVC(lam=1e-2), X[order], y[order], 100)
    np.testing.assert_allclose(
        np.append(model.coef_[0], model.intercept_), expected(X[order], y[order], 1e-2)[0]
    )


@pytest.mark.parametrize("average", [False, True])
def test_a_class_that_comes_late_starts_a_lane(average):
    X, y = data(700, classes=3)
    late = y.copy()
    late[:350][late[:350] == 2] = 0
    with pytest.warns(UserWarning, match="y holds class 2, which is new") as said:
        model = batches(pegasos.LinearSVC(lam=1e-2, average=average), X, late, 50)
    assert len(said) == 1
    assert list(model.classes_) == [0, 1, 2]
    assert model.coef_.shape == (3, 7)
    for k, first in ((0, 0), (1, 0), (2, None)):
        if first is None:  # it begins with the batch in which it is first seen
            first = int(np.flatnonzero(late == 2)[0]) // 50 * 50
        last, mean = expected(X[first:], (late[first:] == k).astype(int), 1e-2)
        np.testing.assert_allclose(
            np.append(model.coef_[k], model.intercept_[k]), mean if average else last, atol=1e-9
        )


def test_classes_may_come_one_by_one():
    X, y = data(300)
    model = pegasos.LinearSVC(lam=1e-2)
    model.partial_fit(X[y == 1][:20], y[y == 1][:20])
    assert (model.predict(X) == 1).all()
    with pytest.warns(UserWarning, match="y holds class 0, which is new"):
        model.partial_fit(X, y)
    assert list(model.classes_) == [0, 1]
    order = np.concatenate([np.flatnonzero(y == 1)[:20], np.arange(300)])
    np.testing.assert_allclose(
        np.append(model.coef_[0], model.intercept_), expected(X[order], y[order], 1e-2)[0]
    )
    assert model.score(X, y) > 0.7
    with pytest.warns(UserWarning, match="y holds class -1, which is new"):
        model.partial_fit(X[:5], np.full(5, -1))
    assert list(model.classes_) == [-1, 0, 1]


def test_declared_classes_are_a_contract():
    """Before, one mistyped label became a class, and took most rows of the others."""
    X, y = data()
    model = pegasos.LinearSVC(lam=1e-2).partial_fit(X[:200], y[:200], classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="class 7, which is not among the declared classes 0, 1"):
        model.partial_fit(X[200:], np.where(np.arange(200) == 3, 7, y[200:]))
    with pytest.raises(ValueError, match="declared as 0, 1 before, and are 0, 1, 7 here"):
        model.partial_fit(X[200:], y[200:], classes=[0, 1, 7])
    np.testing.assert_array_equal(model.coef_, before)
    # Another call may declare them again, or leave them out.
    batches(model, X[200:], y[200:], 50, classes=[0, 1]).partial_fit(X, y)
    assert list(model.classes_) == [0, 1]


def test_classes_may_be_declared_late():
    X, y = data()
    model = pegasos.LinearSVC(lam=1e-2).partial_fit(X[:200], y[:200])
    model.partial_fit(X[200:], y[200:], classes=[0, 1, 2])
    assert list(model.classes_) == [0, 1, 2]
    with pytest.raises(ValueError, match="class 3, which is not among the declared classes"):
        model.partial_fit(X[:1], [3])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("strength", [{"C": 0.1}, {"lam": 1e-2}])
def test_it_goes_on_from_a_fit(classes, average, strength, tmp_path):
    """Before, it began anew at w = 0, with the classes of the batch."""
    X, y = data(800, classes)
    model = pegasos.LinearSVC(**strength, average=average).fit(X, y)
    before, b = model.coef_.copy(), model.intercept_.copy()
    scored = model.score(X, y)
    pegasos.save(model, tmp_path / "m")
    for one in (model, pegasos.load(tmp_path / "m")):
        one.partial_fit(X[:1], y[:1])
        assert list(one.classes_) == list(range(classes))
        assert one.t_ == 801
        # A step of SGD at t = 801 moves w by no more than its loss weighs among 801 rows.
        lam = strength.get("lam", 1 / (0.1 * 801))
        most = np.linalg.norm(np.append(X[0], 1.0)) / (lam * 801) + np.abs(before).max() / 400
        assert 0 < np.abs(one.coef_ - before).max() <= most
        assert np.abs(one.intercept_ - b).max() <= most + np.abs(b).max() / 400
        assert one.score(X, y) > scored - 0.03
        batches(one, X, y, 100)
        assert one.score(X, y) > scored - 0.05


def test_what_it_cannot_go_on_from_says_so():
    X, y = data(300, 3)
    pairs = pegasos.LinearSVC(multi_class="ovo").fit(X, y).set_params(multi_class="ovr")
    with pytest.raises(ValueError, match=r"a fit of pairs of classes; .*clone\(model\)"):
        pairs.partial_fit(X, y)
    labels = pegasos.LinearSVC().fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(ValueError, match="a fit of labels"):
        labels.partial_fit(X, y)
    old = pegasos.LinearSVC().fit(X, y)
    del old._rows  # as a model file of an earlier version
    with pytest.raises(ValueError, match="nothing says how many rows it had"):
        old.partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        pegasos.LinearSVC().fit(X, y).partial_fit(X[:, :4], y)


def test_there_is_no_proof_and_it_says_why():
    X, y = data()
    model = pegasos.LinearSVC().fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    model.partial_fit(X, y)
    assert not hasattr(model, "certificate_")
    with pytest.raises(AttributeError, match="the rows, and they are gone"):
        model.certificate_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute"):
        model.no_such_thing  # noqa: B018
    assert model.t_ == 2 * y.size  # the rows of the fit count
    assert model.fit(X, y).certificate_.relative_gap <= 1e-3
    assert not hasattr(model, "t_")
    assert not hasattr(clone(model), "_online")


def test_with_c_it_is_the_problem_of_the_rows_so_far():
    X, y = data(2000)
    model = batches(pegasos.LinearSVC(C=0.05, average=True), X, y, 100)
    best = pegasos.LinearSVC(C=0.05).fit(X, y).score(X, y)
    assert model.score(X, y) > best - 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "dual"}, "solver must be"),
        ({"loss": "squared_hinge"}, "loss must be"),
        ({"intercept": "free"}, "intercept must be"),
        ({"multi_class": "ovo"}, "multi_class must be"),
        ({"class_weight": "balanced"}, "give a dict"),
        ({"probability": True}, "probability"),
    ],
)
def test_options_it_would_ignore_are_refused(options, words):
    X, y = data(50)
    with pytest.raises(AttributeError, match=words):
        pegasos.LinearSVC(**options).partial_fit(X, y)
    with pytest.raises(ValueError, match="lam must be"):
        pegasos.LinearSVC(lam=-1.0).partial_fit(X, y)


def test_wrong_batches_are_refused_and_change_nothing():
    X, y = data()
    model = pegasos.LinearSVC(lam=1e-2).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:10, :3], y[:10])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="class 5, which is not among the declared"):
        model.partial_fit(X[:3], np.array([0, 1, 5]), classes=[0, 1])
    np.testing.assert_array_equal(model.coef_, before)
