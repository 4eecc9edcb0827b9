"""Warnings point at the user's own line."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.common.toys import toy

import pegasos


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_that_is_not_proven_warns_at_the_call(classes):
    data = toy(300, 6, seed=0)
    y = np.arange(300) % classes
    model = pegasos.LinearSVC(C=100.0, max_iter=1, tol=1e-9, solver="dual")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(data.X, y)
    ours = [w for w in seen if issubclass(w.category, ConvergenceWarning)]
    assert [w.filename for w in ours] == [__file__]
