"""Generated stand-in of RCV1's shape: 200,000 x 47,236, sparse, unit rows."""

from benchmarks.datasets import as_csr
from pegasos.data.synthetic import make_news

TITLE = "news, 200,000 rows"
TASK = "CCAT-like topics against the rest"
GENERATED = True


def load():
    X, y = make_news(200_000)
    return as_csr(X.data, X.indices, X.indptr, X.shape), y
