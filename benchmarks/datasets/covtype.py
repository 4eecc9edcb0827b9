"""UCI Covertype: 581,012 x 54, dense; columns scaled to [0, 1]."""

import gzip

import numpy as np

from benchmarks.datasets import real_file, signs

TITLE = "covtype"
TASK = "class 2 against the rest"
GENERATED = False


def load():
    X, classes = load_classes()
    return X, signs(classes == 2)


def load_classes():
    with gzip.open(real_file("covtype.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    X = np.ascontiguousarray(table[:, :-1])
    X -= X.min(axis=0)
    X /= np.maximum(X.max(axis=0), 1e-9)
    return X, table[:, -1].astype(np.uint8)
