"""``scipy.sparse``, imported when it is first needed: it takes a tenth of a second.

``Csr`` is enough of a CSR matrix to train and to score; it becomes SciPy's when more is asked of
it. ``issparse`` knows both. Anything else is SciPy's own: ``sparse.csr_matrix``, ``sparse.vstack``.
"""

from __future__ import annotations

import sys
from typing import Any

from numpy.typing import NDArray


class Csr:
    """CSR arrays that are known to be right: indices in range, and increasing in every row."""

    format, ndim = "csr", 2

    def __init__(
        self, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], width: int
    ) -> None:
        """Take the arrays as they are."""
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape = (indptr.size - 1, width)
        self._scipy: Any = None

    @property
    def nnz(self) -> int:
        """Stored values."""
        return int(self.data.size)

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self.data.dtype

    def tocsr(self) -> Csr:
        """Itself."""
        return self

    def scipy(self) -> Any:
        """SciPy's matrix of the same arrays; it does not look through them again."""
        if self._scipy is None:
            from scipy.sparse import csr_matrix

            made = csr_matrix(self.shape, dtype=self.dtype)
            made.data, made.indices, made.indptr = self.data, self.indices, self.indptr
            made.has_sorted_indices = made.has_canonical_format = True
            self._scipy = made
        return self._scipy

    def __getitem__(self, key: Any) -> Any:
        """Rows and columns, of SciPy's."""
        return self.scipy()[key]

    def __matmul__(self, other: Any) -> Any:
        """Products, of SciPy's."""
        return self.scipy() @ other

    def __getattr__(self, name: str) -> Any:
        """What else SciPy's matrix has."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.scipy(), name)


def canonical(X: Any) -> Any:
    """CSR with each column of a row once and in order: X itself, if it says that it is so."""
    csr = X.tocsr()
    if not isinstance(csr, Csr) and not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def issparse(X: Any) -> bool:
    """Whether X is sparse: ours, or SciPy's, which cannot be there before it was imported."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return isinstance(X, Csr) or (scipy_sparse is not None and bool(scipy_sparse.issparse(X)))


def __getattr__(name: str) -> Any:
    """SciPy's."""
    if name.startswith("_"):
        raise AttributeError(name)
    import scipy.sparse

    return getattr(scipy.sparse, name)
