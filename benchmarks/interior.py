"""Iterations of InteriorPoint to a certified 1e-3 / 1e-8, hinge loss, by C and intercept.

    PEGASOS_DATA=... python benchmarks/interior.py [data set ...]

Real data (covtype: all rows, class 2 against the rest, columns scaled to [0, 1]; Fashion-MNIST:
class 6, shirts, against the rest), and a generated dense set. Each iteration is certified.
"""

import gzip
import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import pegasos

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MODES = ("none", "regularized", "free")


def svmlight(name):
    return lambda folder: load_svmlight_file(str(folder / name), dtype=np.float32)


def covtype(folder):
    with gzip.open(folder / "covtype.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32)
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1] == 2
    X -= X.min(axis=0)
    return X / np.maximum(X.max(axis=0), 1e-9), y


def fashion(folder):
    def load(name, header):
        (path,) = (folder / "fashion-mnist").glob(f"train-{name}*.gz")
        with gzip.open(path) as file:
            return np.frombuffer(file.read(), dtype=np.uint8, offset=header)

    return load("images", 16).reshape(-1, 784) / np.float32(255), load("labels", 8) == 6


def gaussian(_):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500_000, 100), dtype=np.float32)
    noise = 3 * rng.standard_normal(500_000)
    return X, X @ rng.standard_normal(100) + noise > 0


DATA = {
    "a9a": svmlight("a9a"), "w8a": svmlight("w8a"), "ijcnn1": svmlight("ijcnn1.gz"),
    "covtype": covtype, "fashion": fashion, "gaussian": gaussian,
}  # fmt: skip


def iterations(X, y, C, mode):
    result = pegasos.solve(
        X, y, C=C, solver="interior", intercept=mode, tol=1e-8, max_epochs=60, checkpoint_every=1
    )
    gaps = np.ravel(result.history["relative_gap"])
    return "/".join(
        str(1 + int(np.argmax(gaps <= tol))) if (gaps <= tol).any() else f">{gaps.size}"
        for tol in (1e-3, 1e-8)
    )


def main():
    if "PEGASOS_DATA" not in os.environ:
        sys.exit("set PEGASOS_DATA to the folder with the real data sets")
    folder = Path(os.environ["PEGASOS_DATA"])
    print(f"{'C':<21}" + "".join(f"{C:>8g}" for C in STRENGTHS))
    for name in sys.argv[1:] or DATA:
        X, y = DATA[name](folder)
        for mode in MODES:
            print(f"{name:<9}{mode:<12}", end="")
            for C in STRENGTHS:
                print(f"{iterations(X, y, C, mode):>8}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
