"""From classes to lanes."""

import numpy as np
import pytest

from pegasos.tasks import lanes
from pegasos.tasks.lanes import class_weights, in_folds, one_vs_one, one_vs_rest
from pegasos.util.classes import classes_and_codes


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, ">f8", str, object, bool])
def test_codes_are_numpys_inverse_in_few_bytes(kind, count):
    y = np.random.default_rng(0).integers(0, count, 70_000).astype(kind)  # more than at once
    classes, codes = classes_and_codes(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.tolist() == expected.tolist()
    assert codes.tolist() == inverse.tolist()
    assert codes.dtype == np.uint8
    assert classes.dtype == expected.dtype


@pytest.mark.parametrize("y", [[], [1.0, np.nan, 0.0, 1.0], [0.0, -0.0, 0.0], [-np.inf, np.inf]])
def test_codes_of_numbers_that_are_no_two_classes(y):
    y = np.array(y)
    classes, codes = classes_and_codes(y)
    expected, inverse = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    assert codes.tolist() == inverse.tolist()


@pytest.mark.parametrize(("count", "kind"), [(256, np.uint8), (257, np.uint16), (1, np.uint8)])
def test_codes_have_room_for_every_class(count, kind):
    classes, codes = classes_and_codes(np.arange(count)[::-1])
    assert classes.size == count
    assert codes.tolist() == list(range(count))[::-1]
    assert codes.dtype == kind


def test_labels_of_codes_of_any_type(monkeypatch):
    monkeypatch.setattr(lanes, "BLOCK_ROWS", 2)
    codes = np.array([0, 1, 1, 0, 1])
    for kind in (np.uint8, np.uint32, np.intp):
        one = one_vs_rest(np.array([2.0, 3.0]))
        assert one.labels(codes.astype(kind))[:, 0].tolist() == [-1, 1, 1, -1, 1]
        assert (one.positive.tolist(), one.negative.tolist()) == ([3.0], [2.0])
        found = one_vs_rest(np.ones(3)).labels(codes.astype(kind))
        assert found[:, 1].tolist() == [-1, 1, 1, -1, 1]
        assert found.dtype == np.int8
        assert found.flags.c_contiguous


def test_pairs_leave_other_classes_out():
    pairs = one_vs_one(np.array([2.0, 3.0, 5.0]))
    found = pairs.labels(np.array([0, 1, 2], dtype=np.uint8))
    assert found.T.tolist() == [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]
    assert pairs.positive.tolist() == [3.0, 5.0, 5.0]
    assert pairs.negative.tolist() == [2.0, 2.0, 3.0]
    assert one_vs_one(np.ones(2)).sides.tolist() == one_vs_rest(np.ones(2)).sides.tolist()


def test_lanes_of_folds_come_one_fold_after_the_other():
    tables = [one_vs_rest(np.array([1.0, 2.0, 3.0])), one_vs_rest(np.array([4.0, 5.0, 6.0]))]
    both = in_folds(tables, [4, 7])
    assert both.fold.tolist() == [4, 4, 4, 7, 7, 7]
    assert both.positive.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.array_equal(both.sides[:, 3:], tables[1].sides)


def test_balanced_weights_count_rows_or_their_weights():
    classes, codes = classes_and_codes(np.array([3, 4, 4, 4]))
    assert class_weights("balanced", classes, codes, None).tolist() == [2.0, 4 / 6]
    twice = class_weights("balanced", classes, codes, np.array([[3.0], [1.0], [1.0], [1.0]]))
    assert twice.tolist() == [1.0, 1.0]
