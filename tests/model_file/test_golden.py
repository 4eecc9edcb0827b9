"""Files that earlier versions wrote are read for ever, and predict what they did then."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import pegasos
from pegasos.model import file as model_file

FOLDER = Path(__file__).parent.parent / "golden"
FILES = sorted(FOLDER.glob("v*.model"))


def test_every_version_has_golden_files():
    found = {path.name.split("-")[0] for path in FILES}
    assert found == {f"v{version}" for version in range(1, model_file.VERSION + 1)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_any_version_predicts_what_it_did(path):
    wanted = json.loads(path.with_suffix(".json").read_text())
    X = np.array(wanted["X"])
    model = pegasos.load(path)
    predicted = model.predict(X)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    assert predicted.tolist() == wanted["predicted"]
    np.testing.assert_allclose(model.decision_function(X), wanted["scores"], rtol=1e-12)
    assert np.asarray(model.certificate_.primal).tolist() == wanted["primal"]
    assert model.stop_reason_ == "converged"
    if "probabilities" in wanted:
        np.testing.assert_allclose(model.predict_proba(X), wanted["probabilities"], rtol=1e-12)
    plain = model_file.read(path)
    np.testing.assert_allclose(plain.scores(X), wanted["scores"], rtol=1e-12)
