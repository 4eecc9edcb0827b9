"""Writes the golden files of the current format version: python tests/golden/make.py

Run it once when the version changes. Files of earlier versions stay as they are, for ever: they are
what users have.
"""

import json
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification, make_multilabel_classification

import pegasos
from pegasos.model import file as model_file

HERE = Path(__file__).parent


def binary():
    X, y = make_classification(60, 4, n_informative=3, n_redundant=0, random_state=0)
    model = pegasos.LinearSVC(C=0.1, class_weight={"spam": 2.0}, random_state=0)
    return model.fit(X, np.array(["häm", "spam"])[y]), X


def pairs():
    X, y = make_blobs(90, 3, centers=3, cluster_std=4.0, random_state=0)
    return pegasos.LinearSVC(multi_class="ovo", probability="sigmoid", C=0.1).fit(X, y), X


def isotonic():
    X, y = make_classification(300, 3, n_informative=2, n_redundant=0, random_state=0)
    return pegasos.LinearSVC(probability="isotonic", loss="squared_hinge").fit(X, y == 1), X


def labels():
    X, y = make_multilabel_classification(60, 20, n_classes=4, random_state=0)
    model = pegasos.LinearSVC(C=0.01, prune=0.02).fit(X, sparse.csr_matrix(y))
    return model.sparsify(), X


def main():
    for make in (binary, pairs, isotonic, labels):
        model, X = make()
        name = f"v{model_file.VERSION}-{make.__name__}"
        pegasos.save(model, HERE / f"{name}.model", overwrite=False)
        X = np.round(X[:12], 3)
        predicted = model.predict(X)
        wanted = {
            "X": X.tolist(),
            "scores": model.decision_function(X).tolist(),
            "predicted": (
                predicted.toarray() if sparse.issparse(predicted) else predicted
            ).tolist(),
            "primal": np.asarray(model.certificate_.primal).tolist(),
        }
        if hasattr(model, "calibrators_"):
            wanted["probabilities"] = model.predict_proba(X).tolist()
        (HERE / f"{name}.json").write_text(json.dumps(wanted) + "\n")


if __name__ == "__main__":
    main()
