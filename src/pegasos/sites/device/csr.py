"""Sparse rows on a device: what solvers ask of a tensor of rows, for CSR."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor


class CsrRows:
    """(n, d) rows of which few values are stored; used like a tensor of rows."""

    def __init__(self, starts: Tensor, columns: Tensor, values: Tensor, features: int) -> None:
        """As in SciPy: indptr, indices, data; columns of a row are in order."""
        self.starts, self.columns, self.values = starts, columns, values
        self.shape = (len(starts) - 1, features)

    @property
    def dtype(self) -> torch.dtype:
        """Of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.values.device

    @property
    def is_cuda(self) -> bool:
        """Whether that is a GPU."""
        return bool(self.values.is_cuda)

    def __len__(self) -> int:
        """Rows."""
        return self.shape[0]

    @cached_property
    def _row_of(self) -> Tensor:
        """The row of each value."""
        numbers = torch.arange(len(self), device=self.device)
        return torch.repeat_interleave(numbers, self.starts.diff())

    def to(self, device: torch.device) -> CsrRows:
        """A copy there, or the rows themselves."""
        starts, columns = self.starts.to(device), self.columns.to(device)
        return CsrRows(starts, columns, self.values.to(device), self.shape[1])

    def products(self, W: Tensor) -> Tensor:
        """(K, n): w.x for weights (K, d) of the type to multiply in."""
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="Sparse (CSR tensor support|invariant checks)"
            )
            matrix = torch.sparse_csr_tensor(
                self.starts, self.columns, self.values.to(W.dtype), self.shape,
                check_invariants=False,
            )  # fmt: skip
        return (matrix @ W.T.contiguous()).T

    def sums(self, T: Tensor) -> Tensor:
        """(L, d): the sums of t x for factors (L, n), in their type."""
        out = torch.zeros((len(T), self.shape[1]), dtype=T.dtype, device=self.device)
        values, columns = self.values.to(T.dtype), self.columns.long()
        for one, factors in zip(out, T, strict=True):
            one.index_add_(0, columns, values * factors[self._row_of])
        return out

    def squared_norms(self) -> Tensor:
        """(n,) |x|^2 in float64."""
        out = torch.zeros(len(self), dtype=torch.float64, device=self.device)
        return out.index_add_(0, self._row_of, self.values.double() ** 2)

    def __getitem__(self, rows: Any) -> CsrRows:
        """Some rows: a slice of consecutive ones, or by their numbers."""
        if isinstance(rows, slice):
            lo, hi, _ = rows.indices(len(self))
            first, last = int(self.starts[lo]), int(self.starts[hi])
            return CsrRows(
                self.starts[lo : hi + 1] - first, self.columns[first:last],
                self.values[first:last], self.shape[1],
            )  # fmt: skip
        sizes = self.starts[rows + 1] - self.starts[rows]
        starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        # Where a value comes from: as far into its row as it is into the new one.
        moved = self.starts[rows] - starts[:-1]
        at = torch.arange(int(starts[-1]), device=self.device)
        at = at + torch.repeat_interleave(moved, sizes)
        return CsrRows(starts, self.columns[at], self.values[at], self.shape[1])

    def to_dense(self) -> Tensor:
        """All values."""
        out = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        out[self._row_of, self.columns.long()] = self.values
        return out


def csr_rows(X: Any) -> CsrRows:
    """A SciPy matrix as rows on the host; columns out of order are sorted in a copy."""
    csr = X.tocsr()
    if csr.data.dtype not in (np.float32, np.float64):
        if csr.data.dtype.kind not in "fiub":
            raise TypeError(f"X must hold real numbers, got dtype {csr.data.dtype}")
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    d = csr.shape[1]
    indices = csr.indices
    if indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < d):
        raise ValueError(f"X has a column index outside 0..{d} - 1")
    starts = torch.from_numpy(csr.indptr.astype(np.int64))
    columns = torch.from_numpy(indices.astype(np.int64))
    return CsrRows(starts, columns, torch.from_numpy(np.ascontiguousarray(csr.data)), d)
