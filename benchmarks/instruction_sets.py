"""What each instruction set that the core is compiled for takes, over what the best one does.

    python -m benchmarks.instruction_sets

Generated data, one thread, the best of three times (of the processor, not of the clock) to a
certified 1e-3. A set that is far behind does not use its registers.
"""

import time

import numpy as np

import pegasos
from benchmarks.table import header, row, show_ratio
from pegasos import _core
from pegasos.data.synthetic import make_news

ROWS, FEATURES, KERNEL_ROWS = 40_000, 100, 3_000


def main():
    names = _core.instruction_sets()
    print("\n".join(header("", *names, f"{names[-1]}, s")))
    for task, work in _tasks().items():
        times = []
        for name in names:
            _core.use_instruction_set(name)
            times.append(min(_timed(work) for _ in range(3)))
        ratios = (show_ratio(seconds / times[-1]) for seconds in times)
        print(row(task, *ratios, f"{times[-1]:.3f}"), flush=True)


def _tasks():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
    y = np.sign(X @ rng.standard_normal(FEATURES) + 3 * rng.standard_normal(ROWS))
    few, labels = X[:KERNEL_ROWS], y[:KERNEL_ROWS]
    news = make_news(20_000)

    def solving(solver, X, y):
        return lambda: pegasos.solve(
            X, y, C=1.0, solver=solver, intercept="none", tol=1e-3, seed=0, n_jobs=1
        )

    return {
        "newton, dense": solving("newton", X, y),
        "interior, dense": solving("interior", X, y),
        "dual, dense": solving("dual", X, y),
        "dual, sparse": solving("dual", *news),
        "SVC, rbf": lambda: pegasos.SVC(C=1.0, n_jobs=1).fit(few, labels),
    }


def _timed(work):
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
