"""Platt's web pages: 49,749 x 300, sparse; 3% positive, and 4,203 rows have no features."""

from benchmarks.datasets import read_svmlight

TITLE = "w8a"
TASK = "one category of pages against the rest"
GENERATED = False


def load():
    return read_svmlight("w8a")
