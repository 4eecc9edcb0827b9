"""``benchmarks.side_by_side``: what it calls slower."""

import pytest

from benchmarks.side_by_side import judged

OLD = [1.0, 3.0, 1.0, 2.0, 1.0]  # the machine was busy twice


def times(ratio):
    return [ratio * seconds for seconds in OLD]


@pytest.mark.parametrize(
    ("new", "again", "slower"),
    [(1.02, 1.0, False), (1.05, 1.0, True), (1.05, 1.04, False), (1.05, 0.96, False),
     (0.5, 1.0, False)],
)  # fmt: skip
def test_slower_is_beyond_what_the_old_one_differs_from_itself(new, again, slower):
    found = judged({"old": OLD, "new": times(new), "again": times(again)})
    assert found["slower"] is slower
    assert found["new/old"] == pytest.approx(new)
    assert found["old"] == 1.0


def test_a_round_that_was_disturbed_does_not_count():
    assert not judged({"old": OLD, "new": [9.0, *OLD[1:]], "again": OLD})["slower"]
