"""IJCNN 2001 challenge: 49,990 x 22, sparse; 10% positive."""

from benchmarks.datasets import read_svmlight

TITLE = "ijcnn1"
TASK = "normal firing against misfiring"
GENERATED = False


def load():
    return read_svmlight("ijcnn1.gz")
