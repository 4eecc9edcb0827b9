"""One SGDS epoch against reading the data once, and against an epoch of scikit-learn's SGD.

    python benchmarks/epoch.py [rows]

RCV1-shaped stand-in data (pegasos.data.synthetic.make_news), CSR float32. The three are timed in
turn, five rounds; a ratio is the median over the rounds of the ratio within a round. An epoch's
time is the difference between a run of six epochs and a run of one, over five, so that set-up
does not count on either side.
"""

import sys
import time
from statistics import median

import numpy as np
from sklearn.linear_model import SGDClassifier

from pegasos import SGDS
from pegasos.data.synthetic import make_news
from pegasos.problem import make_problem

LAM = 1e-5
FAR = 1 << 60


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def read_once(X):
    """Touch every byte of the values, the indices and the row pointers, in order."""
    for array in (X.data, X.indices, X.indptr):
        whole = array[: array.size // 2 * 2].view(np.uint64)
        np.bitwise_or.reduce(whole)


def ours(problem, epochs):
    solver = SGDS()
    state = solver.start(problem, seed=0)
    return lambda: solver.advance(
        problem, state, work=FAR, stop_seen=epochs * problem.n, stop_steps=FAR
    )


def peer(X, y, epochs):
    model = SGDClassifier(
        loss="hinge", alpha=LAM, fit_intercept=False, max_iter=epochs, tol=None, random_state=0
    )
    return lambda: model.fit(X, y)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    X, y = make_news(rows)
    problem = make_problem(X, y[:, None], lam=LAM, intercept="none")
    print(f"{rows} x {X.shape[1]}, {X.nnz / 1e6:.1f} M non-zeros, CSR {X.data.dtype}")
    print(f"{'read once':>10} {'SGDS':>10} {'sklearn':>10}   SGDS/read  SGDS/sklearn")
    to_read, to_peer = [], []
    for _ in range(5):
        read = seconds(lambda: [read_once(X) for _ in range(5)]) / 5
        epoch = (seconds(ours(problem, 6)) - seconds(ours(problem, 1))) / 5
        sgd = (seconds(peer(X, y, 6)) - seconds(peer(X, y, 1))) / 5
        to_read.append(epoch / read)
        to_peer.append(epoch / sgd)
        print(
            f"{read * 1e3:7.1f} ms {epoch * 1e3:7.1f} ms {sgd * 1e3:7.1f} ms"
            f"   {to_read[-1]:9.2f}  {to_peer[-1]:12.2f}"
        )
    print(f"median ratios: {median(to_read):.2f} of reading, {median(to_peer):.2f} of sklearn")


if __name__ == "__main__":
    main()
