import pytest

import pegasos
from pegasos.testing.runs import OPTIONS, X, Y


@pytest.fixture
def begun(tmp_path):
    """The checkpoint of a run that a limit ended."""
    pegasos.solve(X, Y, max_epochs=5, checkpoint=tmp_path / "run.ckpt", **OPTIONS)
    return tmp_path / "run.ckpt"
