"""UCI Covertype: 581,012 x 54, dense; columns scaled to [0, 1]."""

import gzip

import numpy as np

from benchmarks.datasets import real_file, signs

TITLE = "covtype"
TASK = "class 2 against the rest"
GENERATED = False


def load():
    with gzip.open(real_file("covtype.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    X, y = np.ascontiguousarray(table[:, :-1]), signs(table[:, -1] == 2)
    X -= X.min(axis=0)
    X /= np.maximum(X.max(axis=0), 1e-9)
    return X, y
