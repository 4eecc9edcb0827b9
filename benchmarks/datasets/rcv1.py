"""A subset of RCV1-v2 news, tf-idf, unit rows: 27,613 x 47,236, sparse."""

from benchmarks.datasets import read_svmlight

TITLE = "RCV1 subset"
TASK = "CCAT against the rest"
GENERATED = False


def load():
    return read_svmlight("rcv1_ccat_subset.svm.gz")
