"""The data sets of the benchmark, one file each.

A data set is a module with ``TITLE``, ``TASK``, ``GENERATED`` (a generator's output, not real
data) and ``load() -> X, y``: float32, dense or CSR with int32 indices; y is int8 in {-1, +1}. One
with several classes also has ``load_classes() -> X, y``. Real data are read from the folder that
``PEGASOS_DATA`` names; where they are missing, ``load`` raises ``MissingError``.
"""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

NAMES = (
    "a9a", "w8a", "ijcnn1", "newsgroups", "rcv1", "fashion_mnist", "covtype", "news_200k",
    "dense_500k",
)  # fmt: skip
SMALL = ("a9a", "w8a", "ijcnn1")  # where every peer is first checked
QUICK = ("a9a", "ijcnn1")


class MissingError(Exception):
    """A data set is not on this machine."""


def module(name):
    """The data set of that name; only what is asked for is imported."""
    return import_module(f"{__name__}.{name}")


def loaded(names):
    """(name, X, y) of those that are here; the others are named on the screen."""
    for name in names:
        try:
            X, y = module(name).load()
        except MissingError as missing:
            print(f"{name}: skipped: {missing}", flush=True)
            continue
        yield name, X, y


def real_file(name):
    """The path of a file of real data."""
    folder = os.environ.get("PEGASOS_DATA")
    if not folder:
        raise MissingError(f"PEGASOS_DATA is not set: it names the folder that holds {name}")
    path = Path(folder) / name
    if not path.exists():
        raise MissingError(f"PEGASOS_DATA has no {name}")
    return path


def read_svmlight(name):
    """A binary problem in LIBSVM's text format, gzipped or not."""
    X, y = load_svmlight_file(str(real_file(name)), dtype=np.float32)
    return as_csr(X.data, X.indices, X.indptr, X.shape), signs(y > 0)


def as_csr(data, indices, indptr, shape):
    """CSR in the types that every peer reads without a conversion of its own."""
    parts = (data.astype(np.float32), indices.astype(np.int32), indptr.astype(np.int32))
    return csr_matrix(parts, shape=tuple(shape))


def signs(positive):
    """Labels in {-1, +1}."""
    return np.where(positive, 1, -1).astype(np.int8)
