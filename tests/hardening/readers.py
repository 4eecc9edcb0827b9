"""Text that is any bytes: rows, or an error with line and column. Valid text: what others read."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from tests.hardening.campaign import Campaign, drawn, mutated

from pegasos.data import DataError, read
from pegasos.data.dataset import Options
from pegasos.util.sparse import issparse

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "core" / "fuzz" / "corpus"


@dataclass
class Place:
    """Where a file is written, and what it is made of."""

    path: Path
    seeds: list[bytes]


def read_or_refuse(path: Path, text: bytes, **options: Any) -> None:
    """Rows that are finite, or DataError."""
    path.write_bytes(text)
    try:
        found = read(path, Options(**options))
    except DataError as error:
        if error.path != str(path):
            raise AssertionError(f"the error names {error.path}") from error
        return
    values = found.X.tocsr().data if issparse(found.X) else np.asarray(found.X)
    assert np.isfinite(values).all(), "values that are no numbers"
    assert found.y is None or len(found.y) == found.X.shape[0]


def start_svmlight(folder: Path) -> Place:
    """The corpus, less the byte of options."""
    seeds = [file.read_bytes()[1:] for file in sorted((CORPUS / "svmlight").iterdir())]
    return Place(folder / "a.svm", seeds)


def start_csv(folder: Path) -> Place:
    """The corpus."""
    seeds = [file.read_bytes() for file in sorted((CORPUS / "csv").iterdir())]
    return Place(folder / "a.csv", seeds)


def _mutants(name: str) -> Any:
    def case(place: Place, number: int) -> None:
        rng = drawn(name, number)
        text = place.seeds[rng.integers(len(place.seeds))]
        for _ in range(rng.integers(1, 4)):
            text = mutated(rng, text or b"1")
        options: dict[str, Any] = {}
        if rng.random() < 0.2:
            options["skip_bad_lines"] = True
        read_or_refuse(place.path, text, **options)

    return case


def as_scikit_learn(place: Place, number: int) -> None:
    """Valid text of any look is read to the bits that scikit-learn reads."""
    rng = drawn("as scikit-learn", number)
    lines = []
    for _ in range(rng.integers(1, 12)):
        indices = np.flatnonzero(rng.random(30) < rng.random()) + 1
        pairs = [f"{i}:{_number(rng)}" for i in indices]
        blank = (" ", "  ", "\t")[rng.integers(3)]
        comment = " # note" if rng.random() < 0.1 else ""
        lines.append(blank.join([str(rng.integers(-3, 4)), *pairs]) + comment)
    if not any(":" in line for line in lines):
        lines[0] += " 1:1"
    text = ("\n".join(lines) + "\n").encode()
    place.path.write_bytes(text)
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=False, dtype=np.float64)
    found = read(place.path)
    ours = found.X.tocsr()
    np.testing.assert_array_equal(ours.indices, X.indices)
    np.testing.assert_array_equal(ours.indptr, X.indptr)
    # scikit-learn's numbers are Python's, correctly rounded; so are ours.
    np.testing.assert_array_equal(ours.data.astype(np.float64), X.data.astype(ours.data.dtype))
    np.testing.assert_array_equal(np.asarray(found.y, dtype=np.float64), y)


def _number(rng: np.random.Generator) -> str:
    value = float(rng.standard_normal() * 10.0 ** rng.integers(-30, 30))
    styles = (repr(value), f"{value:.6g}", f"{value:.3e}", str(int(rng.integers(-99, 99))))
    chosen = styles[rng.integers(4)]
    return chosen if math.isfinite(float(chosen)) else "1"


def campaigns() -> list[Campaign]:
    """Three; besides, `make fuzz` runs libFuzzer and atheris on the same readers."""
    common = {"group": "fuzz", "memory": 256 << 20}
    return [
        Campaign(
            "svmlight-mutants", "damaged svmlight text: finite rows, or an error that says where",
            start=start_svmlight, case=_mutants("svmlight"), quick=1000, full=30_000,
            sanitized=True, **common,
        ),
        Campaign(
            "csv-mutants", "damaged CSV: finite rows, or an error that says where",
            start=start_csv, case=_mutants("csv"), quick=500, full=20_000, **common,
        ),
        Campaign(
            "as-scikit-learn", "valid svmlight text: the same numbers as scikit-learn's reader",
            start=start_svmlight, case=as_scikit_learn, quick=300, full=10_000, **common,
        ),
    ]  # fmt: skip
