"""Scaling of features: x -> (x - shift) / scale, column by column.

Sparse rows are never shifted, or they would fill up: ``standard`` divides by the standard
deviation and leaves the mean, ``minmax`` divides by the largest value and takes 0, which absent
entries are, for the smallest; ``maxabs`` is the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pegasos.data.dataset import Data
from pegasos.steps.moments import Moments, row_blocks
from pegasos.util import sparse

Floats = NDArray[np.float64]
Method = Literal["none", "maxabs", "minmax", "standard"]
METHODS = ("none", "maxabs", "minmax", "standard")

_ENTRIES = 1 << 20  # values scaled together


@dataclass(frozen=True)
class ScaleStep:
    """What to take from each feature, and what to divide it by."""

    kind: ClassVar[str] = "scale"
    method: Method
    shift: Floats | None  # None: nothing, as for sparse rows
    scale: Floats

    @classmethod
    def fit(cls, method: str, X: Any) -> ScaleStep:
        """From rows, CSR or an array."""
        return cls.of(method, Moments.of(X))

    @classmethod
    def of(cls, method: str, moments: Moments) -> ScaleStep:
        """From what blocks of rows added up to; a constant feature is divided by 1."""
        if method not in METHODS:
            raise ValueError(f"scale must be one of {', '.join(METHODS)}, got {method!r}")
        if moments.rows < 1:
            raise ValueError("scale needs at least one row")
        least, most = moments.least, moments.most
        shift: Floats | None = None
        scale = np.ones(least.size)
        if method == "maxabs":
            scale = np.maximum(np.abs(least), np.abs(most))
        elif method == "minmax" and moments.sparse:
            if (least < 0).any():
                at = int(np.argmin(least))
                raise ValueError(
                    f"minmax would fill up sparse rows: feature {at} goes down to {least[at]:g}; "
                    "use maxabs, or make X dense"
                )
            scale = most
        elif method == "minmax":
            with np.errstate(over="ignore"):
                shift, scale = least, most - least
        elif method == "standard":
            shift, scale = None if moments.sparse else moments.mean, moments.deviation()
        return cls(method, shift, _usable(scale, least == most))  # type: ignore[arg-type]

    def apply(self, data: Data) -> Data:
        """Scaled rows, in new arrays; sparse ones share their indices with the old."""
        return replace(data, X=self.transform(data.X))

    def transform(self, X: Any) -> Any:
        """Scaled rows of the same type; whole numbers become float64."""
        if X is None or X.ndim != 2 or X.shape[1] != self.scale.size:
            found = "text" if X is None else f"{X.shape[-1]} features"
            raise ValueError(f"scaling was learned on {self.scale.size} features, got {found}")
        if self.method == "none":
            return X
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        if sparse.issparse(X):
            rows = X.scipy() if isinstance(X, sparse.Csr) else X.tocsr()
            return self._sparse(rows, dtype)
        out = np.empty(X.shape, dtype)
        for lo, hi in row_blocks(*X.shape):
            part = X[lo:hi].astype(np.float64)
            if self.shift is not None:
                part -= self.shift
            np.divide(part, self.scale, out=out[lo:hi], casting="same_kind")
        return out

    def fold(self, coef: Any, intercept: Floats) -> tuple[Any, Floats]:
        """Weights for rows as they were: the same scores without scaling them."""
        if sparse.issparse(coef):
            folded = coef.tocsr().astype(np.float64)  # a copy
            folded.data /= self.scale[folded.indices]
        else:
            folded = np.asarray(coef, np.float64) / self.scale
        moved = 0.0 if self.shift is None else folded @ self.shift
        return folded, np.asarray(intercept, np.float64) - moved

    def meta(self) -> dict[str, Any]:
        """What is saved as JSON."""
        return {"method": self.method, "features": int(self.scale.size)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is saved as arrays."""
        found: dict[str, NDArray[Any]] = {"scale": self.scale}
        return found if self.shift is None else found | {"shift": self.shift}

    @classmethod
    def restore(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ScaleStep:
        """From what was saved; ValueError that names what cannot be."""
        names = set(arrays)
        if set(meta) != {"method", "features"} or not {"scale"} <= names <= {"scale", "shift"}:
            raise ValueError(f"a scale step cannot have {sorted(meta)} and {sorted(arrays)}")
        method, d = meta["method"], meta["features"]
        if method not in METHODS or type(d) is not int:
            raise ValueError(f"a scale step cannot be {method!r} of {d!r} features")
        for name, array in arrays.items():
            if array.dtype != np.float64 or array.shape != (d,) or not np.isfinite(array).all():
                raise ValueError(f"{name} of a scale step must be {d} finite float64")
        if not (arrays["scale"] > 0).all():
            raise ValueError("scale of a scale step must be positive")
        return cls(method, arrays.get("shift"), arrays["scale"])

    def _sparse(self, X: Any, dtype: np.dtype[Any]) -> Any:
        if self.shift is not None and self.shift.any():
            raise ValueError(
                f"{self.method} learned on dense rows would fill up sparse ones: make X dense, "
                "or learn the scaling on sparse rows"
            )
        out = np.empty(X.data.size, dtype)
        for lo in range(0, out.size, _ENTRIES):
            part = slice(lo, lo + _ENTRIES)
            values = X.data[part].astype(np.float64)
            np.divide(values, self.scale[X.indices[part]], out=out[part], casting="same_kind")
        scaled = type(X)(X.shape, dtype=dtype)
        scaled.data, scaled.indices, scaled.indptr = out, X.indices, X.indptr
        return scaled


def _usable(scale: Floats, constant: NDArray[np.bool_]) -> Floats:
    """``scale`` with 1 where there is nothing to scale."""
    if not np.isfinite(scale).all():
        at = int(np.flatnonzero(~np.isfinite(scale))[0])
        raise ValueError(f"feature {at} is too large to be scaled in float64: use maxabs")
    # A deviation that underflows is no scale either.
    return np.where((scale < np.finfo(np.float64).tiny) | (constant & (scale == 0)), 1.0, scale)
