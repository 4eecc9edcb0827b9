"""SVM-light's linear models are read: the weights are the sum of its support vectors."""

import numpy as np
import pytest
from scipy import sparse

from pegasos import export
from pegasos.export import ModelFileError

GOOD = """SVM-light Version V6.02
0 # kernel type
3 # kernel parameter -d 
1 # kernel parameter -g 
1 # kernel parameter -s 
1 # kernel parameter -r 
empty# kernel parameter -u 
4 # highest feature index 
10 # number of training documents 
4 # number of support vectors plus 1 
0.75 # threshold b, each following line is a SV (starting with alpha*y)
0.5 1:2 3:-1 #
-0.25 1:4 4:1e1 # a comment: 7:1
0.125 #
"""  # noqa: W291 - as SVM-light writes it


def test_weights_are_the_sum_of_support_vectors(tmp_path):
    (tmp_path / "model").write_text(GOOD)
    model = export.read_any(tmp_path / "model")
    # By hand: 0.5 (2, 0, -1, 0) - 0.25 (4, 0, 0, 10) + 0
    np.testing.assert_array_equal(model.coef, [[0, 0, -0.5, -2.5]])
    np.testing.assert_array_equal(model.intercept, [-0.75])
    X = np.array([[0, 0, -1, -1.0], [0, 0, 1, 0], [0, 0, -1.5, 0]])
    np.testing.assert_array_equal(model.scores(X), [2.25, -1.25, 0.0])
    np.testing.assert_array_equal(model.predict(X), [1, -1, -1])
    assert model.parameters["intercept"] == "free"
    assert model.certificate is None


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("0 # kernel type", "2 # kernel type", 2, "another kernel"),
        ("0 # kernel type", "# kernel type", 2, "one value before '#'"),
        ("4 # highest", "0 # highest", 8, "whole number from 1"),
        ("4 # highest", "3 # highest", 13, "whole number from 1 to 3"),
        ("10 # number", "x # number", 9, "whole number"),
        ("4 # number", "5 # number", 10, "has 3 support vectors, not 4"),
        ("0.75 #", "nan #", 11, "finite number"),
        ("0.125 #", "0.125x #", 14, "finite number"),
        ("0.125 #", "#", 14, "expected a support vector"),
        ("1:2 3:-1", "3:2 1:-1", 12, "index 1 comes after 3"),
        ("1:2 3:-1", "1:2 1:-1", 12, "index 1 comes after 1"),
        ("1:2 3:-1", "1:2 3", 12, "index:value"),
        ("1:2 3:-1", "0:2", 12, "whole number from 1"),
        ("1:2 3:-1", "1:inf", 12, "finite number"),
        ("1:2 3:-1", "1:1e308", 12, None),
    ],
)
def test_a_malformed_model_is_refused_with_its_line(tmp_path, old, new, line, what):
    path = tmp_path / "model"
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    if what is None:
        assert export.read_any(path).coef[0, 0] == 0.5e308
        return
    with pytest.raises(ModelFileError, match=what) as caught:
        export.read_any(path)
    assert caught.value.line == line


def test_cut_off_models_are_refused(tmp_path):
    path = tmp_path / "model"
    for length in range(len("SVM-light"), GOOD.index("0.125")):
        path.write_text(GOOD[:length])
        with pytest.raises(ModelFileError):
            export.read_any(path)
    path.write_text(GOOD.replace("1:2", "1:1e308").replace("0.5 ", "50 "))
    with pytest.raises(ModelFileError, match="beyond what float64"):
        export.read_any(path)


def test_a_large_index_takes_no_memory(tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD.replace("4 # highest", "2147483647 # highest").replace(
        "4:1e1", "2147483647:1e1"))  # fmt: skip
    model = export.read_any(path)
    assert sparse.issparse(model.coef)
    assert model.features == 2147483647
    assert model.coef.nnz == 3
