import pytest
from tests.common.runs import OPTIONS, X, Y

import pegasos


@pytest.fixture
def begun(tmp_path):
    """The checkpoint of a run that a limit ended."""
    pegasos.solve(X, Y, max_epochs=5, checkpoint=tmp_path / "run.ckpt", **OPTIONS)
    return tmp_path / "run.ckpt"
