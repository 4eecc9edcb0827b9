"""From classes to lanes."""

import numpy as np
import pytest

from pegasos.tasks.labels import class_weights, classes_and_codes, one_vs_rest


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, str, object, bool])
def test_codes_are_numpys_inverse_in_few_bytes(kind):
    y = np.random.default_rng(0).integers(0, 5, 70_000).astype(kind)  # more than at once
    classes, codes = classes_and_codes(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.tolist() == expected.tolist()
    assert codes.tolist() == inverse.tolist()
    assert codes.dtype == np.uint8


@pytest.mark.parametrize(("count", "kind"), [(256, np.uint8), (257, np.uint16), (1, np.uint8)])
def test_codes_have_room_for_every_class(count, kind):
    classes, codes = classes_and_codes(np.arange(count)[::-1])
    assert classes.size == count
    assert codes.tolist() == list(range(count))[::-1]
    assert codes.dtype == kind


def test_labels_of_codes_of_any_type():
    codes = np.array([0, 1, 1, 0, 1])
    for kind in (np.uint8, np.uint32, np.intp):
        lane, up, down = one_vs_rest(codes.astype(kind), np.array([2.0, 3.0]))
        assert lane[:, 0].tolist() == [-1, 1, 1, -1, 1]
        assert (up.tolist(), down.tolist()) == ([3.0], [2.0])
        lanes, _, _ = one_vs_rest(codes.astype(kind), np.ones(3))
        assert lanes[:, 1].tolist() == [-1, 1, 1, -1, 1]
        assert lanes.dtype == np.int8


def test_balanced_weights_count_rows_or_their_weights():
    classes, codes = classes_and_codes(np.array([3, 4, 4, 4]))
    assert class_weights("balanced", classes, codes, None).tolist() == [2.0, 4 / 6]
    twice = class_weights("balanced", classes, codes, np.array([[3.0], [1.0], [1.0], [1.0]]))
    assert twice.tolist() == [1.0, 1.0]
