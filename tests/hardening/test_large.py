"""More values than 32 bits can count, in files of about 20 GB that are mapped into memory."""

import shutil

import numpy as np
import pytest
from scipy import sparse

import pegasos
from pegasos.util.memory import available

VALUES = (1 << 31) + (1 << 20)
LONG = 1024  # values of a row
FEATURES = 4096
BYTES = VALUES * 9


@pytest.mark.slow
def test_an_epoch_over_more_than_two_to_the_31_values(tmp_path):
    n = -(-VALUES // LONG)
    if shutil.disk_usage(tmp_path).free < 1.5 * BYTES:
        pytest.skip(f"needs {1.5 * BYTES / 1e9:.0f} GB on the disk")
    if available() < 8 << 30:
        pytest.skip("needs 8 GB of memory")
    indices = np.memmap(tmp_path / "indices", np.int64, "w+", shape=n * LONG)
    values = np.memmap(tmp_path / "values", np.uint8, "w+", shape=n * LONG)
    rng = np.random.default_rng(0)
    first = rng.integers(FEATURES - LONG, size=n)
    block = 4096
    for lo in range(0, n, block):
        rows = first[lo : lo + block, None] + np.arange(LONG)
        indices[lo * LONG : lo * LONG + rows.size] = rows.ravel()
        values[lo * LONG : lo * LONG + rows.size] = 1
    X = sparse.csr_array((n, FEATURES), dtype=np.uint8)
    X.data, X.indices = values, indices
    X.indptr = np.arange(n + 1, dtype=np.int64) * LONG
    y = np.where(first > (FEATURES - LONG) // 2, 1, -1)
    result = pegasos.solve(X, y, lam=1e-3, solver="sgds", max_epochs=1, seed=0, intercept="none")
    assert np.isfinite(result.w).all()
    assert result.epochs >= 1
    last = np.asarray(X.indices[-LONG:])
    assert abs(float(result.w[last].sum())) > 0  # rows beyond 2^31 values were read
    scores = np.array([result.w[f : f + LONG].sum() for f in (0, FEATURES - LONG - 1)])
    assert (np.sign(scores) == [-1, 1]).all()
