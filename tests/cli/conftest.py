import numpy as np
import pytest
from typer.testing import CliRunner

from pegasos.cli.app import make_app
from pegasos.data.svmlight import write_svmlight


@pytest.fixture
def run():
    """Run a command: its result has ``exit_code``, ``stdout`` and ``stderr``."""

    def call(*arguments):
        result = CliRunner().invoke(make_app(), [str(one) for one in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def values(run):
    """Run a command that succeeds; its ``name<TAB>value`` lines as a dict."""

    def call(*arguments, code=0):
        result = run(*arguments)
        assert result.exit_code == code, result.stderr
        return dict(line.split("\t", 1) for line in result.stdout.splitlines())

    return call


def rows(n=400, d=30, classes=2, seed=0):
    """Overlapping classes of sparse rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    W = rng.normal(size=(d, classes))
    y = (X @ W + rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


@pytest.fixture
def two(tmp_path):
    """A file of two classes, -1 and 1."""
    X, y = rows()
    write_svmlight(X, 2 * y - 1, tmp_path / "two.svm")
    return tmp_path / "two.svm"


@pytest.fixture
def three(tmp_path):
    X, y = rows(classes=3)
    write_svmlight(X, y, tmp_path / "three.svm")
    return tmp_path / "three.svm"
