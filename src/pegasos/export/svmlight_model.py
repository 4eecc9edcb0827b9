"""SVM-light's models of a linear kernel: support vectors, whose sum is the weight vector.

A line has alpha_i y_i and the features of a support vector; score(x) = sum_i alpha_i y_i x_i.x - b.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pegasos.export.lines import ROOM, Lines, Source
from pegasos.model.linear import LinearModel
from pegasos.util import sparse

_HEADER = 11  # lines
_KERNEL, _FEATURES, _DOCUMENTS, _VECTORS, _THRESHOLD = 2, 8, 9, 10, 11  # line numbers


def read(path: Source) -> LinearModel:
    """The model of a file that SVM-light wrote, of the classes -1 and +1."""
    text = Lines(path, "SVM-light")
    lines = text.all
    if not lines or not lines[0].startswith("SVM-light Version"):
        raise text.wrong("is no SVM-light model: it must begin with its version", 1)
    if len(lines) < _HEADER:
        raise text.wrong(f"is cut off: it has {len(lines)} lines", len(lines))

    def value(number: int) -> str:
        tokens = lines[number - 1].split("#")[0].split()
        if len(tokens) != 1:
            raise text.wrong("expected one value before '#'", number)
        return tokens[0]

    if text.integer(_KERNEL, value(_KERNEL), 0) != 0:
        raise text.wrong("is of another kernel than the linear one (0)", _KERNEL)
    features = text.integer(_FEATURES, value(_FEATURES), 1)
    text.integer(_DOCUMENTS, value(_DOCUMENTS), 0)
    vectors = text.integer(_VECTORS, value(_VECTORS), 1) - 1
    threshold = text.real(_THRESHOLD, value(_THRESHOLD))
    found = text.after(_HEADER)
    if len(found) != vectors:
        raise text.wrong(f"has {len(found)} support vectors, not {vectors}", _VECTORS)
    entries = np.fromiter(
        (entry for number, line in found for entry in _vector(text, number, line, features)),
        dtype=[("place", np.int64), ("value", np.float64)],
    )
    # Summed where the vectors have values: a lying number of features takes no memory.
    indices, inverse = np.unique(entries["place"], return_inverse=True)
    sums = np.bincount(inverse, weights=entries["value"], minlength=indices.size)
    if not np.isfinite(sums).all():
        raise text.wrong("has weights beyond what float64 can hold")
    coef = sparse.csr_matrix((sums, indices, [0, sums.size]), shape=(1, features))
    small = 8 * features <= max(ROOM, 16 * len(entries))
    return LinearModel(
        coef=coef.toarray() if small else coef,
        intercept=np.array([-threshold]),
        classes=np.array([-1, 1]),
        parameters={"loss": "hinge", "intercept": "free"},
        training={"imported": "SVM-light", "support_vectors": vectors},
    )


def _vector(text: Lines, number: int, line: str, features: int) -> Iterator[tuple[int, float]]:
    """The places of a support vector, and alpha y times its values."""
    tokens = line.split("#")[0].split()
    if not tokens:
        raise text.wrong("expected a support vector, found none", number)
    scale = text.real(number, tokens[0])
    before = 0
    for token in tokens[1:]:
        index, colon, value = token.partition(":")
        if not colon:
            raise text.wrong(f"expected index:value, got {token[:30]!r}", number)
        place = text.integer(number, index, 1, features)
        if place <= before:
            raise text.wrong(f"index {place} comes after {before}", number)
        before = place
        yield place - 1, scale * text.real(number, value)
