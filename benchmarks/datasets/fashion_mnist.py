"""Fashion-MNIST: 60,000 x 784, dense; bytes / 255."""

import gzip

import numpy as np

from benchmarks.datasets import real_file, signs

TITLE = "Fashion-MNIST"
TASK = "class 6 (shirt) against the rest"
GENERATED = False


def load():
    X, classes = load_classes()
    return X, signs(classes == 6)


def load_classes(part="train"):
    X = _read(f"fashion-mnist/{part}-images-idx3-ubyte.gz", header=16).reshape(-1, 784)
    classes = _read(f"fashion-mnist/{part}-labels-idx1-ubyte.gz", header=8)
    return X.astype(np.float32) / np.float32(255), classes


def _read(name, header):
    with gzip.open(real_file(name), "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)
