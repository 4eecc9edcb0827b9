"""20 Newsgroups by date, tf-idf, unit rows: 11,314 x 130,107, sparse."""

import numpy as np

from benchmarks.datasets import as_csr, real_file, signs

TITLE = "20 Newsgroups"
TASK = "classes 10 to 19 against classes 0 to 9"
GENERATED = False


def load():
    X, classes = load_classes()
    return X, signs(classes >= 10)


def load_classes():
    with np.load(real_file("20news_bydate_tfidf_train.npz")) as file:
        X = as_csr(file["data"], file["indices"], file["indptr"], file["shape"])
        return X, file["y"]
