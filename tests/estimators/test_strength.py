"""C and lam: which of them says how much losses weigh, and what is neither."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from pegasos import LinearSVC

X = np.random.default_rng(0).normal(size=(60, 4))
y = np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("train", [LinearSVC.fit, LinearSVC.partial_fit])
@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"C": 10.0, "lam": 1e-3}, ValueError, r"C=10.0 and lam=0.001 both say .* leave one"),
        ({"C": "a"}, TypeError, "C must be a number, got 'a'"),
        ({"C": "1"}, TypeError, "C must be a number, got '1'"),
        ({"C": [1]}, TypeError, r"C must be a number, got \[1\]"),
        ({"lam": "a"}, TypeError, "lam must be a number, got 'a'"),
        ({"C": np.inf}, ValueError, "C must be finite and positive, got inf"),
        ({"C": -1}, ValueError, "C must be finite and positive, got -1"),
        ({"lam": 0.0}, ValueError, "lam must be finite and positive, got 0.0"),
    ],
)
def test_what_is_none_is_told(train, given, error, words):
    """Before, C was ignored next to lam, and a text was multiplied."""
    with pytest.raises(error, match=words):
        train(LinearSVC(**given), X, y)


def test_lam_goes_with_the_usual_C():
    assert LinearSVC(lam=1e-2).get_params()["C"] == 1.0
    assert LinearSVC(C=1.0, lam=1e-2).fit(X, y).certificate_.relative_gap <= 1e-3


def test_a_grid_over_C_beside_lam_is_no_grid():
    """All of its scores were the same."""
    search = GridSearchCV(LinearSVC(lam=1e-3), {"C": [0.1, 10.0]}, cv=2)
    with pytest.raises(ValueError, match="both say how much losses weigh"):
        search.fit(X, y)
