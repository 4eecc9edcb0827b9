"""Data sets: ``read`` takes a file of any format, ``blocks`` takes it a piece at a time.

Modules of formats are imported when a file of theirs is met.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.data.csr import make_csr
from pegasos.data.dataset import BadLine, Data, DataError, Options
from pegasos.data.formats import FORMATS, KNOWN, format_of, resolved
from pegasos.util import sparse
from pegasos.util.files import AnyPath

__all__ = ["FORMATS", "BadLine", "Data", "DataError", "Options", "blocks", "format_of", "read"]


def read(
    path: AnyPath, options: Options | None = None, *, light: bool = False, **changes: Any
) -> Data:
    """The rows of a file, its labels and what else it has.

    ``changes`` are fields of ``Options``: ``format`` (one of ``FORMATS``; by the name unless
    given), ``label``, ``weight``, ``text``, ``features``, ``labels``, ... An option that the
    format has no use for raises ValueError; a file that cannot be read DataError, with its place.
    ``light`` leaves sparse rows in a ``pegasos.util.sparse.Csr``, which does without SciPy.
    """
    module, options = _reader(path, options, changes)
    return _finished(path, module.read(path, options), options, light)


def blocks(
    path: AnyPath, options: Options | None = None, *, light: bool = False, **changes: Any
) -> Iterator[Data]:
    """The same in order, some megabytes at a time; npz files are read at once."""
    module, options = _reader(path, options, changes)
    return (_finished(path, block, options, light) for block in module.blocks(path, options))


def _reader(path: AnyPath, options: Options | None, changes: Any) -> tuple[Any, Options]:
    options = resolved(path, replace(options or Options(), **changes))
    module = KNOWN[str(options.format)].module
    return importlib.import_module(f"pegasos.data.{module}"), options


def _finished(path: AnyPath, data: Data, options: Options, light: bool) -> Data:
    """What is the same in all formats: labels or none, the declared features, float32."""
    if options.labels and data.y is None:
        raise DataError(path, "the rows have no labels")
    if options.labels is False:
        data = replace(data, y=None, label_names=None)
    X = data.X
    if X is None:
        return data
    if options.features is not None and X.shape[1] != options.features:
        if not sparse.issparse(X) or X.shape[1] > options.features:
            what = f"{X.shape[1]} features where {options.features} are declared"
            raise DataError(path, what)
        X = make_csr(X.data, X.indices, X.indptr, options.features)  # the same arrays, no copy
    if isinstance(X, sparse.Csr) and not light:
        X = X.scipy()
    # Arrays stay as they are stored unless float32 is asked for.
    if options.dtype is np.float32 and X.dtype == np.float64:
        X = X.astype(np.float32)
    return data if X is data.X else replace(data, X=X)
