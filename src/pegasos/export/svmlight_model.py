"""SVM-light's models of a linear kernel: support vectors, whose sum is the weight vector.

A line has alpha_i y_i and the features of a support vector; score(x) = sum_i alpha_i y_i x_i.x - b.
"""

from __future__ import annotations

import numpy as np

from pegasos.export.lines import MOST_FEATURES, ROOM, Source, integer, real, text_lines
from pegasos.model.file.errors import ModelFileError
from pegasos.model.linear import LinearModel
from pegasos.util import sparse

_HEADER = 11  # lines
_KERNEL, _FEATURES, _DOCUMENTS, _VECTORS, _THRESHOLD = 2, 8, 9, 10, 11  # line numbers


def read(path: Source) -> LinearModel:
    """The model of a file that SVM-light wrote, of the classes -1 and +1."""
    lines = text_lines(path, "SVM-light")
    if not lines or not lines[0].startswith("SVM-light Version"):
        raise ModelFileError(path, "is no SVM-light model: it must begin with its version", 1)
    if len(lines) < _HEADER:
        raise ModelFileError(path, f"is cut off: it has {len(lines)} lines", len(lines))

    def value(number: int) -> str:
        tokens = lines[number - 1].split("#")[0].split()
        if len(tokens) != 1:
            raise ModelFileError(path, "expected one value before '#'", number)
        return tokens[0]

    if integer(path, _KERNEL, value(_KERNEL), 0) != 0:
        raise ModelFileError(path, "is of another kernel than the linear one (0)", _KERNEL)
    features = integer(path, _FEATURES, value(_FEATURES), 1, MOST_FEATURES)
    integer(path, _DOCUMENTS, value(_DOCUMENTS), 0)
    vectors = integer(path, _VECTORS, value(_VECTORS), 1) - 1
    threshold = real(path, _THRESHOLD, value(_THRESHOLD))
    if len(lines) - _HEADER != vectors:
        raise ModelFileError(
            path, f"has {len(lines) - _HEADER} support vectors, not {vectors}", _VECTORS
        )
    places: list[int] = []
    values: list[float] = []
    for number, text in enumerate(lines[_HEADER:], _HEADER + 1):
        _add_vector(path, number, text, features, places, values)
    # Summed where the vectors have values: a lying number of features takes no memory.
    indices, inverse = np.unique(np.array(places, dtype=np.int64), return_inverse=True)
    sums = np.bincount(inverse, weights=np.array(values), minlength=indices.size)
    if not np.isfinite(sums).all():
        raise ModelFileError(path, "has weights beyond what float64 can hold")
    coef = sparse.csr_matrix((sums, indices, [0, sums.size]), shape=(1, features))
    small = 8 * features <= max(ROOM, 16 * len(values))
    return LinearModel(
        coef=coef.toarray() if small else coef,
        intercept=np.array([-threshold]),
        classes=np.array([-1, 1]),
        parameters={"loss": "hinge", "intercept": "free"},
        training={"imported": "SVM-light", "support_vectors": vectors},
    )


def _add_vector(
    path: Source, number: int, text: str, features: int, places: list[int], values: list[float]
) -> None:
    """Append alpha y times each value of a support vector."""
    tokens = text.split("#")[0].split()
    if not tokens:
        raise ModelFileError(path, "expected a support vector, found none", number)
    scale = real(path, number, tokens[0])
    before = 0
    for token in tokens[1:]:
        index, colon, value = token.partition(":")
        if not colon:
            raise ModelFileError(path, f"expected index:value, got {token[:30]!r}", number)
        place = integer(path, number, index, 1, features)
        if place <= before:
            raise ModelFileError(path, f"index {place} comes after {before}", number)
        before = place
        places.append(place - 1)
        values.append(scale * real(path, number, value))
