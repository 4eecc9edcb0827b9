"""Measures are scikit-learn's, with weights and ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from pegasos.report import measures

drawn = st.integers(0, 10_000)


def scores_of(seed, n=60):
    """Scores with ties, rows of both kinds, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < rng.uniform(0.2, 0.8)
    positive[:2] = False, True
    scores = np.round(rng.normal(size=n) + positive, rng.integers(0, 3))
    weight = rng.integers(0, 4, n).astype(float)
    weight[:2] = 1
    return scores, positive, weight


@given(drawn)
def test_areas_are_those_of_scikit_learn(seed):
    scores, positive, weight = scores_of(seed)
    area = metrics.roc_auc_score(positive, scores, sample_weight=weight)
    assert measures.roc(scores, positive, weight).area == pytest.approx(area)
    mean = metrics.average_precision_score(positive, scores, sample_weight=weight)
    assert measures.precision_recall(scores, positive, weight).area == pytest.approx(mean)


@given(drawn)
def test_curves_go_through_the_points_of_scikit_learn(seed):
    scores, positive, weight = scores_of(seed)
    weight += 1  # scikit-learn has points of no weight
    made = measures.roc(scores, positive, weight)
    x, y, _ = metrics.roc_curve(positive, scores, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(made.x, x)
    np.testing.assert_allclose(made.y, y)
    precision, recall, _ = metrics.precision_recall_curve(positive, scores, sample_weight=weight)
    made = measures.precision_recall(scores, positive, weight)
    np.testing.assert_allclose(made.x[1:], recall[::-1][1:])
    np.testing.assert_allclose(made.y[1:], precision[::-1][1:])


def test_without_rows_of_both_kinds_there_is_no_curve():
    scores, some = np.arange(3.0), np.ones(3, dtype=bool)
    assert measures.roc(scores, some, np.ones(3)) is None
    assert measures.roc(scores, ~some, np.ones(3)) is None
    assert measures.precision_recall(scores, ~some, np.ones(3)) is None
    assert measures.roc(scores[:0], some[:0], np.ones(0)) is None


@given(drawn)
def test_thinned_curves_keep_their_ends_and_stay_near(seed):
    scores, positive, weight = scores_of(seed, 2000)
    whole = measures.roc(scores + np.arange(2000) * 1e-9, positive, weight)
    thin = whole.thinned(100)
    assert 50 < thin.x.size <= 102
    assert (thin.x[0], thin.y[0], thin.x[-1], thin.y[-1]) == (0, 0, 1, 1)
    away = np.abs(whole.x[:, None] - thin.x) + np.abs(whole.y[:, None] - thin.y)
    assert away.min(axis=1).max() <= 2 / 99 + 1e-12  # all of it is 2 long


@given(drawn)
def test_classes_fare_as_in_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, said = rng.integers(0, 4, (2, 50))
    weight = rng.uniform(size=50)
    counts = measures.confusion(truth, said, weight, 4)
    expected = metrics.confusion_matrix(truth, said, labels=range(4), sample_weight=weight)
    np.testing.assert_allclose(counts, expected)
    per = measures.PerClass.of_confusion(counts)
    precision, recall, f1, rows = metrics.precision_recall_fscore_support(
        truth, said, labels=range(4), sample_weight=weight, zero_division=0
    )
    np.testing.assert_allclose(per.precision, precision)
    np.testing.assert_allclose(per.recall, recall)
    np.testing.assert_allclose(per.f1, f1)
    np.testing.assert_allclose(per.rows, rows)
    if len(set(truth)) == 4:
        balanced = metrics.balanced_accuracy_score(truth, said, sample_weight=weight)
        assert per.balanced_accuracy == pytest.approx(balanced)


@given(drawn)
def test_probabilities_are_judged_as_in_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=80)
    true = rng.random(80) < p
    weight = rng.integers(1, 4, 80).astype(float)
    found = measures.reliability(p, true, weight)
    assert found.brier == pytest.approx(metrics.brier_score_loss(true, p, sample_weight=weight))
    plain = measures.reliability(p, true, np.ones(80))
    happened, given = calibration_curve(true, p, n_bins=10)
    np.testing.assert_allclose(plain.given, given)
    np.testing.assert_allclose(plain.happened, happened)
    many = rng.dirichlet(np.ones(3), 80)
    codes = np.concatenate([[0, 1, 2], rng.integers(0, 3, 77)])
    loss = metrics.log_loss(codes, many, sample_weight=weight)
    assert measures.mean_log_loss(many, codes, weight) == pytest.approx(loss)
    brier = metrics.brier_score_loss(codes, many, labels=range(3), scale_by_half=False)
    assert measures.multiclass_brier(many, codes, np.ones(80)) == pytest.approx(brier)


def test_margins_by_hand():
    two = measures.margins(np.array([2.0, -0.5]), np.array([1, 1]))
    np.testing.assert_array_equal(two, [2.0, -0.5])
    scores = np.array([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]])
    np.testing.assert_array_equal(measures.margins(scores, np.array([1, 0])), [1.0, -2.0])
    rival, best = measures.rivals(scores, np.array([1, 0]))
    assert (rival.tolist(), best.tolist()) == ([2, 1], [2.0, 3.0])


@given(drawn, st.floats(0.01, 100))
def test_histograms_count_every_row_and_have_an_edge_at_0(seed, scale):
    values = np.random.default_rng(seed).normal(size=300) * scale
    weight = np.arange(300.0)
    bars = measures.histogram(values, weight)
    assert bars.heights.sum() == pytest.approx(weight.sum())
    assert 0 in bars.edges
    assert bars.edges.size < 100
    wrong = weight[values < 0].sum()
    assert bars.heights[bars.edges[:-1] < 0].sum() == pytest.approx(wrong)


@pytest.mark.parametrize(("right", "rows"), [(0, 10), (7, 10), (10, 10), (818, 1000)])
def test_intervals_are_wilsons(right, rows):
    expected = binomtest(right, rows).proportion_ci(method="wilson")
    np.testing.assert_allclose(measures.interval(right, rows), expected, atol=1e-12)
