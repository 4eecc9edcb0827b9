"""UCI Adult with binary features: 32,561 x 123, sparse."""

from benchmarks.datasets import read_svmlight

TITLE = "a9a"
TASK = "income over 50,000 against the rest"
GENERATED = False


def load():
    return read_svmlight("a9a")
