"""What a fit takes beyond X: 16 bytes x rows x lanes + 24 bytes x features x lanes + 50 MB.

Processes of their own, so that nothing which is free already hides what a fit takes; this file is
what they run.
"""

import ctypes
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from pegasos import LinearSVC


def dense(rows, features, classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    scores = X[:, :classes] + rng.standard_normal((rows, classes), dtype=np.float32)
    return X, scores.argmax(axis=1)


def wide(rows, features):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, features, (rows, 10)), axis=1) // 10 * 10 + np.arange(10)
    values = rng.standard_normal(columns.size, dtype=np.float32)
    parts = (values, columns.ravel().astype(np.int32), 10 * np.arange(rows + 1, dtype=np.int32))
    return sparse.csr_matrix(parts, shape=(rows, features + 10)), np.arange(rows) % 2


# Each of them was over the bound once.
FITS = {
    "rows": (dense, (1_500_000, 4, 2), {}),
    "weighted rows": (dense, (1_000_000, 4, 2), {"class_weight": "balanced"}),
    "rows, coordinate by coordinate": (dense, (1_500_000, 4, 2), {"solver": "dual", "max_iter": 3}),
    "lanes side by side": (dense, (690_000, 4, 3), {"solver": "dual", "max_iter": 12}),
    "features": (wide, (20_000, 4_000_000), {}),
}


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize("name", FITS)
def test_peaks_keep_the_bound(name):
    done = subprocess.run(
        [sys.executable, __file__, name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    peak, bound = (float(number) for number in done.stdout.split())
    assert peak < 0.95 * bound


def measured(name):
    """The peak of a fit beyond X, and its bound."""
    make, sizes, options = FITS[name]
    X, y = make(*sizes)
    weight = np.ones(y.size) if name == "weighted rows" else None
    model = LinearSVC(random_state=0, n_jobs=2, **options)
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    model.fit(X, y, weight)
    peak = resident("VmHWM") - before
    lanes = len(model.coef_)
    return peak, 16 * X.shape[0] * lanes + 24 * X.shape[1] * lanes + 50e6


def resident(field):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition(field + ":")[2].split()[0])


@pytest.mark.parametrize(("rows", "features"), [(8000, 2), (200, 20_000)])
def test_what_lanes_were_trained_in_does_not_stay(rows, features):
    """Neither their duals, nor the weights that their coefficients were copied from."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, features), density=2 / features, format="csr", rng=rng)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    y = np.arange(rows) % 40
    model = LinearSVC(solver="dual", tol=0.5, max_iter=20, n_jobs=1, random_state=0)
    model.fit(X, y)  # imports
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    lanes = 40 * (rows + 8 * features)  # labels of one byte, and weights
    assert peak < lanes + 100 * rows + 100 * features + 200_000


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # limits end some
    print(*measured(sys.argv[1]))
